// SPDX-License-Identifier: Apache-2.0
// What a device meets at a buffer that it writes: configs/experiments/fault-matrix.toml in small, every cell. Linux's
// word for each is in docs/fault-matrix.md.
#include "tests/workloads/fault_matrix.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace faultline::test::matrix;
using enum faultline::test::matrix::Verdict;

TEST_CASE("matrix: khugepaged collapses locked pages, clears their descriptor meanwhile, and leaves pinned ones") {
  // collapse_huge_page. By race where the pin comes between scan and cleared descriptor: tests/os/khugepaged.cpp.
  check_row(kHuge, "collapse", {faults, raced, stale, spared, faults, raced, spared});
}

TEST_CASE("matrix: compaction moves locked pages, and looks for pins before it unmaps") {
  // isolate_migratepages_block. A pin, or a mirror's filling, that comes after the look is found when the entry is
  // cleared (try_to_migrate_one).
  check_row(kSmall, "compaction", {faults, undone, stale, spared, faults, raced, spared});
}

TEST_CASE("matrix: a long-term pin moves pages out of the CMA area, once, under whoever uses them") {
  // check_and_migrate_movable_pages. The strategy's own pin has moved them before anybody used them.
  check_row(kCma, "longterm-pin", {faults, spared, stale, spared, faults, spared, spared});
  const Point once = run(kCma + way(mlock_shared) + Settings{{"inject.mechanism", "longterm-pin"}});
  CHECK(once.count("injected_pages") == 16);
}

TEST_CASE("matrix: a driver gets its piece of the CMA area from locked pages, and pinned ones have left it") {
  check_row(kCma, "cma-alloc", {faults, spared, stale, spared, faults, spared, spared});  // alloc_contig_range
}

TEST_CASE("matrix: compaction of all memory finds nothing to gain where memory is free in large pieces") {
  check(kSmall, "compact-memory", mlock_shared, spared);
}

TEST_CASE("matrix: move_pages clears the entry of whatever it finds, and puts those of pinned pages back") {
  // try_to_migrate_one looks for the pin (folio_try_share_anon_rmap_pte) when the TLBs have been told.
  check_row(kSmall, "move-pages", {faults, undone, stale, spared, faults, undone, spared});
}

TEST_CASE("matrix: NUMA hints are not for pinned pages, but mirrors are told before anybody looks") {
  // change_pte_range; change_pmd_range has called the notifiers.
  check_row(kSmall, "numa-hint", {faults, spared, unseen, spared, faults, undone, spared});
}

TEST_CASE("matrix: KSM clears the descriptor before it sees the pin, and merges what is locked") {
  check_row(kSmall, "ksm", {faults, undone, stale, spared, faults, undone, spared});  // write_protect_page
}

TEST_CASE("matrix: reclaim ages pinned pages, but no locked ones, in the one table that the kernel ages") {
  check_row(kSmall, "ageing", {spared, faults, spared, unseen, spared, unseen, unseen});  // folio_referenced_one
}

TEST_CASE("matrix: clear_refs and idle tracking age locked pages, too, and are met where a TLB has lost the page") {
  check(kSmall, "clear-refs", mlock_shared, unseen);
  check(kSmall, "idle-tracking", pin_shared, unseen);
  check_row(kFewEntries, "clear-refs", {faults, faults, unseen, unseen, unseen, unseen, unseen});  // clear_refs_write
  check_row(kFewEntries, "idle-tracking",
            {faults, faults, unseen, unseen, unseen, unseen, unseen});  // page_idle, DAMON
}

TEST_CASE("matrix: write protection does not look at pins") {
  check_row(kSmall, "write-protect", {faults, faults, unseen, unseen, faults, faults, unseen});  // change_pte_range
}

TEST_CASE("matrix: userfaultfd protects whatever it is asked to") {
  check_row(kSmall, "userfault-wp", {faults, faults, unseen, unseen, faults, faults, unseen});  // uffd_wp_range
}

TEST_CASE("matrix: reclaim leaves locked pages alone, and looks for pins before it unmaps") {
  // shrink_folio_list. Pages that are pinned for each transfer go between two of them; a pin that comes meanwhile keeps
  // the frame and finds it unmapped.
  check_row(kSwap, "reclaim", {spared, spared, spared, spared, spared, raced, spared});
}

