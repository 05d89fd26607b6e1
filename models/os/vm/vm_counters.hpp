// SPDX-License-Identifier: Apache-2.0
// Named as in /proc/vmstat and /proc/meminfo where Linux has the same.
#pragma once

#include "models/sim/statistics.hpp"

namespace faultline::os {

struct VmCounters {
  explicit VmCounters(sim::Statistics& s)
      : pgfault(s.counter("os.pgfault", "count", "page faults handled, by an access or in a system call")),
        vma_lock_success(s.counter("os.vma_lock_success", "count", "faults handled with their VMA's lock alone")),
        vma_lock_abort(s.counter("os.vma_lock_abort", "count",
                                 "faults that took mmap_lock because there was no VMA, or somebody changed it")),
        vma_lock_retry(s.counter("os.vma_lock_retry", "count",
                                 "faults that let go of their VMA's lock to wait, and went on with mmap_lock")),
        thp_fault_alloc(s.counter("os.thp_fault_alloc", "count", "faults that got a 2 MiB page")),
        thp_fault_fallback(s.counter("os.thp_fault_fallback", "count", "2 MiB page wanted, none free: 4 KiB taken")),
        thp_zero_page_alloc(s.counter("os.thp_zero_page_alloc", "count", "2 MiB taken for the huge zero page")),
        thp_zero_page_alloc_failed(
            s.counter("os.thp_zero_page_alloc_failed", "count", "huge zero page wanted, no 2 MiB free for it")),
        hugetlb_fault_alloc(
            s.counter("os.hugetlb_fault_alloc", "count", "faults that took a page of the huge page pool")),
        hugetlb_refused(
            s.counter("os.hugetlb_refused", "count",
                      "mappings, faults and forks that found no page of the pool that nobody had reserved")),
        hugetlb_unmapped(s.counter("os.hugetlb_unmapped", "count",
                                   "pages of the pool taken from a child, because their owner needed them")),
        thp_split_pmd(s.counter("os.thp_split_pmd", "count", "2 MiB descriptors that were split into 4 KiB ones")),
        thp_collapse_alloc(s.counter("os.thp_collapse_alloc", "count", "2 MiB pages taken to collapse into")),
        thp_collapse_alloc_failed(
            s.counter("os.thp_collapse_alloc_failed", "count", "collapses that found no 2 MiB page free")),
        khugepaged_collapsed(s.counter("os.khugepaged_pages_collapsed", "count", "2 MiB ranges collapsed")),
        collapse_refused(s.counter("os.collapse_refused", "count",
                                   "2 MiB ranges that the scan found unfit to collapse (pinned, too many holes ...)")),
        collapse_undone(s.counter("os.collapse_undone", "count",
                                  "collapses given up after the descriptor had been cleared, which was put back")),
        pgmigrate_success(s.counter("os.pgmigrate_success", "count", "pages migrated")),
        pgmigrate_fail(s.counter("os.pgmigrate_fail", "count", "pages that could not be migrated")),
        migrate_restored(
            s.counter("os.migrate_restored", "count",
                      "tries to migrate a page that ended with its old entry back, because somebody holds it")),
        compact_migrate_scanned(
            s.counter("os.compact_migrate_scanned", "count", "pages that compaction looked at to move them")),
        compact_free_scanned(
            s.counter("os.compact_free_scanned", "count", "pages that compaction looked at to find free ones")),
        compact_isolated(
            s.counter("os.compact_isolated", "count", "pages that compaction took: to move, or free ones")),
        batch_drains(
            s.counter("os.batch_drains", "count",
                      "times that all cores gave back their batches of pages (lru_add_drain_all, drain_all_pages)")),
        compact_stall(s.counter("os.compact_stall", "count", "times that a thread compacted memory by itself")),
        compact_success(s.counter("os.compact_success", "count", "of them, those that got a 2 MiB page")),
        compact_fail(s.counter("os.compact_fail", "count", "of them, those that got none")),
        compact_daemon_wake(s.counter("os.compact_daemon_wake", "count", "times that kcompactd was set to work")),
        cma_alloc_success(s.counter("os.cma_alloc_success", "count", "pages of the CMA area that drivers got")),
        cma_alloc_fail(s.counter("os.cma_alloc_fail", "count", "pages of the CMA area that drivers did not get")),
        cma_pin_migrated(s.counter("os.cma_pin_migrated", "count",
                                   "pages moved out of the CMA area because they were to be pinned for long")),
        cow_faults(s.counter("os.cow_faults", "count", "write faults that copied a page, or made it writable again")),
        ksm_merged(s.counter("os.ksm_pages_merged", "count", "pages that now share the frame of an equal one")),
        pgmajfault(s.counter("os.pgmajfault", "count", "page faults that read from the disk")),
        pswpin(s.counter("os.pswpin", "count", "pages read from the swap device")),
        pswpout(s.counter("os.pswpout", "count", "pages written to the swap device")),
        swap_ra(s.counter("os.swap_ra", "count", "pages read from the swap device before anybody asked")),
        swap_ra_hit(s.counter("os.swap_ra_hit", "count", "of them, those that somebody asked for later")),
        swap_peak(s.counter("os.swap_peak", "B", "most of the swap device in use at one time")),
        allocstall(s.counter("os.allocstall", "count", "times that a program had to reclaim memory by itself")),
        pgscan_kswapd(s.counter("os.pgscan_kswapd", "count", "inactive pages that kswapd looked at")),
        pgscan_direct(s.counter("os.pgscan_direct", "count", "inactive pages that programs looked at to reclaim them")),
        pgsteal(s.counter("os.pgsteal", "count", "pages reclaimed")),
        pgactivate(s.counter("os.pgactivate", "count", "inactive pages that became active")),
        pgdeactivate(s.counter("os.pgdeactivate", "count", "active pages that became inactive")),
        unevictable_culled(s.counter("os.unevictable_pgs_culled", "count",
                                     "pages that reclaim found locked, and put on the unevictable list")),
        pgpgin(s.counter("os.pgpgin", "KiB", "read from files on the disk")),
        pgpgout(s.counter("os.pgpgout", "KiB", "written to files on the disk")),
        nr_dirtied(s.counter("os.nr_dirtied", "count", "pages of files that became dirty")),
        nr_written(s.counter("os.nr_written", "count", "dirty pages of files that were written to the disk")),
        zeroed_bytes(s.counter("os.zeroed_bytes", "B", "memory cleared for new pages")),
        copied_bytes(s.counter("os.copied_bytes", "B", "memory copied from page to page")),
        pins_acquired(s.counter("os.nr_foll_pin_acquired", "count", "pages pinned")),
        pins_released(s.counter("os.nr_foll_pin_released", "count", "pages unpinned")),
        pinned_bytes_peak(s.counter("os.pinned_bytes_peak", "B", "most memory under pins at one time")),
        locked_bytes_peak(s.counter("os.locked_bytes_peak", "B", "most memory in locked VMAs at one time")),
        tlb_invalidations(s.counter("os.tlb_invalidations", "count", "page-table changes that had to reach TLBs")),
        mirror_invalidations(
            s.counter("os.mirror_invalidations", "count", "descriptors of mirrored tables dropped by MMU notifiers")),
        mirror_retries(s.counter("os.mirror_retries", "count",
                                 "fillings of a mirrored table begun anew because the process's table had changed")),
        memcg_max(s.counter("os.memcg_max", "count", "times that a group's limit made a program reclaim memory")),
        oom_kill(s.counter("os.oom_kill", "count", "processes that were killed because memory had run out")),
        out_of_memory(s.counter("os.out_of_memory", "count", "operations refused because no frame was free")),
        limit_refusals(s.counter("os.limit_refusals", "count", "operations refused by RLIMIT_MEMLOCK")) {}

