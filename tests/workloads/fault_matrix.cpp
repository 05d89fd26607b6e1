// SPDX-License-Identifier: Apache-2.0
// Which mechanism of the kernel a device meets, for locked and pinned memory and each of the three ways in which it can
// see memory: configs/experiments/fault-matrix.toml in small, every cell with its reason. Linux's word for each is in
// docs/fault-matrix.md.
#include <vector>

#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

enum Way : std::size_t { mlock_shared, pin_shared, mlock_private, pin_private, mlock_mirrored, pin_mirrored };
constexpr const char* kWays[] = {"mlock, shared", "pin, shared",     "mlock, private",
                                 "pin, private",  "mlock, mirrored", "pin, mirrored"};

Settings way(Way w) {
  const bool pins = w % 2 == 1;
  const char* tables[] = {"shared", "private", "mirrored"};
  return {{"strategy.prepare", pins ? "pin-per-transfer" : "mlock"}, {"strategy.translate", tables[w / 2]}};
}

// Small buffers, so that much happens in little time.
const Settings kSmall = {{"workload.size", "64 KiB"},    {"workload.iterations", 25}, {"workload.warmup", 1},
                         {"workload.checks", "count"},   {"inject.period", "40 us"},  {"inject.count", 60},
                         {"os.rlimit_memlock", "64 MiB"}};
const Settings kHuge = kSmall + Settings{{"workload.size", "2 MiB"},
                                         {"workload.iterations", 3},
                                         {"inject.period", "300 us"},
                                         {"inject.count", 20},
                                         {"os.thp", "madvise"}};

const Settings kFile = kSmall + Settings{{"workload.memory", "shared-file"}};

struct Met {
  bool applies = false;
  bool faults = false;   // of the device
  bool changed = false;  // pages, for good, while a transfer was under way
  bool stale = false;
};

Met meet(const Settings& base, const char* mechanism, Way w) {
  Met met;
  for (const int draw : {1, 2}) {
    const Point p = run(base + way(w) + Settings{{"inject.mechanism", mechanism}, {"inject.draw", draw}});
    INFO(p.error);
    REQUIRE(p.error.empty());
    met.applies = met.applies || p.count("injections") > 0;
    met.faults = met.faults || p.count("faults") > 0;
    met.changed = met.changed || p.count("injected_pages") > 0;
    met.stale = met.stale || p.count("stale_accesses") > 0;
  }
  return met;
}

enum Verdict { faults, undone, none, stale };

// `undone`: the device faults, and no page was taken from under it.
void check_row(const Settings& base, const char* mechanism, const std::vector<Verdict>& expected) {
  for (std::size_t w = 0; w < expected.size(); ++w) {
    INFO(mechanism << ": " << kWays[w]);
    const Met met = meet(base, mechanism, static_cast<Way>(w));
    CHECK(met.applies);
    CHECK(met.faults == (expected[w] == faults || expected[w] == undone));
    if (met.faults) CHECK(met.changed == (expected[w] == faults));
    CHECK(met.stale == (expected[w] == stale));
  }
}

}  // namespace

TEST_CASE("matrix: khugepaged collapses locked pages, clears their descriptor meanwhile, and leaves pinned ones") {
  for (const Way w : {mlock_shared, mlock_private, mlock_mirrored}) {
    INFO(kWays[w]);
    const Met met = meet(kHuge, "collapse", w);
    CHECK(met.changed);
    CHECK(met.faults == (w != mlock_private));  // whose frames are freed under the device instead
    CHECK(met.stale == (w == mlock_private));
  }
  // By race, when the pin comes between the scan and the cleared descriptor: tests/os/khugepaged.cpp.
  for (const Way w : {pin_shared, pin_private, pin_mirrored}) {
    INFO(kWays[w]);
    const Met met = meet(kHuge, "collapse", w);
    CHECK((!met.faults || !met.changed));
    CHECK_FALSE(met.stale);
  }
}

