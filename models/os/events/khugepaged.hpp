// SPDX-License-Identifier: Apache-2.0
// khugepaged: the kernel thread that puts 512 small pages into a 2 MiB one behind the program's back. While it copies
// them the whole range is not mapped: whoever touches it faults, and the fault waits.
//
// Order of steps, locks and conditions as in Linux 6.x, mm/khugepaged.c.
#pragma once

#include <cstdint>

#include "models/os/events/compaction.hpp"

namespace faultline::os {

class Swap;

class Khugepaged {
 public:
  enum class Outcome : std::uint8_t {
    collapsed,
    unfit,    // as the scan found it: no VMA for a huge page, pinned, shared, too many holes, huge already;
              // or pages had to be read from the swap device first, and the next scan may do better
    undone,   // the descriptor had been cleared when a page was found held; it was put back
    no_block  // no 2 MiB free, nor to be had by compaction
  };

  // Who wants it: the daemon's scan, or the program (MADV_COLLAPSE), which sysfs does not bind.
  enum class Wish : std::uint8_t { scan, advice };

  Khugepaged(VmCore& core, Compaction& compaction, Swap& swap);

  // The daemon, on the node's last core: sleeps, then scans os.khugepaged_pages_to_scan of all processes' pages, and so
  // on. From the first memory on that may have huge pages, as in Linux; further calls do nothing.
  void start();
  // The range around va.
  sim::Task<Outcome> collapse(cpu::Execution& exec, Process& process, VirtualAddress va, Wish wish);

 private:
  sim::Task<void> serve();
  // False: memory for a huge page was not to be had, which ends the round.
  sim::Task<bool> scan_some();
  sim::Task<Outcome> collapse_under_lock(cpu::Execution& exec, Process& process, Range range, Address block, Wish wish);
  sim::Task<void> copy_pages(cpu::Execution& exec, Process& process, Range range, Address block);
  Leaves hide_range(const cpu::Execution& exec, Process& process, Range range) const;
  static void show_range(Process& process, Range range, Address table);
  sim::Task<bool> swap_in(cpu::Execution& exec, Process& process, Range range);
  // Pages of the range on the swap device are as good as others in the scan, but not in what follows.
  enum class Step : std::uint8_t { scan, collapse };
  bool fit(const Process& process, Range range, Wish wish, Step step) const;

  VmCore& core_;
  Compaction& compaction_;
  Swap& swap_;
  cpu::Execution* thread_ = nullptr;
  bool found_memory_ = true;
  std::size_t next_process_ = 0;
  VirtualAddress next_range_ = 0;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::os
