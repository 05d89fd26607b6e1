// SPDX-License-Identifier: Apache-2.0
// What programs need of the nodes that they run on, and whether there is enough of it for all of them together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/sim/trace.hpp"
#include "workloads/configuration_checks.hpp"

namespace faultline::workloads {

// Of one process: memory for its buffers; of them, what a strategy that pins or locks them has of them at a time; and
// where it opens the NIC what the NIC has for a process.
struct Need {
  sim::NodeId node;
  std::uint64_t bytes;
  std::uint64_t held = 0;
  bool opens_nic = true;
};

// The programs of a run, each of which could run alone.
void check_together(const Configuration& run, std::span<const Configuration> programs, const AddConflict& add);

}  // namespace faultline::workloads
