// SPDX-License-Identifier: Apache-2.0
// One configuration simulated twice, cell by cell and in trains, and what differs.
#pragma once

#include <cstdint>
#include <string>

#include "workloads/configuration.hpp"

namespace faultline::test {

struct Difference {
  std::string kind;  // the first lines that differ without their numbers; empty when nothing differs
  std::string text;  // those lines and some around them
  explicit operator bool() const { return !kind.empty(); }
};

// Simulates to the end, in two child processes side by side.
//
// Compared are all steps that sim::Trace reports in any part of the cluster (time, node, step, block: every
// completion, fault, interrupt and step of software), the times of the benchmark's transfers, how the run ended, and
// every counter of every node. Steps may be announced ahead, so their order is that of their times.
enum class Compare { all, times };  // times: all but the counters
Difference difference(const workloads::Configuration& configuration, std::uint64_t seed, Compare compare);

}  // namespace faultline::test
