// SPDX-License-Identifier: Apache-2.0
// The levels that a part tells its timelines, in order.
#pragma once

#include <vector>

#include "models/sim/trace.hpp"

namespace faultline::test {

class Levels : public sim::Timeline {
 public:
  Levels(sim::Trace& trace, sim::TrackKind kind, sim::NodeId node) : kind_(kind), node_(node) { trace.record(*this); }
  std::vector<std::uint64_t> told;

  void on_step(const sim::StepRecord&) override {}
  void on_slice(const sim::Slice&) override {}
  void on_link(const sim::Slice&, const void*) override {}
  void on_level(sim::Time, const sim::Track& track, std::uint64_t level) override {
    if (track.kind == kind_ && track.node == node_) told.push_back(level);
  }

 private:
  sim::TrackKind kind_;
  sim::NodeId node_;
};

}  // namespace faultline::test
