// SPDX-License-Identifier: Apache-2.0
// What a switch does with single cells. Its rules are those of switch.hpp, as hardware has them: an output decides at
//   t = max(free, the earliest instant at which a queue's first cell for it is ready and has a slot),
// by an event, takes the first such queue in turn after the one that was served last, and is free again when the cell
// has left. A queue lets its next cell go then, too. Nothing is known ahead and nothing is taken back.
//
// Trains are compared with this, so it shares no decision with them. It is small on purpose, and what an event looks
// at lies together: with thousands of routers the host's caches decide how fast it is.
#pragma once

#include <boost/circular_buffer.hpp>
#include <cstdint>
#include <tlm>
#include <vector>

#include "models/network/failures.hpp"
#include "models/network/packet.hpp"
#include "models/sim/event_loop.hpp"
#include "models/sim/payload.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::network {

class CellSwitch {
 public:
  struct Cell {
    tlm::tlm_generic_payload* payload;  // the owner's, with its extensions
    sim::Train* train;
    PacketHeader* header;
    sim::Time ready;  // when its head may leave, as far as it alone is concerned
    sim::Time service;
    std::uint16_t input;  // the owner's
    std::uint16_t output;
    std::uint16_t channel;  // virtual, behind the output
    std::uint16_t bytes;    // the owner's
  };
  class Owner {
   public:
    virtual ~Owner() = default;
    // It starts now, and its last byte leaves at `departure`. Lost: the link is dead, and no slot behind it taken.
    virtual void starts(unsigned queue, const Cell& cell, sim::Time departure, bool lost) = 0;
  };

  CellSwitch(Owner& owner, sim::EventLoop& loop);

  // Queues and outputs are numbered from 0 on. `slots` are those behind the output, by virtual channel.
  void add_queue() { queues_.emplace_back(); }
  void add_output(const std::vector<std::uint32_t>& slots, Outages outages);

  // Behind all cells of its queue. It may be ready later, not before now.
  void arrive(unsigned queue, const Cell& cell);
  // A slot behind the output comes free then, or now.
  void slot_freed(unsigned output, unsigned channel, sim::Time at);

  // How long the output has still to send.
  sim::Time work_left(unsigned output) const;

 private:
  struct Queue {
    sim::Time free{0};                    // when the cell before the first one has left
    bool has_first = false;               // it stands at the output by which it leaves, not here
    boost::circular_buffer<Cell> behind;  // in the order of their arrival
  };
  // The first cell of a queue. It may not be ready before the one before has left.
  struct Head {
    Cell cell;
    unsigned queue;
  };
  class Slots {
   public:
    explicit Slots(std::uint32_t count) : at_hand_(count) {}
    // When the next cell may have one; kNever while that is not known.
    sim::Time next() const {
      if (at_hand_ > 0) return sim::Time{0};
      return coming_.empty() ? sim::kNever : coming_.front();
    }
    void take(sim::Time now) {
      collect(now);
      --at_hand_;
    }
    void free(sim::Time at, sim::Time now);

   private:
    void collect(sim::Time now) {
      for (; !coming_.empty() && coming_.front() <= now; coming_.pop_front()) ++at_hand_;
    }
    std::uint32_t at_hand_;
    boost::circular_buffer<sim::Time> coming_;  // when the others do, in order
  };
  struct alignas(64) Output {
    Output() = default;
    Output(Output&&) = default;
    sim::Time free{0};
    sim::Time armed = sim::kNever;
    unsigned served = 0;  // the queue that was last
    Outages outages;
    sim::SmallVector<Slots, 2> behind;  // by virtual channel
    sim::SmallVector<Head, 4> heads;    // in the order of their queues
  };

  // The queue has a first cell now. Returns when it could go.
  sim::Time line_up(unsigned queue, const Cell& cell);
  sim::Time start(const Output& output, const Head& head) const;
  void arm(unsigned output, sim::Time due);
  void arm(unsigned output);
  void decide(std::uint64_t output);
  void serve(unsigned output, Head* head);

  Owner& owner_;
  sim::EventLoop& loop_;
  sim::Port port_;
  std::vector<Queue> queues_;
  std::vector<Output> outputs_;
};

}  // namespace faultline::network
