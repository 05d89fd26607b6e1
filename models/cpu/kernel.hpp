// SPDX-License-Identifier: Apache-2.0
// Which Linux runs on the cores, and what that decides. The rules of a model that changed between two kernels ask
// `kernel.has(Change::...)`; nothing else compares versions. Each change is a row of kChanges here and of the table in
// models/os/README.md, which says what the kernels before did and which function of Linux decides it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace faultline::cpu {

// 100 times the major number and the minor one.
constexpr unsigned linux_release(unsigned major, unsigned minor) { return major * 100 + minor; }

// Kernels with long-term support: those that boards are shipped with.
enum class KernelVersion : std::uint16_t {
  linux_4_9 = linux_release(4, 9),
  linux_4_14 = linux_release(4, 14),
  linux_4_19 = linux_release(4, 19),
  linux_5_4 = linux_release(5, 4),
  linux_5_10 = linux_release(5, 10),
  linux_5_15 = linux_release(5, 15),
  linux_6_1 = linux_release(6, 1),
  linux_6_6 = linux_release(6, 6),
  linux_6_12 = linux_release(6, 12),
};

enum class Change : std::uint8_t {
  drains_by_workers,      // free pages in the cores' batches are given back by each core's worker, not by interrupts
  clear_refs_unflushed,   // /proc/PID/clear_refs clears access flags and no TLB hears of it
  migration_writable,     // a migrated page may be written by hardware, too, if it was writable
  mprotect_gives_way,     // mprotect lets other threads run after each page table
  mlock_as_it_is,         // mlock does not wait for pages on their way to the kernel's lists
  wakes_on_last_core,     // an interrupt's wake-up leaves a thread on its last core when that is idle
  numa_skips_shared,      // NUMA hints leave private pages alone that another process maps, too
  mremap_by_tables,       // mremap lets other threads run after each page table; before: after 64 pages
  irq_thread_stays,       // an interrupt's thread runs on the core that takes the interrupt, and nowhere else
  tlb_strides,            // TLBs forget a range in steps of its smallest entries, and tables with it
  munmap_downgrades,      // munmap holds mmap_lock only shared while TLBs forget the pages
  lazy_cores_spared,      // x86: cores on which a kernel thread runs, or none, are not interrupted to flush their TLBs
  ages_in_passing,        // who clears an access flag does not wait for the TLBs
  longterm_leaves_cma,    // a long-term pin first moves its pages out of the CMA area
  madv_pageout,           // there is MADV_PAGEOUT
  claim_ends_lighter,     // a driver's claim of the CMA area ends without a drain of free pages
  huge_cow_splits,        // a store to a shared or zero page of 2 MiB splits it; before: a new one of 2 MiB
  reclaim_by_cost,        // reclaim shares looks by what taking a kind of page costs; before: by how many are in use
  cma_first,              // movable pages come from the CMA area while half of what is free is there; before: last
  fork_copies_pinned,     // a child gets copies of pages under a pin, instead of sharing them
  block_flushes,          // TLBs forget a block of 2 MiB by one invalidation
  reuse_by_references,    // a write fault copies a page that anybody refers to, by a pin, too; before: that others map
  anon_starts_inactive,   // anonymous pages begin as old ones, and one reference does not make them young
  busy_factor_16,         // busy cores look for work elsewhere every 16 intervals, not 32
  busy_off_beat,          // busy cores look a tick earlier than their interval says
  reclaim_sees_pins,      // reclaim leaves anonymous pages under a pin alone; before: unmapped, found held, kept
  numa_skips_held,        // NUMA hints leave private pages alone that anybody refers to
  flags_unflushed,        // setting an access flag alone tells no TLB
  clear_refs_exclusive,   // /proc/PID/clear_refs holds mmap_lock exclusively
  base_slice_floor,       // CFS: a turn is never shorter than the granularity, however small the thread's weight
  hugetlb_fork_copies,    // a child gets copies of hugetlb pages under a pin, too
  claim_drains_first,     // a driver's claim drains once, before pages move; before: for each block, and in the end
  madv_populate,          // there are MADV_POPULATE_READ and MADV_POPULATE_WRITE
  newidle_by_cost,        // newly idle cores weigh their average idle time against what a look costs
  hugetlb_mremap,         // hugetlb mappings can be moved
  dontneed_locked,        // there is MADV_DONTNEED_LOCKED
  munlock_by_tables,      // munlock lets other threads run after each page table; before: after 15 pages
  hugetlb_dont_need,      // MADV_DONTNEED drops hugetlb pages
  mprotect_gathers,       // mprotect's flush goes from the first changed entry to the last
  exclusive_pages,        // pages that are a process's own are marked: reused whoever refers to them (AnonExclusive)
  mprotect_writable,      // mprotect gives the right to write back to dirty pages that are the process's own
  drains_from_afar,       // free pages in other cores' batches are taken without those cores
  migration_keeps_young,  // a migrated page keeps its access flag
  madv_collapse,          // there is MADV_COLLAPSE
  looks_cost,             // reclaim counts looks in vain as a cost, too, not only pages written
  mprotect_writable_all,  // mprotect gives that right back to clean pages and to those of 2 MiB, too
  batched_migration,      // pages of a batch are all unmapped before the first is copied
  vma_locks,              // page faults take the lock of their VMA instead of mmap_lock
  refuses_file_pins,      // no long-term pins that write to files whose dirty pages are tracked
  batched_unmapping,      // arm64: who unmaps pages by the reverse mapping waits for TLBs once, for many pages
  eevdf,                  // the fair class picks by virtual deadlines (EEVDF), not virtual runtimes (CFS)
  equal_deadlines_yield,  // EEVDF: of equal deadlines that of a waiting thread goes before the running one's
  pageout_keeps_young,    // MADV_PAGEOUT leaves access flags as they are; before: it clears them first
  hugetlb_rereserves,     // MADV_DONTNEED reserves hugetlb pages anew
  userfault_protection,   // userfaultfd's write protection on arm64
  preempt_short,          // EEVDF: beyond its first slice a turn ends when more than its share is found to be had
  count
};

