// SPDX-License-Identifier: Apache-2.0
// A first-come server for several initiators. A train is served, and its responses are announced, when its
// first cell arrives. Another initiator's cell that arrives before the train's last one uses the gaps
// in which the train leaves the server idle; that is what serving cell by cell gives, unless no gap
// is long enough. The cells that then wait for some that came later are counted.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "models/sim/time_sequence.hpp"

namespace faultline::memory {

class TrainServer {
 public:
  // Departures of a train. Of cells that arrive at one instant the lowest rank goes first, then the
  // train served first. `now` never decreases from call to call, and arrivals do not precede it.
  sim::TimeSequence serve(sim::Time now, const sim::TimeSequence& arrivals, sim::Time service, std::uint32_t rank);

  // Cells that were served after one that came later, because that one's train had been committed before.
  // While this is 0, every departure is what serving cell by cell gives.
  std::uint64_t out_of_order() const { return out_of_order_; }

 private:
  using Order = std::pair<sim::Time, std::uint32_t>;  // arrival, rank
  struct Run {                                        // a train as it was committed
    sim::TimeSequence arrivals;
    sim::TimeSequence departures;
    sim::Time service;
    std::uint32_t rank;
  };
  struct Cell {  // the same, cell by cell: only where trains interleave
    Order order;
    sim::Time begin;
    sim::Time end;
  };

  void forget_until(sim::Time now);
  void expand_runs();
  sim::TimeSequence serve_between(const sim::TimeSequence& arrivals, sim::Time service, std::uint32_t rank);
  sim::Time place(Order order, sim::Time service);

  sim::Time free_{0};        // the last departure
  Order last_order_{-1, 0};  // of all cells so far
  std::vector<Run> runs_;
  std::vector<Cell> cells_;  // by begin
  std::uint64_t out_of_order_ = 0;
};

}  // namespace faultline::memory