TEST_CASE("matrix: compaction moves locked pages, and looks for pins before it unmaps") {
  // A pin that comes between the look and the unmapping is found when the page is unmapped.
  check_row(kSmall, "compaction", {faults, undone, stale, none, faults});
  // The mirror is told between the look and the unmapping, and a pin may come meanwhile.
  const Met raced = meet(kSmall, "compaction", pin_mirrored);
  CHECK((!raced.faults || !raced.changed));
}

TEST_CASE("matrix: a long-term pin moves pages out of the CMA area, once, under whoever uses them") {
  const Settings cma = kSmall + Settings{{"os.cma_bytes", "256 MiB"}};
  // The strategy's own pin has moved them before anybody used them.
  check_row(cma, "longterm-pin", {faults, none, stale, none, faults, none});
  check_row(cma, "cma-alloc", {faults, none, stale, none, faults, none});
  const Point once = run(cma + way(mlock_shared) + Settings{{"inject.mechanism", "longterm-pin"}});
  CHECK(once.count("injected_pages") <= 16);
}

TEST_CASE("matrix: compaction of all memory finds nothing to gain where memory is free in large pieces") {
  const Point p = run(kSmall + way(mlock_shared) + Settings{{"inject.mechanism", "compact-memory"}});
  REQUIRE(p.error.empty());
  CHECK(p.count("injections") > 0);
  CHECK(p.count("faults") == 0);
}

TEST_CASE("matrix: move_pages unmaps whatever it finds, and maps pinned pages again") {
  check_row(kSmall, "move-pages", {faults, undone, stale, none, faults, undone});
}

TEST_CASE("matrix: NUMA hints are not for pinned pages, but mirrors are told before anybody looks") {
  check_row(kSmall, "numa-hint", {faults, none, none, none, faults, undone});
}

TEST_CASE("matrix: KSM clears the descriptor before it sees the pin, and merges what is locked") {
  check_row(kSmall, "ksm", {faults, undone, stale, none, faults, undone});
}

TEST_CASE("matrix: reclaim ages pinned pages, but no locked ones, in the one table that the kernel ages") {
  check_row(kSmall, "ageing", {none, faults, none, none, none, none});
}

TEST_CASE("matrix: clear_refs ages locked pages, too, but since 4.14 a device's TLB keeps what it has") {
  check_row(kSmall + Settings{{"os.kernel", "4.9"}}, "clear-refs", {faults, faults});
  check_row(kSmall + Settings{{"os.kernel", "4.14"}}, "clear-refs", {none, none});
}

TEST_CASE("matrix: idle tracking is met where a device's TLB has lost the page") {
  check_row(kSmall, "idle-tracking", {none, none, none, none, none, none});
  check_row(kSmall + Settings{{"smmu.micro_tlb_entries", 4}, {"smmu.macro_tlb_entries", 4}}, "idle-tracking",
            {faults, faults, none, none, none, none});
}

TEST_CASE("matrix: write protection does not look at pins") {
  check_row(kSmall, "write-protect", {faults, faults, none, none, faults, faults});
}

TEST_CASE("matrix: userfaultfd protects whatever it is asked to") {
  const Settings newest = kSmall + Settings{{"os.kernel", "6.12"}};
  check_row(newest, "userfault-wp", {faults, faults, none, none, faults, faults});
  CHECK_FALSE(meet(kSmall, "userfault-wp", mlock_shared).applies);
}

TEST_CASE("matrix: reclaim leaves locked pages alone, and looks for pins before it unmaps") {
  const Settings swap = kSmall + Settings{{"os.swap_bytes", "1 GiB"}, {"os.kernel", "6.12"}};
  check_row(swap, "reclaim", {none});
  for (const Way w : {mlock_private, pin_private, mlock_mirrored}) {
    INFO(kWays[w]);
    CHECK_FALSE(meet(swap, "reclaim", w).faults);
  }
  // Between transfers the pages are nobody's, and go; a pin that comes while they do keeps the frame, unmapped.
  for (const Way w : {pin_shared, pin_mirrored}) {
    INFO(kWays[w]);
    const Met raced = meet(swap, "reclaim", w);
    CHECK((!raced.faults || !raced.changed));
    CHECK_FALSE(raced.stale);
  }
}