  sim::Counter& pgfault;
  sim::Counter& vma_lock_success;
  sim::Counter& vma_lock_abort;
  sim::Counter& vma_lock_retry;
  sim::Counter& thp_fault_alloc;
  sim::Counter& thp_fault_fallback;
  sim::Counter& thp_zero_page_alloc;
  sim::Counter& thp_zero_page_alloc_failed;
  sim::Counter& hugetlb_fault_alloc;
  sim::Counter& hugetlb_refused;
  sim::Counter& hugetlb_unmapped;
  sim::Counter& thp_split_pmd;
  sim::Counter& thp_collapse_alloc;
  sim::Counter& thp_collapse_alloc_failed;
  sim::Counter& khugepaged_collapsed;
  sim::Counter& collapse_refused;
  sim::Counter& collapse_undone;
  sim::Counter& pgmigrate_success;
  sim::Counter& pgmigrate_fail;
  sim::Counter& migrate_restored;
  sim::Counter& compact_migrate_scanned;
  sim::Counter& compact_free_scanned;
  sim::Counter& compact_isolated;
  sim::Counter& batch_drains;
  sim::Counter& compact_stall;
  sim::Counter& compact_success;
  sim::Counter& compact_fail;
  sim::Counter& compact_daemon_wake;
  sim::Counter& cma_alloc_success;
  sim::Counter& cma_alloc_fail;
  sim::Counter& cma_pin_migrated;
  sim::Counter& cow_faults;
  sim::Counter& ksm_merged;
  sim::Counter& pgmajfault;
  sim::Counter& pswpin;
  sim::Counter& pswpout;
  sim::Counter& swap_ra;
  sim::Counter& swap_ra_hit;
  sim::Counter& swap_peak;
  sim::Counter& allocstall;
  sim::Counter& pgscan_kswapd;
  sim::Counter& pgscan_direct;
  sim::Counter& pgsteal;
  sim::Counter& pgactivate;
  sim::Counter& pgdeactivate;
  sim::Counter& unevictable_culled;
  sim::Counter& pgpgin;
  sim::Counter& pgpgout;
  sim::Counter& nr_dirtied;
  sim::Counter& nr_written;
  sim::Counter& zeroed_bytes;
  sim::Counter& copied_bytes;
  sim::Counter& pins_acquired;
  sim::Counter& pins_released;
  sim::Counter& pinned_bytes_peak;
  sim::Counter& locked_bytes_peak;
  sim::Counter& tlb_invalidations;
  sim::Counter& mirror_invalidations;
  sim::Counter& mirror_retries;
  sim::Counter& memcg_max;
  sim::Counter& oom_kill;
  sim::Counter& out_of_memory;
  sim::Counter& limit_refusals;
};

}  // namespace faultline::os
