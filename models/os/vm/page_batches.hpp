// SPDX-License-Identifier: Apache-2.0
// Pages on their way to and from the kernel's lists wait in batches of each core (pagevecs, per-CPU lists of free
// pages). A mechanism that needs all pages on their lists asks each core to empty its batches, and waits for all cores.
#pragma once

#include <vector>

#include "models/cpu/cpu.hpp"
#include "models/memory/frame_store.hpp"
#include "models/os/os_config.hpp"
#include "models/os/vm/page_table.hpp"
#include "models/sim/event_loop.hpp"
#include "models/sim/statistics.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

inline constexpr std::size_t kPagevec = 15;  // PAGEVEC_SIZE: pages of a batch; 14 up to 4.15, 31 in 6.12

class PageBatches {
 public:
  PageBatches(const OsConfig& config, cpu::Cpu& cpu, sim::EventLoop& loop, sim::Counter& drains)
      : config_(config), cpu_(cpu), drains_(drains), turn_(loop, 1), done_(loop) {}

  // lru_cache_add: a page that a fault has brought waits in its core's batch until that is full or drained. A huge page
  // takes the batch to the lists with it (folio_batch_add_and_move). The model's own lists have all pages at once; who
  // asks here is a long-term pin.
  void add(unsigned core, memory::Address frame, PageSize size);
  bool holds(memory::Address frame) const;

  // lru_add_drain_all, drain_all_pages: one at a time; a work item for each core's own kworker, os.drain_core each.
  // Assumed: every core has something in its batches.
  sim::Task<void> drain(cpu::Execution& exec);

 private:
  sim::Task<void> work(unsigned core);

  const OsConfig& config_;
  cpu::Cpu& cpu_;
  sim::Counter& drains_;
  std::vector<cpu::Execution*> workers_;                // by core, once they were needed
  std::vector<sim::Vector<memory::Address>> arriving_;  // by core
  unsigned left_ = 0;                                   // of the drain under way
  sim::Semaphore turn_;
  sim::Signal done_;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::os
