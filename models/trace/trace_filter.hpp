// SPDX-License-Identifier: Apache-2.0
// What a trace is to hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "models/sim/trace.hpp"

namespace faultline::trace {

// Whole numbers, both ends included.
struct NumberRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

struct TraceFilter {
  std::vector<NumberRange> nodes;      // and routers; empty: all
  std::vector<NumberRange> transfers;  // counted from 1 in the order in which they began; empty: all
  sim::Time from{0};  // what lies before, or behind `to`, is left out; what reaches into the window is in
  sim::Time to = sim::kNever;
  std::uint64_t limit = std::uint64_t{256} << 20;  // bytes of the file

  static bool holds(const std::vector<NumberRange>& ranges, std::uint64_t number) {
    return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [number](const NumberRange& r) {
             return number >= r.first && number <= r.last;
           });
  }
  bool has_node(sim::NodeId node) const { return holds(nodes, node); }
  bool has_transfer(std::uint64_t number) const { return holds(transfers, number); }
  bool has_time(sim::Time begin, sim::Time end) const { return end >= from && begin <= to; }
};

// What of a run is to be recorded, and where: files that are made or replaced. Empty: none.
struct TraceRequest {
  std::string perfetto;
  std::string vcd;
  TraceFilter filter;
};

}  // namespace faultline::trace
