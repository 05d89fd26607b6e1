// SPDX-License-Identifier: Apache-2.0
// The experiments fault-matrix* in small: what a device meets, by mechanism, for each way to hold a buffer.
#pragma once

#include <string>
#include <vector>

#include "tests/support/point.hpp"

namespace faultline::test::matrix {

enum Way : std::size_t {
  mlock_shared,
  pin_shared,
  mlock_private,
  pin_private,
  mlock_mirrored,
  pin_mirrored,
  registered,
};
constexpr const char* kWays[] = {"mlock, shared",   "pin, shared",   "mlock, private", "pin, private",
                                 "mlock, mirrored", "pin, mirrored", "registered"};

inline Settings way(Way w) {
  if (w == registered) return {{"strategy.prepare", "pin-once"}, {"strategy.translate", "private"}};
  const bool pins = w % 2 == 1;
  const char* tables[] = {"shared", "private", "mirrored"};
  return {{"strategy.prepare", pins ? "pin-per-transfer" : "mlock"}, {"strategy.translate", tables[w / 2]}};
}

// Small buffers, so that much happens in little time.
inline const Settings kSmall = {{"workload.size", "64 KiB"},     {"workload.iterations", 25}, {"workload.warmup", 1},
                                {"workload.checks", "count"},    {"inject.period", "40 us"},  {"inject.count", 60},
                                {"os.rlimit_memlock", "64 MiB"}, {"os.kernel", "6.12"}};
inline const Settings kHuge = kSmall + Settings{{"workload.size", "2 MiB"},
                                                {"workload.iterations", 3},
                                                {"inject.period", "300 us"},
                                                {"inject.count", 20},
                                                {"os.thp", "madvise"}};
// The newest kernel that pins pages of mapped files for writing.
inline const Settings kFile = kSmall + Settings{{"workload.memory", "shared-file"}, {"os.kernel", "6.1"}};
inline const Settings kSwap = kSmall + Settings{{"os.swap_bytes", "1 GiB"}};
inline const Settings kCma = kSmall + Settings{{"os.cma_bytes", "256 MiB"}};
// At the source who empties the area first waits for the core that polls (lru_add_drain_all), for most of a time slice.
inline const Settings kCmaLong = kCma + Settings{{"workload.iterations", 100}};
// A TLB that does not hold the buffer, so that who clears flags without flushing is met.
inline const Settings kFewEntries = kSmall + Settings{{"smmu.micro_tlb_entries", 4}, {"smmu.macro_tlb_entries", 4}};

inline Settings at_source(const Settings& base) { return base + Settings{{"inject.end", "source"}}; }
inline Settings on(const char* kernel, const Settings& base) { return base + Settings{{"os.kernel", kernel}}; }

struct Met {
  bool applies = false;
  bool faults = false;   // of the device
  bool changed = false;  // pages, for good, while a transfer was under way
  bool stale = false;
  bool wrong = false;
};

inline Met meet(const Settings& base, const char* mechanism, Way w) {
  const Point p = run(base + way(w) + Settings{{"inject.mechanism", mechanism}});
  INFO(p.error);
  REQUIRE(p.error.empty());
  return {.applies = p.count("injections") > 0,
          .faults = p.count("faults") > 0,
          .changed = p.count("injected_pages") > 0,
          .stale = p.count("stale_accesses") > 0,
          .wrong = p.count("data_errors") > 0};
}

enum class Verdict {
  none,     // the device notices nothing
  faults,   // a page is taken from under it
  lost,     // the same, and what the program has dropped is wrong afterwards
  dropped,  // the same, and what it has dropped is wrong or not, by instants
  undone,   // it faults, and no page was changed for good
  raced,    // as none or as undone, by instants
  stale,    // it uses a frame that is not the program's any more, and data are wrong
  kept,     // the same, and data are wrong or not, by instants
};

inline void check(const Settings& base, const char* mechanism, Way w, Verdict expected) {
  using enum Verdict;
  INFO(mechanism << ": " << kWays[w]);
  const Met met = meet(base, mechanism, w);
  CHECK(met.applies);
  if (expected == raced) {
    CHECK((!met.faults || !met.changed));
  } else {
    CHECK(met.faults == (expected == faults || expected == lost || expected == dropped || expected == undone));
    if (met.faults) CHECK(met.changed == (expected != undone));
  }
  CHECK(met.stale == (expected == stale || expected == kept));
  if (expected != dropped && expected != kept) CHECK(met.wrong == (expected == stale || expected == lost));
}

// In the order of the ways; without the last ones where they say nothing new.
inline void check_row(const Settings& base, const char* mechanism, const std::vector<Verdict>& expected) {
  for (std::size_t w = 0; w < expected.size(); ++w) check(base, mechanism, static_cast<Way>(w), expected[w]);
}

}  // namespace faultline::test::matrix
