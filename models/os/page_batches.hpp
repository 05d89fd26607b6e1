// SPDX-License-Identifier: Apache-2.0
// Pages on their way to and from the kernel's lists wait in batches of each core (pagevecs, per-CPU lists of free
// pages). A mechanism that needs all pages on their lists asks each core to empty its batches, and waits for all cores.
#pragma once

#include <vector>

#include "models/cpu/cpu.hpp"
#include "models/os/os_config.hpp"
#include "models/sim/event_loop.hpp"
#include "models/sim/statistics.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

class PageBatches {
 public:
  PageBatches(const OsConfig& config, cpu::Cpu& cpu, sim::EventLoop& loop, sim::Counter& drains)
      : config_(config), cpu_(cpu), drains_(drains), turn_(loop, 1), done_(loop) {}

  // lru_add_drain_all, drain_all_pages: one at a time; a work item for each core's own kworker, os.drain_core each.
  // Assumed: every core has pages in its batches. The model has all pages on their lists already, so a drain takes time
  // and moves nothing.
  sim::Task<void> drain(cpu::Execution& exec);

 private:
  sim::Task<void> work(cpu::Execution& worker);

  const OsConfig& config_;
  cpu::Cpu& cpu_;
  sim::Counter& drains_;
  std::vector<cpu::Execution*> workers_;  // by core, once they were needed
  unsigned left_ = 0;                     // of the drain under way
  sim::Semaphore turn_;
  sim::Signal done_;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::os
