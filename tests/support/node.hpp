// SPDX-License-Identifier: Apache-2.0
// What a part of a node is constructed with.
#pragma once

#include "models/sim/context.hpp"

namespace faultline::test {

struct Node {
  explicit Node(std::uint32_t cells_per_train = 16)
      : context{0, loop, payloads, statistics, trace, 1, cells_per_train} {}

  sim::Time now() const { return loop.now(); }
  std::uint64_t counted(std::string_view counter) const { return statistics.value(counter); }

  sim::PayloadPool payloads;
  sim::Statistics statistics;
  sim::Trace trace;
  sim::EventLoop loop{"loop"};
  sim::Context context;
};

}  // namespace faultline::test