struct ChangeRow {
  Change change;
  // Release that had it first, after 4.9 and not after 6.12. A kernel of KernelVersion is the stable one of its series
  // when 6.12 came out (November 2024): what a stable release had brought by then counts as having come with the
  // series.
  unsigned since;
  std::string_view name;  // of its row in models/os/README.md
};

inline constexpr std::array<ChangeRow, static_cast<std::size_t>(Change::count)> kChanges{{
    {Change::drains_by_workers, linux_release(4, 11), "drains-by-workers"},
    {Change::clear_refs_unflushed, linux_release(4, 13), "clear-refs-unflushed"},
    {Change::migration_writable, linux_release(4, 14), "migration-writable"},
    {Change::mprotect_gives_way, linux_release(4, 14), "mprotect-gives-way"},
    {Change::mlock_as_it_is, linux_release(4, 15), "mlock-as-it-is"},
    {Change::wakes_on_last_core, linux_release(4, 16), "wakes-on-last-core"},
    {Change::numa_skips_shared, linux_release(4, 16), "numa-skips-shared"},
    {Change::mremap_by_tables, linux_release(4, 18), "mremap-by-tables"},
    {Change::irq_thread_stays, linux_release(4, 19), "irq-thread-stays"},
    {Change::tlb_strides, linux_release(4, 20), "tlb-strides"},
    {Change::munmap_downgrades, linux_release(4, 20), "munmap-downgrades"},
    {Change::lazy_cores_spared, linux_release(4, 20), "lazy-cores-spared"},
    {Change::ages_in_passing, linux_release(5, 0), "ages-in-passing"},
    {Change::longterm_leaves_cma, linux_release(5, 1), "longterm-leaves-cma"},
    {Change::madv_pageout, linux_release(5, 4), "madv-pageout"},
    {Change::claim_ends_lighter, linux_release(5, 4), "claim-ends-lighter"},
    {Change::huge_cow_splits, linux_release(5, 8), "huge-cow-splits"},
    {Change::reclaim_by_cost, linux_release(5, 8), "reclaim-by-cost"},
    {Change::cma_first, linux_release(5, 8), "cma-first"},
    {Change::fork_copies_pinned, linux_release(5, 9), "fork-copies-pinned"},
    {Change::block_flushes, linux_release(5, 9), "block-flushes"},
    {Change::reuse_by_references, linux_release(5, 9), "reuse-by-references"},
    {Change::anon_starts_inactive, linux_release(5, 9), "anon-starts-inactive"},
    {Change::busy_factor_16, linux_release(5, 10), "busy-factor-16"},
    {Change::busy_off_beat, linux_release(5, 10), "busy-off-beat"},
    {Change::reclaim_sees_pins, linux_release(5, 10), "reclaim-sees-pins"},
    {Change::numa_skips_held, linux_release(5, 10), "numa-skips-held"},
    {Change::flags_unflushed, linux_release(5, 10), "flags-unflushed"},
    {Change::clear_refs_exclusive, linux_release(5, 10), "clear-refs-exclusive"},
    {Change::base_slice_floor, linux_release(5, 10), "base-slice-floor"},
    {Change::hugetlb_fork_copies, linux_release(5, 12), "hugetlb-fork-copies"},
    {Change::claim_drains_first, linux_release(5, 13), "claim-drains-first"},
    {Change::madv_populate, linux_release(5, 14), "madv-populate"},
    {Change::newidle_by_cost, linux_release(5, 16), "newidle-by-cost"},
    {Change::hugetlb_mremap, linux_release(5, 16), "hugetlb-mremap"},
    {Change::dontneed_locked, linux_release(5, 18), "dontneed-locked"},
    {Change::munlock_by_tables, linux_release(5, 18), "munlock-by-tables"},
    {Change::hugetlb_dont_need, linux_release(5, 18), "hugetlb-dont-need"},
    {Change::mprotect_gathers, linux_release(5, 19), "mprotect-gathers"},
    {Change::exclusive_pages, linux_release(5, 19), "exclusive-pages"},
    {Change::mprotect_writable, linux_release(6, 0), "mprotect-writable"},
    {Change::drains_from_afar, linux_release(6, 0), "drains-from-afar"},
    {Change::migration_keeps_young, linux_release(6, 1), "migration-keeps-young"},
    {Change::madv_collapse, linux_release(6, 1), "madv-collapse"},
    {Change::looks_cost, linux_release(6, 2), "looks-cost"},
    {Change::mprotect_writable_all, linux_release(6, 2), "mprotect-writable-all"},
    {Change::batched_migration, linux_release(6, 3), "batched-migration"},
    {Change::vma_locks, linux_release(6, 4), "vma-locks"},
    {Change::refuses_file_pins, linux_release(6, 5), "refuses-file-pins"},
    {Change::batched_unmapping, linux_release(6, 6), "batched-unmapping"},
    {Change::eevdf, linux_release(6, 6), "eevdf"},
    {Change::equal_deadlines_yield, linux_release(6, 8), "equal-deadlines-yield"},
    {Change::pageout_keeps_young, linux_release(6, 9), "pageout-keeps-young"},
    {Change::hugetlb_rereserves, linux_release(6, 9), "hugetlb-rereserves"},
    {Change::userfault_protection, linux_release(6, 10), "userfault-protection"},
    {Change::preempt_short, linux_release(6, 12), "preempt-short"},
}};

namespace detail {
consteval bool in_order() {
  for (std::size_t i = 0; i < kChanges.size(); ++i) {
    if (kChanges[i].change != static_cast<Change>(i)) return false;
    if (i > 0 && kChanges[i].since < kChanges[i - 1].since) return false;
  }
  return true;
}
static_assert(in_order(), "a change is looked up by its number, and the rows follow the releases");
}  // namespace detail

struct Kernel {
  KernelVersion version = KernelVersion::linux_6_1;

  constexpr bool has(Change change) const {
    return static_cast<unsigned>(version) >= kChanges[static_cast<std::size_t>(change)].since;
  }
};

}  // namespace faultline::cpu
