// SPDX-License-Identifier: Apache-2.0
// What a switch does with the cells that it knows of, worked out ahead of time for all its queues and outputs at once.
//
// Cells of a queue leave it in the order of their arrival, whatever train they are of; cells at the head of several
// queues share an output in turn, one each. An output decides at
//   t = max(free, the earliest instant at which a queue's first cell for it is ready and has a slot),
// takes the first queue in turn whose cell can go at t, and is free again at t + service. A queue lets its next cell
// go when the one before has left. Decisions of different outputs depend on each other only through the queues'
// heads, which change at departures, so taking decisions in the order of their instants gives what the hardware does.
// Where one queue alone can want the output for a while, its train goes on in closed form.
//
// A plan holds if nothing comes between. When something does, it is undone from the first instant that can be
// another's: from there on the output in question decides anew, with it each queue from which a cell is taken back, and
// each output by which such a queue's cells leave. What was planned before that instant stays.
#pragma once

#include <cstdint>
#include <vector>

#include "models/network/failures.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/slot_ledger.hpp"
#include "models/sim/time_sequence.hpp"

namespace faultline::network {

class SwitchPlan {
 public:
  // Slots of cells from `first` on, as they come free behind the output. While cells are undone their slots are kept
  // aside: they stand if the cells leave as before.
  struct SlotUse {
    std::uint32_t first = 0;
    sim::TimeSequence freed;
    sim::TimeSequence aside;
  };
  // A train that crosses the switch. The owner keeps it where it is until let_go() names it.
  struct Transit {
    unsigned queue = 0;
    unsigned output = 0;
    unsigned channel = 0;               // virtual, behind the output
    sim::Time spacing{0};               // arrivals in the queue come at least that far apart
    sim::Time service{0};               // of one cell at the output
    sim::Time to_ready{0};              // from a cell's arrival until its head may leave; may be negative
    sim::TimeSequence arrivals;         // of all its cells
    sim::TimeSequence departures;       // of the first of them: those that have left and those that are planned
    std::vector<std::uint32_t> breaks;  // where trains are not mixed: cells that do not follow the one before at once
    sim::TimeSequence told;             // departures that the owner has announced; the owner's to set
    SlotUse* use = nullptr;             // of those announced last; the owner's to set
    bool awaited = false;               // in awaited()
    bool revised = false;               // in revised()
    std::uint32_t undone_from = 0;      // revised: cells that were announced and undone

    sim::Time start(std::uint32_t cell) const { return departures.at(cell) - service; }
    sim::Time last_start() const { return departures.back() - service; }
    bool is_planned() const { return departures.size() == arrivals.size(); }
    std::uint32_t unplanned() const { return arrivals.size() - departures.size(); }
    // When the next cell's head may leave, as far as this train is concerned.
    sim::Time ready() const { return arrivals.at(departures.size()) + to_ready; }
  };

  // Queues and outputs are numbered from 0 on. `slots` are those behind the output, by virtual channel. Where trains
  // may not be `mixed`, the plan keeps account of the cells at which another train comes between (piece_end()).
  void add_queue() { queues_.emplace_back(); }
  void add_output(const std::vector<std::uint32_t>& slots, bool mixed, Outages outages);
  bool is_mixed(unsigned output) const { return outputs_[output].mixed; }

  // A train comes; its members are set. Cells of other trains in its queue may come between them. True where all cells
  // that are known and share its queue or output go before it, and it has slots: then all of its cells are planned, and
  // may be announced.
  bool enter(Transit& transit, sim::Time now);
  // Its cells come at other instants than was said, or fewer do. Returns how many come as was said.
  std::uint32_t rearrive(Transit& transit, sim::TimeSequence arrivals, sim::Time now);
  // Takes out of the queue the first trains, as far as they have left altogether, calling gone(transit) for each.
  template <typename Gone>
  void let_go(unsigned queue, sim::Time now, Gone gone);

  // Slots behind the output come free at these instants; or they do not come free when they were said to. The owner
  // notes them in the SlotUse.
  void slots_freed(unsigned output, unsigned channel, const sim::TimeSequence& instants, sim::Time now);
  void slots_held(unsigned output, unsigned channel, const sim::TimeSequence& instants, sim::Time now);

  // The next instant at which something is to be done: decided, undone or announced; kNever if there is nothing.
  sim::Time due();
  // When something that was planned does not hold any longer; kNever: all of it does.
  sim::Time disturbed_at() const { return disturbed_at_; }
  // Undoes what does not hold any longer and takes all decisions up to now.
  void advance(sim::Time now);
  // Decides on, until all known cells of the train are planned, or the first `cells` of them, as far as slots are
  // known.
  void complete(const Transit& transit, std::uint32_t cells = UINT32_MAX);

