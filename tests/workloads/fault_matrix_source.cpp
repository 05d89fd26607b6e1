// SPDX-License-Identifier: Apache-2.0
// What a device meets at a buffer that it reads, and to which the program stores before each transfer:
// configs/experiments/fault-matrix-source.toml in small, every cell.
#include "tests/workloads/fault_matrix.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace faultline::test::matrix;
using enum faultline::test::matrix::Verdict;

TEST_CASE("matrix, source: what moves pages faults reads as it faults writes") {
  check_row(at_source(kSmall), "compaction", {faults, raced, stale, none, faults, raced, none});
  check_row(at_source(kSmall), "move-pages", {faults, undone, stale, none, faults, undone, none});
  check_row(at_source(kSmall), "ksm", {faults, undone, stale, none, faults, undone, none});
}

TEST_CASE("matrix, source: NUMA hints fault reads, too") {
  check_row(at_source(kSmall), "numa-hint", {faults, none, none, none, faults, undone, none});
}

TEST_CASE("matrix, source: the CMA area is left by pins and drivers as it is at the other end") {
  check_row(at_source(kCmaLong), "longterm-pin", {faults, none, stale, none, faults, none, none});
  check_row(at_source(kCmaLong), "cma-alloc", {faults, none, stale, none, faults, none, none});
}

TEST_CASE("matrix, source: khugepaged's window faults reads") {
  check_row(at_source(kHuge), "collapse", {faults, raced, stale, none, faults, raced, none});
}

TEST_CASE("matrix, source: a split of a huge page goes through an invalid descriptor for reads, too") {
  check_row(at_source(kHuge + Settings{{"inject.after", "1 ms"}}), "thp-split",
            {faults, faults, none, none, faults, faults, none});
}

TEST_CASE("matrix, source: memory that is dropped is gone for shared tables, but not for one of the device's own") {
  // What a transfer's own pin has taken is what the program stored, unless that was dropped between the store and the
  // pin.
  check_row(at_source(kSmall), "truncate", {lost, dropped, stale, kept, lost, dropped, stale});
  check_row(at_source(kSmall), "dont-need", {lost, dropped, stale, kept, lost, dropped, stale});
}

TEST_CASE("matrix, source: access flags matter to a device that reads as to one that writes") {
  check_row(at_source(kSmall), "ageing", {none, faults, none, none, none, none, none});
  check_row(at_source(kFewEntries), "clear-refs", {faults, faults, none, none, none, none, none});
  check_row(at_source(kFewEntries), "idle-tracking", {faults, faults, none, none, none, none, none});
}

TEST_CASE("matrix, source: a device that reads does not mind who may write, but a mirror is emptied all the same") {
  check_row(at_source(kSmall), "write-protect", {none, none, none, none, faults, faults, none});
  check_row(at_source(kSmall), "userfault-wp", {none, none, none, none, faults, faults, none});
}

TEST_CASE("matrix, source: a fork is nothing to a device that reads, but the program's next store moves it away") {
  // wp_page_copy while the child has not gone: a driver that trusts mlock reads the old frame on.
  const Settings forks = at_source(kSmall + Settings{{"inject.period", "100 us"}, {"inject.count", 20}});
  check_row(forks, "fork", {none, none, stale, none, faults, faults, none});
}

TEST_CASE("matrix, source: reclaim leaves locked and pinned pages alone") {
  check_row(at_source(kSwap), "reclaim", {none, raced, none, none, none, raced, none});
}

TEST_CASE("matrix, source: a lock on fault leaves nothing for the device to read, until the program stores") {
  const Settings once = at_source(kSmall + Settings{{"inject.count", 1}});
  CHECK(meet(once, "lock-on-fault", mlock_shared).faults);
  CHECK(meet(once, "lock-on-fault", mlock_mirrored).faults);
  CHECK(meet(once, "lock-on-fault", mlock_private).stale);
}

TEST_CASE("matrix, source: the program's stores bring what was never there") {
  check_row(at_source(kSmall), "zero-page", {none, none, none, none, none, none, none});
}
