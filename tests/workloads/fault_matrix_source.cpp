// SPDX-License-Identifier: Apache-2.0
// What a device meets at a buffer that it reads, and to which the program stores before each transfer:
// configs/experiments/fault-matrix-source.toml in small, every cell.
#include "tests/workloads/fault_matrix.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace faultline::test::matrix;
using enum faultline::test::matrix::Verdict;

TEST_CASE("matrix, source: what moves pages faults reads as it faults writes") {
  check_row(at_source(kSmall), "compaction", {faults, raced, stale, spared, faults, raced, spared});
  check_row(at_source(kSmall), "move-pages", {faults, undone, stale, spared, faults, undone, spared});
  check_row(at_source(kSmall), "ksm", {faults, undone, stale, spared, faults, undone, spared});
}

TEST_CASE("matrix, source: NUMA hints fault reads, too") {
  check_row(at_source(kSmall), "numa-hint", {faults, spared, unseen, spared, faults, undone, spared});
}

TEST_CASE("matrix, source: the CMA area is left by pins and drivers as it is at the other end") {
  // All pages move together, once (migrate_pages_batch). Between two transfers nobody notices but a mirror.
  check_row(at_source(kCmaLong), "longterm-pin", {once, spared, stale, spared, caught, spared, spared});
  check_row(at_source(kCmaLong), "cma-alloc", {faults, spared, stale, spared, caught, spared, spared});
}

TEST_CASE("matrix, source: khugepaged's window faults reads") {
  check_row(at_source(kHuge), "collapse", {faults, spared, stale, spared, faults, raced, spared});
}

TEST_CASE("matrix, source: a split of a huge page goes through an invalid descriptor for reads, too") {
  check_row(at_source(kHuge + Settings{{"inject.after", "1 ms"}}), "thp-split",
            {faults, faults, unseen, unseen, faults, faults, unseen});
}

TEST_CASE("matrix, source: memory that is dropped is gone for shared tables, but not for one of the device's own") {
  // What a transfer's own pin has taken is what the program stored, unless that was dropped between the store and the
  // pin.
  check_row(at_source(kSmall), "truncate", {lost, dropped, stale, kept, lost, dropped, stale});
  check_row(at_source(kSmall), "dont-need", {lost, dropped, stale, kept, lost, dropped, stale});
}

TEST_CASE("matrix, source: access flags matter to a device that reads as to one that writes") {
  check_row(at_source(kSmall), "ageing", {spared, faults, spared, unseen, spared, unseen, unseen});
  check_row(at_source(kFewEntries), "clear-refs", {faults, faults, unseen, unseen, unseen, unseen, unseen});
  check_row(at_source(kFewEntries), "idle-tracking", {faults, faults, unseen, unseen, unseen, unseen, unseen});
}

TEST_CASE("matrix, source: a device that reads does not mind who may write, but a mirror is emptied all the same") {
  check_row(at_source(kSmall), "write-protect", {unseen, unseen, unseen, unseen, faults, faults, unseen});
  check_row(at_source(kSmall), "userfault-wp", {unseen, unseen, unseen, unseen, faults, faults, unseen});
}

TEST_CASE("matrix, source: a fork is nothing to a device that reads, but the program's next store moves it away") {
  // wp_page_copy while the child has not gone: a driver that trusts mlock reads the old frame on.
  const Settings forks = at_source(kSmall + Settings{{"inject.period", "100 us"}, {"inject.count", 20}});
  check_row(forks, "fork", {unseen, unseen, stale, unseen, faults, faults, unseen});
}

TEST_CASE("matrix, source: reclaim leaves locked and pinned pages alone") {
  check_row(at_source(kSwap), "reclaim", {spared, spared, spared, spared, spared, raced, spared});
}

TEST_CASE("matrix, source: a lock on fault leaves nothing for the device to read, until the program stores") {
  const Settings once = at_source(kSmall + Settings{{"inject.count", 1}});
  check(once, "lock-on-fault", mlock_shared, lost);
  check(once, "lock-on-fault", mlock_mirrored, lost);
  CHECK(meet(once, "lock-on-fault", mlock_private).stale > 0);
}

TEST_CASE("matrix, source: the program's stores bring what was never there") {
  check_row(at_source(kSmall), "zero-page", {spared, spared, spared, spared, spared, spared, spared});
}
