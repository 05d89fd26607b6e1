// SPDX-License-Identifier: Apache-2.0
// What a switch does with the trains that it knows of.
//
// Cells of a queue leave it in the order of their arrival, whatever train they are of; cells at the head of several
// queues share an output in turn, one each. An output decides at
//   t = max(free, the earliest instant at which a queue's first cell for it is ready and has a slot),
// takes the first queue in turn whose cell can go at t, and is free again at t + service. A queue lets its next cell
// go when the one before has left.
//
// An output decides at t, by an event, on one cell; or on many at a time where nobody that it knows of can come
// between: on a train that goes behind everything that is known, as soon as the train is known; on a queue's train that
// is alone; on whole rounds of several queues. When somebody does come between, from an instant on, the decisions on
// cells that start from then on are taken back, and so are those on cells behind them in their queues. A cell that has
// started never moves. An output whose decisions are taken back all the time decides on one cell at a time for a while.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "models/network/failures.hpp"
#include "models/sim/event_loop.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/slot_ledger.hpp"
#include "models/sim/time_sequence.hpp"

namespace faultline::network {

class Switch {
 public:
  // A train that crosses the switch. The owner keeps it where it is while it is busy().
  struct Transit {
    unsigned queue = 0;
    unsigned output = 0;
    unsigned channel = 0;                         // virtual, behind the output
    sim::Time spacing{0};                         // arrivals in the queue come at least that far apart
    sim::Time service{0};                         // of one cell at the output
    sim::Time to_ready{0};                        // from a cell's arrival until its head may leave; may be negative
    const sim::TimeSequence* arrivals = nullptr;  // of its cells in the queue, as far as they are known; the owner's
    sim::TimeSequence departures;                 // of the first of them: those that are decided on
    bool waits = false;                           // some are not
    bool is_ahead = false;                        // some of those that are had not started when that was looked at last
    bool is_changed = false;                      // the owner has not been told of all
    std::uint32_t changed_from = 0;
    std::uint32_t ahead_from = 0;  // cells from here on were decided on before they started

    bool busy() const { return waits || is_ahead || is_changed; }
    std::uint32_t undecided() const { return arrivals->size() - departures.size(); }
    sim::Time start(std::uint32_t cell) const { return departures.at(cell) - service; }
    sim::Time last_start() const { return departures.back() - service; }
    sim::Time next_arrival() const { return arrivals->at(departures.size()); }
    // When the next cell's head may leave, as far as this train is concerned.
    sim::Time ready() const { return next_arrival() + to_ready; }
  };
  class Owner {
   public:
    virtual ~Owner() = default;
    // Decisions on the train's cells from this one on have been taken, or taken back. A cell that is decided on at its
    // start may be lost on a dead link (is_lost()); it has a decision of its own then.
    virtual void decided(Transit& transit, std::uint32_t from) = 0;
    // Every cell of it that is known has started.
    virtual void left(Transit& transit) = 0;
  };

  // When decisions are taken at the earliest. Every cell leaves at the same instant, whichever it is.
  enum class Foresight {
    begun,   // on a train's cells when the first of them starts
    at_once  // when the train is known
  };
  Switch(Owner& owner, sim::EventLoop& loop, Foresight foresight);

  // Queues and outputs are numbered from 0 on. `slots` are those behind the output, by virtual channel. `mixes`: cells
  // of several trains may be announced ahead that go in turn.
  void add_queue() { queues_.emplace_back(); }
  void add_output(const std::vector<std::uint32_t>& slots, bool mixes, Outages outages);

  // The train's arrivals from this cell on are new, or others than was said, or there are none. They lie ahead, and may
  // be earlier than those of other trains that are known.
  void arrive(Transit& transit, std::uint32_t from);

  // Slots behind the output come free at these instants; or, of those to come, they do not come free after all.
  void slots_freed(unsigned output, unsigned channel, const sim::TimeSequence& instants);
  void slots_held(unsigned output, unsigned channel, const sim::TimeSequence& instants);

  // How long the output has still to send of what is decided on.
  sim::Time work_left(unsigned output) const;
  bool is_lost(const Transit& transit, std::uint32_t cell) const {
    const Outages& outages = outputs_[transit.output].outages;
    return !outages.empty() && outages.cover(transit.start(cell));
  }

