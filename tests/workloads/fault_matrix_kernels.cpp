// SPDX-License-Identifier: Apache-2.0
// Where the fault matrix depends on the kernel's version: configs/experiments/fault-matrix-kernels*.toml in small, the
// last kernel before each change and the first one after it.
#include "tests/workloads/fault_matrix.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace faultline::test::matrix;
using enum faultline::test::matrix::Verdict;

TEST_CASE(
    "matrix: before 6.1 a page that moved between transfers is old for the next one, for a pin does not cure it") {
  // remove_migration_pte. Large buffers at the source: they move where the program stores, and are pinned then.
  const Settings moves = at_source(kHuge + Settings{{"os.thp", "never"}});
  check(on("5.15", moves), "compaction", pin_shared, undone);
  check(on("6.1", moves), "compaction", pin_shared, spared);
}

TEST_CASE("matrix: before 5.19 pinned pages that move_pages tries fault a device over five times as often as since",
          "[exclusive-pages]") {
  // Since 5.19 the entry is away only for its invalidation (try_to_migrate_one).
  const auto faults = [](const char* kernel) { return meet(on(kernel, kSmall), "move-pages", pin_shared).faults; };
  const auto before = faults("5.15");
  for (const char* kernel : {"6.1", "6.12"}) {
    INFO(kernel);
    const auto since = faults(kernel);
    CHECK(since > 0);
    CHECK(before > 5 * since);
  }
}

TEST_CASE("matrix: before 5.1 a long-term pin leaves the CMA area as it is") {
  check(on("4.19", kCma), "longterm-pin", mlock_shared, spared);
  check(on("4.19", kCma), "longterm-pin", mlock_private, spared);
  check(on("4.19", kCma), "longterm-pin", mlock_mirrored, spared);
  check(on("5.4", kCma), "longterm-pin", mlock_shared, faults);
  check(on("5.4", kCma), "longterm-pin", mlock_private, stale);
  check(on("5.4", kCma), "longterm-pin", mlock_mirrored, faults);
}

TEST_CASE("matrix: before 5.1 a driver's claim takes pages that were pinned in the CMA area, between two transfers") {
  // A claim comes between two transfers where they are few and long.
  const Settings large = kCma + Settings{{"workload.size", "2 MiB"},
                                         {"workload.iterations", 12},
                                         {"inject.after", "1 ms"},
                                         {"inject.period", "200 us"},
                                         {"inject.count", 75}};
  for (const Settings& base : {large, at_source(large)}) {
    check(on("4.19", base), "cma-alloc", pin_mirrored, raced);
    check(on("5.4", base), "cma-alloc", pin_mirrored, spared);
  }
}

TEST_CASE("matrix: before 5.10 NUMA hints do not look at pins") {
  for (const Settings& base : {kSmall, at_source(kSmall)}) {  // change_pte_range
    check(on("5.4", base), "numa-hint", pin_shared, faults);
    check(on("5.4", base), "numa-hint", pin_mirrored, faults);
    check(on("5.10", base), "numa-hint", pin_shared, spared);
    check(on("5.10", base), "numa-hint", pin_mirrored, undone);
  }
}

TEST_CASE("matrix: clear_refs ages locked pages, too, but since 4.14 a device's TLB keeps what it has") {
  check_row(on("4.9", kSmall), "clear-refs", {faults, faults, unseen, unseen, unseen, unseen, unseen});
  check_row(on("4.14", kSmall), "clear-refs", {unseen, unseen});
  check(on("4.9", at_source(kSmall)), "clear-refs", mlock_shared, faults);
  // There the program's own stores have the TLB forget what they make young, before 5.10 its loads as well
  // (ptep_set_access_flags), and the device's next walk may find the page old again.
  check(on("4.14", at_source(kSmall)), "clear-refs", mlock_shared, faults);
  check(on("5.10", at_source(kSmall)), "clear-refs", mlock_shared, faults);
}