TEST_CASE("matrix: before 6.9 MADV_PAGEOUT ages pinned pages, and before 5.4 reclaim unmaps them") {
  const Settings swap = kSmall + Settings{{"os.swap_bytes", "1 GiB"}};
  for (const char* kernel : {"6.1", "4.9"}) {
    INFO(kernel);
    CHECK(meet(swap + Settings{{"os.kernel", kernel}}, "reclaim", pin_shared).faults);
    CHECK_FALSE(meet(swap + Settings{{"os.kernel", kernel}}, "reclaim", mlock_shared).faults);
    CHECK_FALSE(meet(swap + Settings{{"os.kernel", kernel}}, "reclaim", pin_private).faults);
  }
}

TEST_CASE("matrix: memory that is neither locked nor pinned goes to the swap device, and the device faults on it") {
  for (const char* table : {"shared", "mirrored"}) {
    INFO(table);
    const Point p = run(kSmall + Settings{{"os.swap_bytes", "1 GiB"},
                                          {"strategy.translate", table},
                                          {"inject.mechanism", "reclaim"},
                                          {"inject.period", "1 ms"}});
    REQUIRE(p.error.empty());
    CHECK(p.count("faults") > 0);
    CHECK(p.count("major_faults") > 0);
    CHECK(p.count("stale_accesses") == 0);
    CHECK(p.count("data_errors") == 0);
  }
}

TEST_CASE("matrix: fork protects locked pages and copies pinned ones for the child") {
  // So long that the change falls into a transfer.
  const Settings rare =
      kSmall + Settings{{"inject.count", 1}, {"inject.period", "200 us"}, {"os.fork_fixed", "650 us"}};
  check_row(rare, "fork", {faults, none, none, none, faults, faults});
}

TEST_CASE("matrix: kernels before 5.9 protect pinned pages at a fork as well") {
  const Settings rare = kSmall + Settings{{"inject.count", 1}, {"os.kernel", "5.4"}};
  const Met met = meet(rare, "fork", pin_shared);
  CHECK(met.faults);
}

TEST_CASE("matrix: a split of a huge page goes through an invalid descriptor, whoever holds the page") {
  // In the midst of a transfer: there is one huge page to split, once.
  check_row(kHuge + Settings{{"inject.after", "1 ms"}}, "thp-split", {faults, faults, none, none, faults, faults});
}

TEST_CASE("matrix: memory that is gone is gone for locked and pinned pages alike, but not for a table of its own") {
  check_row(kSmall, "truncate", {faults, faults, stale, stale, faults, faults});
  check_row(kSmall, "dont-need", {faults, faults, stale, stale, faults, faults});
}

TEST_CASE("matrix: a lock on fault leaves the pages absent, and a pin has no such kind") {
  const Settings once = kSmall + Settings{{"inject.count", 1}};
  CHECK(meet(once, "lock-on-fault", mlock_shared).faults);
  CHECK(meet(once, "lock-on-fault", mlock_mirrored).faults);
  CHECK(meet(once, "lock-on-fault", mlock_private).stale);
  CHECK_FALSE(meet(once, "lock-on-fault", pin_shared).applies);
}

TEST_CASE("matrix: locks and pins are taken for writing, so that no zero page is left") {
  check_row(kSmall, "zero-page", {none, none, none, none, none, none});
}

TEST_CASE("matrix: a mapped file's pages are unmapped before reclaim finds a pin, and locked ones are left alone") {
  check_row(kFile, "reclaim", {none, faults, none, none, none, faults});
}

TEST_CASE("matrix: write-back takes the right to write from a mapped file's pages, whoever holds them") {
  check_row(kFile, "write-protect", {faults, faults, none, none, faults, faults});
}

TEST_CASE("matrix: a hole in a file takes the pages from every mapping, but not from a table of its own") {
  check_row(kFile, "truncate", {faults, faults, stale, stale, faults, faults});
}

TEST_CASE("matrix: with small pages only, nothing that faults on locked memory is left to chance but what moves it") {
  // THP never, no compaction of unevictable pages: what remains are the program's own doings.
  const Settings quiet = kSmall + Settings{{"os.compact_unevictable_allowed", false}};
  CHECK_FALSE(meet(quiet, "compaction", mlock_shared).faults);
  CHECK_FALSE(meet(quiet, "compaction", mlock_private).stale);
}