TEST_CASE("matrix: memory that is neither locked nor pinned goes to the swap device, and the device faults on it") {
  for (const char* table : {"shared", "mirrored"}) {
    INFO(table);
    const Point p = run(
        kSwap + Settings{{"strategy.translate", table}, {"inject.mechanism", "reclaim"}, {"inject.period", "1 ms"}});
    REQUIRE(p.error.empty());
    CHECK(p.count("faults") > 0);
    CHECK(p.count("major_faults") > 0);
    CHECK(p.count("stale_accesses") == 0);
    CHECK(p.count("data_errors") == 0);
  }
}

TEST_CASE("matrix: fork protects locked pages and copies pinned ones for the child") {
  // copy_present_ptes, copy_present_page. So long that the change falls into a transfer.
  const Settings rare =
      kSmall + Settings{{"inject.count", 1}, {"inject.period", "200 us"}, {"os.fork_fixed", "650 us"}};
  check_row(rare, "fork", {faults, spared, unseen, spared, faults, faults, unseen});
}

TEST_CASE("matrix: a split of a huge page goes through an invalid descriptor, whoever holds the page") {
  // __split_huge_pmd_locked, pmdp_invalidate. In the midst of a transfer: there is one huge page to split, once.
  check_row(kHuge + Settings{{"inject.after", "1 ms"}}, "thp-split",
            {faults, faults, unseen, unseen, faults, faults, unseen});
}

TEST_CASE("matrix: memory that is gone is gone for locked and pinned pages alike, but not for a table of its own") {
  check_row(kSmall, "truncate", {lost, lost, stale, stale, lost, lost, stale});   // unmap_mapping_range
  check_row(kSmall, "dont-need", {lost, lost, stale, stale, lost, lost, stale});  // madvise_dontneed_single_vma
}

TEST_CASE("matrix: a lock on fault leaves the pages absent, and a pin has no such kind") {
  const Settings once = kSmall + Settings{{"inject.count", 1}};  // populate_vma_page_range
  check_row(once, "lock-on-fault", {lost, absent, stale, absent, lost, absent, absent});
}

TEST_CASE("matrix: locks and pins are taken for writing, so that no zero page is left") {
  check_row(kSmall, "zero-page", {spared, spared, spared, spared, spared, spared, spared});
  // Zero pages were there: replacing them costs the lock more than absent pages do.
  const Point zero_pages = run(kSmall + way(mlock_shared) + Settings{{"inject.mechanism", "zero-page"}});
  const Point absent_pages = run(kSmall + way(mlock_shared) + Settings{{"workload.cold", "destination"}});
  CHECK(zero_pages["setup_time"] > absent_pages["setup_time"]);
}

TEST_CASE("matrix: a mapped file's pages are unmapped before reclaim finds a pin, and locked ones are left alone") {
  check_row(kFile, "reclaim", {spared, faults, spared, unseen, spared, faults, unseen});
}

TEST_CASE("matrix: write-back takes the right to write from a mapped file's pages, whoever holds them") {
  check_row(kFile, "write-protect", {faults, faults, unseen, unseen, faults, faults, unseen});  // page_vma_mkclean_one
}

TEST_CASE("matrix: a hole in a file takes the pages from every mapping, but not from a table of its own") {
  check_row(kFile, "truncate", {lost, lost, stale, stale, lost, lost, stale});
}

TEST_CASE("matrix: a file's pages are moved and aged as anonymous ones are") {
  check_row(kFile, "compaction", {faults, raced, stale, spared, faults, raced, spared});
  check_row(kFile, "ageing", {spared, faults, spared, unseen, spared, unseen, unseen});
}

TEST_CASE("matrix: with small pages only, nothing that faults on locked memory is left to chance but what moves it") {
  // THP never, no compaction of unevictable pages: what remains are the program's own doings.
  const Settings quiet = kSmall + Settings{{"os.compact_unevictable_allowed", false}};
  check(quiet, "compaction", mlock_shared, spared);
  check(quiet, "compaction", mlock_private, spared);
}

TEST_CASE("an invalidation that is forgotten, or comes too late, shows as stale accesses and wrong data") {
  const Settings moved = kSmall + way(mlock_shared) + Settings{{"inject.mechanism", "compaction"}};
  const Point right = run(moved);
  CHECK(right.count("stale_accesses") == 0);
  CHECK(right.count("data_errors") == 0);
  const Point forgotten = run(moved + Settings{{"smmu_driver.tlb_maintenance", "none"}});
  CHECK(forgotten.count("stale_accesses") > 0);
  CHECK(forgotten.count("data_errors") > 0);
  // Longer than the pages of a batch are away.
  const Point late = run(moved + Settings{{"smmu_driver.tlb_maintenance_delay", "200 us"}});
  CHECK(late.count("stale_accesses") > 0);
  CHECK(late.count("stale_accesses") < forgotten.count("stale_accesses"));
}