 private:
  static constexpr unsigned kNowhere = UINT32_MAX;
  using Competitors = sim::SmallVector<unsigned, 4>;  // queues, in turn

  // A train, by its first cell that is not decided on. What decides when it goes stands here and not in the train: that
  // is out of the host's caches by then.
  struct Waiting {
    sim::Time arrival;
    sim::Time ready;
    Transit* transit;
    unsigned output;
    unsigned channel;
  };
  struct alignas(64) Queue {
    sim::Time free{0};           // departure of the last cell that is decided on
    sim::Time gone{0};           // of the last one whose train is not ahead
    sim::Time last_arrival{-1};  // of cells that are decided on none arrives later
    sim::Time ready{0};          // the first that waits; and where it leaves
    unsigned leaves_by = kNowhere;
    std::uint16_t channel = 0;
    std::uint16_t ahead = 0;               // its trains that are ahead, at any output
    sim::SmallVector<Waiting, 2> waiting;  // in the order of their arrival
  };
  static_assert(sizeof(Queue) == 128);
  struct alignas(64) Output {
    sim::Time free{0}, gone{0};  // of the last cell that is decided on; whose train is not ahead
    sim::Time armed = sim::kNever;
    unsigned served = 0, gone_served = 0;  // its queue
    int credit = 32;                       // planning ahead pays while that is not negative, and is tried at first
    unsigned wanted = 0;                   // by trains that wait, at the head of a queue or behind it
    bool mixes = true;
    sim::SmallVector<unsigned, 6> heads;  // queues whose first cell leaves here, in order
    sim::SmallVector<sim::SlotLedger, 2> lanes;
    Outages outages;
    sim::SmallVector<Transit*, 4> ahead;
  };

  // Cells that start by then have started.
  sim::Time settled() const { return loop_.settled(port_); }
  // Whether decisions for the output are taken on many cells at a time.
  static bool plans(const Output& output) { return output.credit >= 0 && output.outages.empty(); }

  Transit& head_of(unsigned queue) const { return *queues_[queue].waiting.front().transit; }
  std::uint32_t first_cells(unsigned queue) const;

  void wake(std::uint64_t output);
  void arm(unsigned output);
  sim::Time eligible(unsigned queue, const Output& output) const;
  void serve(unsigned output);
  sim::TimeSequence alone(unsigned output, const Transit& transit) const;
  bool serve_stream(unsigned queue);
  bool serve_rounds(unsigned output, Competitors competitors);
  struct Rounds {
    std::uint32_t count = 0;
    sim::Time period{0};  // of one of them
  };
  Rounds rounds_in_time(unsigned output, const Competitors& competitors, sim::Time start, std::uint32_t least) const;
  sim::Time next_rival(unsigned output, std::span<const unsigned> but) const;
  bool go_ahead(Transit& transit, bool between);
  bool fits_between(const Transit& transit) const;

  // The train's next cells leave at these instants.
  void decide(Transit& transit, const sim::TimeSequence& departures, bool lost = false);
  // Of the output what starts at `from` or later; of the queue what arrives later.
  void take_back(unsigned output, sim::Time from);
  void take_back_behind(unsigned queue, sim::Time arrival);
  unsigned ahead_at(unsigned output, unsigned queue) const;
  sim::Time last_departure(unsigned queue, unsigned output) const;
  void make_room(unsigned queue);
  void settle(Output& output);
  void have_started(const Transit& transit);
  static void earn(Output& output, Transit& transit, std::uint32_t started);
  void queue_up(Transit& transit);
  // What the owner has still to be told of, and telling it.
  void change(Transit& transit, std::uint32_t from);
  void tell();

  Owner& owner_;
  sim::EventLoop& loop_;
  sim::Port port_;
  Foresight foresight_;
  bool tells_ = false;
  unsigned serving_ = kNowhere;  // the output whose event runs
  std::vector<Queue> queues_;
  std::vector<Output> outputs_;
  std::vector<Transit*> changed_;
};

}  // namespace faultline::network
