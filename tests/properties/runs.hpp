// SPDX-License-Identifier: Apache-2.0
// One configuration simulated twice, cell by cell and in trains, and what differs.
#pragma once

#include <cstdint>
#include <string>

#include "workloads/configuration.hpp"

namespace faultline::test {

// Simulates to the end, in two child processes side by side. Empty when nothing differs; otherwise what does: the
// first steps that only one of them has, the counters, and how each ended.
//
// Compared are all steps that sim::Trace reports in any part of the cluster (time, node, step, block: every
// completion, fault, interrupt and step of software), the times of the benchmark's transfers, how the run ended, and
// every counter of every node but those of depends_on_trains(). Steps may be announced ahead, so their order is that
// of their times.
enum class Compare { all, times };  // times: all but the counters
std::string difference(const workloads::Configuration& configuration, std::uint64_t seed, Compare compare);

// Counters that count the simulator's work and not the machine's.
bool depends_on_trains(const std::string& counter);

}  // namespace faultline::test