TEST_CASE("matrix: kernels before 5.9 protect pinned pages at a fork as well", "[fork-copies-pinned]") {
  const Settings rare = kSmall + Settings{{"inject.count", 1}};  // copy_present_page
  check(on("5.4", rare), "fork", pin_shared, faults);
  check(on("5.10", rare), "fork", pin_shared, spared);
  const Settings forks = at_source(kSmall + Settings{{"inject.period", "100 us"}, {"inject.count", 20}});
  check(on("5.4", forks), "fork", registered, stale);
  check(on("5.10", forks), "fork", registered, unseen);
}

TEST_CASE(
    "matrix, source: from 5.9 to 5.18 a store to a write-protected page that is pinned takes the program elsewhere") {
  // do_wp_page copies what anybody refers to; before, what others map; since, what is not PageAnonExclusive.
  const Settings base = at_source(kSmall);
  check(on("5.4", base), "write-protect", registered, unseen);
  check(on("5.10", base), "write-protect", registered, stale);
  check(on("5.15", base), "write-protect", registered, stale);
  check(on("6.1", base), "write-protect", registered, unseen);
  // Pinned anew for each transfer, after the program's store.
  check(on("5.10", base), "write-protect", pin_private, unseen);
}

TEST_CASE("matrix: before 5.18 locked memory cannot be dropped") {
  for (const Settings& base : {kSmall, at_source(kSmall)}) {  // madvise_dontneed_free_valid_vma
    check(on("5.15", base), "dont-need", mlock_shared, spared);
    check(on("5.15", base), "dont-need", mlock_private, spared);
    check(on("5.15", base), "dont-need", mlock_mirrored, spared);
    check(on("5.15", base), "dont-need", pin_shared, dropped);
    check(on("6.1", base), "dont-need", mlock_shared, lost);
    check(on("6.1", base), "dont-need", mlock_private, stale);
    check(on("6.1", base), "dont-need", mlock_mirrored, lost);
  }
}

TEST_CASE("matrix: before 6.10 arm64 has no write protection by userfaultfd", "[userfault-protection]") {
  check(on("6.6", kSmall), "userfault-wp", mlock_shared, absent);
  check(on("6.12", kSmall), "userfault-wp", mlock_shared, faults);
  check(on("6.6", at_source(kSmall)), "userfault-wp", mlock_shared, absent);
  check(on("6.12", at_source(kSmall)), "userfault-wp", mlock_shared, unseen);
}

TEST_CASE("matrix: before 6.9 MADV_PAGEOUT ages pinned pages, and before 5.4 reclaim unmaps them") {
  for (const char* kernel : {"4.9", "6.6"}) {  // try_to_unmap_one; madvise_cold_or_pageout_pte_range
    INFO(kernel);
    for (const Settings& base : {kSwap, at_source(kSwap)}) {
      check(on(kernel, base), "reclaim", pin_shared, undone);
      check(on(kernel, base), "reclaim", mlock_shared, spared);
      check(on(kernel, base), "reclaim", pin_private, spared);
    }
  }
  // Before 5.10 a mirror loses a pinned page, too.
  check(on("5.4", kSwap), "reclaim", pin_mirrored, undone);
  check(on("5.10", kSwap), "reclaim", pin_mirrored, raced);
}

TEST_CASE("matrix: a child that lives moves the program away from frames that its device has") {
  // copy_present_page: the child's copy of a pinned page, since 5.9. A driver that trusts mlock has nobody to do that.
  const Settings lives =
      kSmall + Settings{{"inject.count", 3}, {"inject.period", "500 us"}, {"inject.child_life", "300 us"}};
  for (const Settings& base : {lives, at_source(lives)}) {
    for (const char* kernel : {"4.9", "5.4", "5.10", "6.12"}) {
      INFO("Linux " << kernel);
      const auto wrong = [&](Way w) {
        INFO(kWays[w]);
        const Met met = meet(on(kernel, base), "fork-child-lives", w);
        CHECK(met.injections > 0);
        CHECK((met.stale > 0) == (met.wrong > 0));
        return met.wrong > 0;
      };
      const bool old = std::string(kernel) == "4.9" || std::string(kernel) == "5.4";
      CHECK(wrong(registered) == old);
      CHECK(wrong(mlock_private));
      for (const Way w : {pin_private, mlock_shared, pin_shared, mlock_mirrored, pin_mirrored}) CHECK_FALSE(wrong(w));
    }
  }
}
