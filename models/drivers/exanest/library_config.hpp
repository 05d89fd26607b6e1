// SPDX-License-Identifier: Apache-2.0
// Costs and settings of the user library, and of the thread that resolves page faults.
#pragma once

#include <cstdint>

#include "models/drivers/library/config.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/time.hpp"

namespace faultline::exanest {

using namespace std::chrono_literals;

// How the kernel schedules the thread that resolves page faults.
enum class FaultThreadClass : std::uint8_t {
  process,           // a thread of the program: SCHED_NORMAL, on any core
  interrupt_thread,  // threaded interrupt: SCHED_FIFO, on the core that takes interrupts; before 4.19 on any core
  kworker_bound,     // worker of the core that takes interrupts: SCHED_NORMAL, there alone
  kworker_unbound,   // worker of an unbound queue: SCHED_NORMAL, on any core
};

struct LibraryConfig : library::LibraryConfig {
  sim::Time parse_fault = 1400ns;  // fault thread: each netlink message
  sim::Time post_retry = 660ns;    // fault thread: around the MMIO writes of one RAPF or local retry
  FaultThreadClass fault_thread = FaultThreadClass::process;

  void declare(sim::ParameterTable& table);
};

}  // namespace faultline::exanest
