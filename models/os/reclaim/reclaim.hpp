// SPDX-License-Identifier: Apache-2.0
// How the kernel takes memory back when it runs short: watermarks, kswapd, direct reclaim, the two ages of pages, and
// the steps in which a page leaves a process. Order and conditions as in Linux 6.x, mm/vmscan.c, without MGLRU.
//
// Where there is neither a swap device nor a file there is nothing to take back: then processes may use the last frame,
// and everything here is idle.
#pragma once

#include <cstdint>

#include "models/cpu/cpu.hpp"
#include "models/os/files/page_cache.hpp"
#include "models/os/reclaim/oom_killer.hpp"
#include "models/os/reclaim/swap.hpp"
#include "models/os/vm/page_reclaim.hpp"
#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

class Reclaim : public PageReclaim {
 public:
  Reclaim(VmCore& core, Swap& swap, PageCache& page_cache, OomKiller& oom_killer);

  void begin() override;
  void progressed() override { progress_.notify_all(); }
  sim::Task<bool> make_room(cpu::Execution& exec, const Process& process, std::uint64_t pages) override;
  sim::Task<bool> make_room_for_tables(cpu::Execution& exec, const Process& process, std::uint64_t pages) override;
  bool has_room(const Process& process, std::uint64_t pages) const override;
  bool has_room(std::uint64_t pages) const override;

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
  // What becomes of the entries that lead to it.
  enum class Unmap : std::uint8_t { to_swap, discard, file };
  // Pages that are looked at together (shrink_folio_list), and what is left to do when all have been.
  struct Batch {
    bool used_or_not;              // whether accessed or not
    bool counted;                  // reclaim chose the pages, nobody named them (Linux's pgsteal)
    UnmapBatch unmapped{};         // whose TLBs are waited for before what is in them is written or freed
    sim::Vector<Address> freed{};  // nobody's any more, and still held
  };
  // The kinds of pages, each with its two lists.
  struct Kind {
    LruList inactive;
    LruList active;
    ScanBalance::Kind number;
  };
  static constexpr Kind kAnon{LruList::inactive_anon, LruList::active_anon, ScanBalance::anon};
  static constexpr Kind kFile{LruList::inactive_file, LruList::active_file, ScanBalance::file};
  // What is reclaimed for: so many pages in a group's limit, or (no group) free frames; a pass need not end before so
  // many are free above the high watermark.
  struct Goal {
    MemoryGroup* group;
    std::uint64_t pages;
    std::uint64_t above;
  };

  sim::Task<void> serve();
  sim::Task<void> balance();
  sim::Task<bool> reach(cpu::Execution& exec, const Process& process, Goal goal);
  bool is_reached(const Goal& goal) const;
  bool is_enough(const Goal& goal) const;
  sim::Task<void> shrink(cpu::Execution& exec, Goal goal, unsigned priority);
  sim::Task<void> shrink_group(cpu::Execution& exec, Goal goal, MemoryGroup& group, unsigned priority);
  sim::Task<void> age(cpu::Execution& exec, MemoryGroup& group);
  sim::Task<void> shrink_active(cpu::Execution& exec, MemoryGroup& group, const Kind& kind, std::uint64_t pages);
  sim::Task<void> shrink_inactive(cpu::Execution& exec, MemoryGroup& group, const Kind& kind, std::uint64_t pages);
  // How much of each kind's lists a pass looks at.
  using Shares = ScanBalance::Shares;
  Shares shares(const Goal& goal, MemoryGroup& group, unsigned priority) const;
  sim::Vector<Address> isolate(const Lru& lru, LruList from, std::uint64_t pages);
  sim::Task<sim::Vector<Address>> isolate_range(cpu::Execution& exec, Process& process, Range range);
  sim::Task<Outcome> shrink_page(cpu::Execution& exec, Address frame, Batch& batch);
  sim::Task<void> end(cpu::Execution& exec, Batch& batch);
  sim::Task<Outcome> reclaim_page(cpu::Execution& exec, Address frame, Batch& batch);
  sim::Task<Outcome> reclaim_anon(cpu::Execution& exec, Address frame, Batch& batch);
  sim::Task<Outcome> reclaim_file(cpu::Execution& exec, Address frame, Batch& batch);
  sim::Task<unsigned> take_references(cpu::Execution& exec, Address frame);
  sim::Task<sim::Vector<MmUser>> unmap(cpu::Execution& exec, Address frame, Unmap how, UnmapBatch& batch);
  sim::Task<bool> clear(cpu::Execution& exec, Process& process, VirtualAddress va, Unmap how, UnmapBatch& batch);
  sim::Task<void> throttle(cpu::Execution& exec, bool progress);
  sim::Task<void> write_and_free(Address frame, bool counted);
  bool take_from_caches(Address frame, bool counted);
  void finish(Address frame, Outcome outcome, Batch& batch);
  bool is_pinned(Address frame) const;
  bool is_lazyfree(Address frame) const;
  static ScanBalance::Listed listed(const Lru& lru);
  static bool inactive_is_low(const Lru& lru, const Kind& kind);
  std::uint64_t free_pages() const;

  VmCore& core_;
  Swap& swap_;
  PageCache& page_cache_;
  OomKiller& oom_killer_;
  std::uint64_t min_ = 0;
  std::uint64_t low_ = 0;
  std::uint64_t high_ = 0;
  cpu::Execution* kswapd_ = nullptr;
  sim::Signal wanted_;                  // kswapd is
  sim::Signal progress_;                // a write-out or a batch has ended
  unsigned failures_ = 0;               // of kswapd in a row
  std::uint64_t kswapd_looked_at_ = 0;  // inactive pages
  unsigned writing_ = 0;
  std::uint64_t isolated_ = 0;  // pages in the batches of everybody who reclaims
  std::uint64_t freed_ = 0;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::os