TEST_CASE("an invalidation that is forgotten, or comes too late, shows as stale accesses and wrong data") {
  const Settings moved = kSmall + way(mlock_shared) + Settings{{"inject.mechanism", "compaction"}};
  const Point right = run(moved);
  CHECK(right.count("stale_accesses") == 0);
  CHECK(right.count("data_errors") == 0);
  const Point forgotten = run(moved + Settings{{"kernel.tlb_maintenance", "none"}});
  CHECK(forgotten.count("stale_accesses") > 0);
  CHECK(forgotten.count("data_errors") > 0);
  const Point late = run(moved + Settings{{"kernel.tlb_maintenance_delay", "50 us"}});
  CHECK(late.count("stale_accesses") > 0);
  CHECK(late.count("stale_accesses") < forgotten.count("stale_accesses"));
}

// The same at the source: the device reads, and the program stores to its buffer before each transfer.
namespace {

Settings at_source(const Settings& base) { return base + Settings{{"inject.end", "source"}}; }

}  // namespace

TEST_CASE("matrix, source: what unmaps pages faults reads as it faults writes") {
  // migrate_pages; alloc_contig_range; ksm's write_protect_page; change_prot_numa; unmap_mapping_range; zap_page_range
  check_row(at_source(kSmall), "compaction", {faults, undone, stale, none, faults});
  check_row(at_source(kSmall), "move-pages", {faults, undone, stale, none, faults, undone});
  check_row(at_source(kSmall), "numa-hint", {faults, none, none, none, faults, undone});
  check_row(at_source(kSmall), "ksm", {faults, undone, stale, none, faults, undone});
  check_row(at_source(kSmall), "truncate", {faults, faults, stale, stale, faults, faults});
  check_row(at_source(kSmall), "dont-need", {faults, faults, stale, stale, faults, faults});
}

TEST_CASE("matrix, source: a split of a huge page goes through an invalid descriptor for reads, too") {
  check_row(at_source(kHuge + Settings{{"inject.after", "1 ms"}}), "thp-split",
            {faults, faults, none, none, faults, faults});
}

TEST_CASE("matrix, source: a device that reads does not mind who may write, but a mirror is emptied all the same") {
  check_row(at_source(kSmall), "write-protect", {none, none, none, none, faults, faults});
  const Settings protects = {{"os.kernel", "6.12"}};  // which arm64 has it
  check_row(at_source(kSmall) + protects, "userfault-wp", {none, none, none, none, faults, faults});
}

TEST_CASE("matrix, source: the program's stores bring what was never there") {
  check_row(at_source(kSmall), "zero-page", {none, none, none, none, none, none});
}

TEST_CASE("matrix: a child that lives moves the program away from frames that its device has") {
  // copy_present_page: the child's copy of a pinned page, since 5.9. A driver that trusts mlock has nobody to do that.
  const Settings lives =
      kSmall + Settings{{"inject.count", 3}, {"inject.period", "500 us"}, {"inject.child_life", "300 us"}};
  const Settings registered = {{"strategy.prepare", "pin-once"}, {"strategy.translate", "private"}};
  for (const char* end : {"source", "destination"}) {
    for (const char* kernel : {"4.9", "5.10", "6.1", "6.12"}) {
      INFO(end << ", Linux " << kernel);
      const Settings here = lives + Settings{{"inject.end", end}, {"os.kernel", kernel}};
      const auto wrong = [&](const Settings& how) {
        const Point p = run(here + how + Settings{{"inject.mechanism", "fork-child-lives"}});
        REQUIRE(p.error.empty());
        CHECK(p.count("injections") > 0);
        return p.count("data_errors") > 0;
      };
      CHECK(wrong(registered) == (std::string(kernel) == "4.9"));
      CHECK(wrong(way(mlock_private)));
      CHECK_FALSE(wrong(way(pin_private)));
      for (const Way w : {mlock_shared, pin_shared, mlock_mirrored, pin_mirrored}) {
        INFO(kWays[w]);
        CHECK_FALSE(wrong(way(w)));
      }
    }
  }
}
