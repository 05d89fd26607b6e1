// SPDX-License-Identifier: Apache-2.0
// The experiments fault-matrix* in small: what a device meets, by mechanism, for each way to hold a buffer.
#pragma once

#include <cstdint>
#include <stdexcept>
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
  if (w == registered) return {{"strategy.registration", "pin-once"}, {"strategy.translate", "private"}};
  const bool pins = w % 2 == 1;
  const char* tables[] = {"shared", "private", "mirrored"};
  return {{"strategy.registration", pins ? "pin-per-transfer" : "mlock"}, {"strategy.translate", tables[w / 2]}};
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
// At the source a driver's claim first waits for a worker on the core that polls (lru_cache_disable), for most of a
// time slice. A long-term pin does so if one of its pages is still in a batch.
inline const Settings kCmaLong = kCma + Settings{{"workload.iterations", 100}};
// A TLB that does not hold the buffer, so that who clears flags without flushing is met.
inline const Settings kFewEntries = kSmall + Settings{{"smmu.micro_tlb_entries", 4}, {"smmu.macro_tlb_entries", 4}};

inline Settings at_source(const Settings& base) { return base + Settings{{"inject.end", "source"}}; }
inline Settings on(const char* kernel, const Settings& base) { return base + Settings{{"os.kernel", kernel}}; }

struct Met {
  std::int64_t injections;
  std::int64_t faults;   // of the device
  std::int64_t changed;  // pages, for good, while a transfer was under way
  std::int64_t stale;    // accesses by the device
  std::int64_t wrong;    // transfers
};

// `draw`: at which instants the injections come.
inline Met meet(const Settings& base, const char* mechanism, Way w, unsigned draw = 1) {
  const Point p = run(base + way(w) + Settings{{"inject.mechanism", mechanism}, {"inject.draw", draw}});
  INFO(p.error);
  REQUIRE(p.error.empty());
  const bool others = p.metrics.contains("other_data_errors");
  return {.injections = p.count("injections"),
          .faults = p.count("faults"),
          .changed = p.count("injected_pages"),
          .stale = p.count("stale_accesses"),
          .wrong = p.count("data_errors") + (others ? p.count("other_data_errors") : 0)};
}

// What happens in a cell. The mechanism comes in each but `absent`.
enum class Verdict {
  absent,   // the kernel, or this way to hold a buffer, has no such mechanism: it never comes
  spared,   // no page is changed under a transfer, and the device notices nothing
  unseen,   // pages are changed under a transfer, at some instants or at all, and the device notices nothing
  faults,   // pages are taken from under the device
  caught,   // pages are taken, under a transfer or between two, and the device faults
  once,     // pages are taken once, and the device faults if that is under a transfer, by instants
  lost,     // as faults, and what the program has dropped is wrong afterwards
  dropped,  // the same, and what it has dropped is wrong or not, by instants
  undone,   // the device faults, and no page was changed for good
  raced,    // as spared or as undone, by instants
  stale,    // the device uses frames that are not the program's any more, and data are wrong
  kept,     // the same, and data are wrong or not, by instants
};

// Whether something happens in a run. `at_times`: in some runs, of which one is among the first kDraws; `either`: that
// does not matter.
enum class Happens { never, always, at_times, either };
constexpr unsigned kDraws = 8;

struct Rule {
  Happens faults;
  Happens changed;
  Happens stale;
  Happens wrong;
};

inline Rule rule_of(Verdict verdict) {
  using enum Happens;
  switch (verdict) {
    case Verdict::absent:
    case Verdict::spared: return {.faults = never, .changed = never, .stale = never, .wrong = never};
    case Verdict::unseen: return {.faults = never, .changed = at_times, .stale = never, .wrong = never};
    case Verdict::faults: return {.faults = always, .changed = always, .stale = never, .wrong = never};
    case Verdict::caught: return {.faults = always, .changed = either, .stale = never, .wrong = never};
    case Verdict::once: return {.faults = at_times, .changed = at_times, .stale = never, .wrong = never};
    case Verdict::lost: return {.faults = always, .changed = always, .stale = never, .wrong = always};
    case Verdict::dropped: return {.faults = always, .changed = always, .stale = never, .wrong = at_times};
    case Verdict::undone: return {.faults = always, .changed = never, .stale = never, .wrong = never};
    case Verdict::raced: return {.faults = at_times, .changed = never, .stale = never, .wrong = never};
    // A page that was changed before the transfer does as well.
    case Verdict::stale: return {.faults = never, .changed = either, .stale = always, .wrong = always};
    case Verdict::kept: return {.faults = never, .changed = either, .stale = always, .wrong = at_times};
  }
  throw std::logic_error("no such verdict");
}

// One run, or where something happens at times as many as it takes to see it happen.
inline void check(const Settings& base, const char* mechanism, Way w, Verdict expected) {
  INFO(mechanism << ": " << kWays[w]);
  const Rule rule = rule_of(expected);
  bool seen = false;
  for (unsigned draw = 1; !seen && draw <= kDraws; ++draw) {
    const Met met = meet(base, mechanism, w, draw);
    INFO("draw " << draw << ": " << met.injections << " injections, " << met.faults << " faults, " << met.changed
                 << " pages changed, " << met.stale << " stale accesses, " << met.wrong << " transfers wrong");
    REQUIRE((met.injections > 0) == (expected != Verdict::absent));
    seen = true;
    const auto holds = [&seen](Happens happens, std::int64_t count) {
      if (happens == Happens::at_times) seen = count > 0;
      const bool open = happens == Happens::at_times || happens == Happens::either;
      return open || (count > 0) == (happens == Happens::always);
    };
    CHECK(holds(rule.faults, met.faults));
    CHECK(holds(rule.changed, met.changed));
    CHECK(holds(rule.stale, met.stale));
    CHECK(holds(rule.wrong, met.wrong));
  }
  CHECK(seen);
}

// In the order of the ways; without the last ones where they say nothing new.
inline void check_row(const Settings& base, const char* mechanism, const std::vector<Verdict>& expected) {
  for (std::size_t w = 0; w < expected.size(); ++w) check(base, mechanism, static_cast<Way>(w), expected[w]);
}

}  // namespace faultline::test::matrix