  // Trains with cells that are planned and not announced; and those of which announced cells were undone. The owner
  // empties the second.
  const std::vector<Transit*>& awaited() const { return awaited_; }
  std::vector<Transit*>& revised() { return revised_; }
  // To be called when `told` was set.
  void announced(Transit& transit);
  // The cells from this one on that are planned without another train's between them end before this one; so do they
  // where a link fails or works again.
  std::uint32_t piece_end(const Transit& transit, std::uint32_t cell) const;
  // How many of a revised train's first `cells` still go with those before them.
  std::uint32_t still_together(const Transit& transit, std::uint32_t cells) const;
  // Whether a planned cell is lost on a dead link, without a slot.
  bool is_lost(const Transit& transit, std::uint32_t cell) const {
    return outputs_[transit.output].outages.cover(transit.start(cell));
  }

 private:
  static constexpr unsigned kNowhere = UINT32_MAX;

  struct Queue {
    std::vector<Transit*> transits;  // in order of entry
    Transit* head = nullptr;         // whose cell is the first that is not planned
    unsigned leaves_by = kNowhere;   // the head
    sim::Time ready{0};              // of that cell
    sim::Time behind = sim::kNever;  // when the first cell of another train arrives
    sim::Time free{0};               // departure of the last planned cell
    sim::Time gone{0};               // of the last cell of trains that were let go
    sim::Time last_arrival{-1};      // no known cell arrives later; not lowered when cells are taken back
    bool is_stale = false;           // head, ready and behind are to be found anew
  };
  struct Lane {
    sim::SlotLedger slots;
    sim::Time counted_on{-1};            // until then cells start that have slots which were not free yet
    sim::Time waited_for{-1};            // until then cells start that had to wait for them
    sim::Time lacks_from = sim::kNever;  // from then on a cell waits for a slot of which nothing is known
    bool has_more = false;               // that is over
  };
  struct Output {
    std::vector<Lane> lanes;
    Outages outages;
    bool mixed = true;
    std::vector<unsigned> heads;     // queues whose first cell leaves here, in order
    std::vector<Transit*> transits;  // with planned cells
    // Of the last planned cell, and of the last one of trains that were let go.
    sim::Time free{0}, gone{0};
    unsigned served = 0, gone_served = 0;  // queue
    sim::Time decision = sim::kNever;
    bool is_stale = false;  // decision is to be found anew
  };

  // From an instant on a queue's cells are others than was planned for, or an output's slots.
  struct Disturbance {
    sim::Time from;
    unsigned queue;   // or kNowhere
    unsigned output;  // or kNowhere
  };
  using Competitors = sim::SmallVector<unsigned, 4>;  // queues, in turn

  bool may_pass(const Transit& transit, sim::Time now) const;
  // Up to its last arrival more of its cells may follow at once.
  bool has_left(const Transit& transit, sim::Time now) const {
    return !transit.arrivals.empty() && transit.arrivals.back() < now &&
           transit.told.size() == transit.arrivals.size() && transit.is_planned() && !transit.revised &&
           transit.last_start() <= settled_;
  }
  void disturb(Transit& transit, sim::Time arrival, sim::Time now);
  void disturb(Disturbance what, sim::Time now);
  void undo_disturbed();
  void undo(unsigned output, sim::Time from);
  void undo_queue(unsigned queue, sim::Time from);
  void take_back(Transit& transit, std::uint32_t cells);
  void put_slots_aside(Transit& transit);
  void put_slots_back(Transit& transit);
  void find_head(unsigned queue);
  sim::Time eligible(const Queue& queue, Output& output, sim::Time from) const;
  sim::Time decision(Output& output) const;
  // Takes the earliest decision if it comes not later than `until`.
  bool decide(sim::Time until);
  void serve(unsigned output);
  // Several queues compete: whole rounds in closed form, where all go on without a pause. Whether there are any.
  bool serve_rounds(unsigned output, const Competitors& competitors);
  // One queue alone wants the output, with cells of several trains in turn: all of them, where none ever waits.
  bool serve_stream(unsigned queue);
  void serve_alone(unsigned output, Transit& transit);
  // The instant before which no other queue's cell can want the output.
  sim::Time next_rival(unsigned output, const Competitors& but) const;
  void plan(Transit& transit, const sim::TimeSequence& departures, bool lost);

  std::vector<Queue> queues_;
  std::vector<Output> outputs_;
  unsigned heads_ = 0;  // queues that have one
  std::vector<Transit*> awaited_;
  std::vector<Transit*> revised_;
  std::vector<Disturbance> disturbances_;
  sim::Time now_{0};
  sim::Time settled_{-1};                 // decisions up to this instant stand
  sim::Time disturbed_at_ = sim::kNever;  // when it begins to matter
};

template <typename Gone>
void SwitchPlan::let_go(unsigned index, sim::Time now, Gone gone) {
  settled_ = std::max(settled_, now - sim::Time{1});  // whatever was due before has been done
  Queue& queue = queues_[index];
  auto kept = queue.transits.begin();
  for (; kept != queue.transits.end() && has_left(**kept, now); ++kept) {
    Transit& transit = **kept;
    Output& output = outputs_[transit.output];
    std::erase(output.transits, &transit);
    queue.gone = std::max(queue.gone, transit.departures.back());
    if (transit.departures.back() > output.gone) {
      output.gone = transit.departures.back();
      output.gone_served = index;
    }
    gone(transit);
  }
  queue.transits.erase(queue.transits.begin(), kept);
}

}  // namespace faultline::network
