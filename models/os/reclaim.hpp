// SPDX-License-Identifier: Apache-2.0
// How the kernel takes memory back when it runs short: watermarks, kswapd, direct reclaim, the two ages of pages, and
// the steps in which a page leaves a process. Order and conditions as in Linux 6.x, mm/vmscan.c, without MGLRU.
//
// There is nothing to take back where no swap device is configured: then processes may use the last frame, and
// everything here is idle.
#pragma once

#include <cstdint>

#include "models/cpu/cpu.hpp"
#include "models/os/vm_core.hpp"

namespace faultline::os {

class Reclaim {
 public:
  explicit Reclaim(VmCore& core);

  // To be awaited before frames are taken for a program: wakes kswapd below the low watermark; below the lowest the
  // caller reclaims by itself, and waits. True: the frames are free until the caller waits again. False: out of memory.
  sim::Task<bool> make_room(cpu::Execution& exec, std::uint64_t pages);
  // Without reclaiming (huge pages on a fault: Linux's GFP_TRANSHUGE_LIGHT).
  bool has_room(std::uint64_t pages) const;

  // So that compaction can begin: direct reclaim on behalf of a huge page (or, `wake`, kswapd's). One round, and none
  // where there is room enough.
  sim::Task<void> make_room_to_compact(cpu::Execution& exec);
  void wake();

  // MADV_PAGEOUT, proactive reclaim: all pages of the range that nobody else maps, used or not. Not locked ones. The
  // value is how many have left the process.
  sim::Task<unsigned> page_out(cpu::Execution& exec, Process& process, Range range);

  // In pages of 4 KiB.
  std::uint64_t min_watermark() const { return min_; }
  std::uint64_t low_watermark() const { return low_; }
  std::uint64_t high_watermark() const { return high_; }

 private:
  // What became of a page that was looked at.
  enum class Outcome : std::uint8_t { freed, writing, keep, activate, unevictable };

  sim::Task<void> serve();
  sim::Task<void> balance();
  // Until so many pages are free, or the priority's share of the lists has been looked at.
  sim::Task<void> shrink(cpu::Execution& exec, unsigned priority, std::uint64_t goal);
  sim::Task<void> shrink_active(cpu::Execution& exec, std::uint64_t pages);
  sim::Task<void> shrink_inactive(cpu::Execution& exec, std::uint64_t pages);
  sim::Vector<Address> isolate(LruList from, std::uint64_t pages);
  sim::Task<Outcome> reclaim_page(cpu::Execution& exec, Address frame, bool used_or_not);
  sim::Task<unsigned> take_references(cpu::Execution& exec, Address frame);
  sim::Task<void> split(cpu::Execution& exec, Address frame);
  sim::Task<sim::Vector<Process*>> unmap(cpu::Execution& exec, Address frame, bool discard);
  sim::Task<bool> clear(cpu::Execution& exec, Process& process, VirtualAddress va, bool discard);
  sim::Task<void> throttle(cpu::Execution& exec, std::uint64_t before);
  // `counted`: reclaim chose the page, nobody named it (Linux's pgsteal).
  sim::Task<void> write_and_free(Address frame, bool counted);
  void settle(Address frame, bool counted);
  Outcome finish(Address frame, Outcome outcome, bool counted);
  bool is_pinned(Address frame) const;
  bool is_lazyfree(Address frame) const;
  bool inactive_is_low() const;
  std::uint64_t free_pages() const;

  VmCore& core_;
  std::uint64_t min_;
  std::uint64_t low_;
  std::uint64_t high_;
  cpu::Execution* kswapd_ = nullptr;
  sim::Signal wanted_;     // kswapd is
  sim::Signal progress_;   // a write-out or a batch has ended
  unsigned failures_ = 0;  // of kswapd in a row
  unsigned writing_ = 0;
  std::uint64_t isolated_ = 0;  // pages in the batches of everybody who reclaims
  std::uint64_t freed_ = 0;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::os
