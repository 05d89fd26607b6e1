// SPDX-License-Identifier: Apache-2.0
// RDMA that reaches memory which is no longer the process's: configs/experiments/corruption.toml in small. Whose memory
// is read and overwritten, that all of it is accounted for, and that correct strategies show none of it.
#include <catch2/catch.hpp>

#include <string>

#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::int64_t kCellBytes = 256;

// Nodes that are short of memory, so that a frame which is given up is soon somebody else's.
const Settings kShortOfMemory = {
    {"os.kernel", "6.12"},          {"os.user_memory", "8 MiB"},     {"os.swap_bytes", "64 MiB"},
    {"os.rlimit_memlock", "4 MiB"}, {"workload.size", "32 KiB"},     {"workload.iterations", 10},
    {"workload.warmup", 1},         {"workload.checks", "count"},    {"background.processes", 2},
    {"background.memory", "5 MiB"}, {"background.pause", "5 us"},    {"inject.period", "200 us"},
    {"inject.count", 40},           {"workload.think_time", "50 us"}};
const Settings kUnheld = {{"strategy.registration", "populate"}, {"strategy.translate", "private"}};

Settings injected(const char* mechanism, const char* end) {
  return kShortOfMemory + Settings{{"inject.mechanism", mechanism}, {"inject.end", end}};
}
const Settings kRemapped =
    kShortOfMemory +
    Settings{{"workload.kind", "reuse"}, {"reuse.again", 0.5}, {"reuse.buffers", 4}, {"workload.think_time", "0 ns"}};

// What the simulator knows of stale accesses adds up, for all processes together and for each.
Point accounted(const Settings& settings, std::uint64_t seed = 1) {
  INFO(to_string(settings));
  Point point = run(settings, seed);
  REQUIRE(point.error == "");
  const std::int64_t leaked = point.count("leaked_read") + point.count("leaked_written");
  CHECK(leaked + point.count("stale_astray") == kCellBytes * point.count("stale_accesses"));
  CHECK((leaked > 0) == (point.count("leak_victims") > 0));
  std::int64_t by_process = 0;
  std::int64_t victims = 0;
  for (const auto& [part, metrics] : point.parts) {
    if (!metrics.contains("leaked_read")) continue;
    ++victims;
    const double own = metrics.at("leaked_read") + metrics.at("leaked_written");
    CHECK(own > 0);
    by_process += std::llround(own);
  }
  CHECK(victims == point.count("leak_victims"));
  CHECK(by_process >= leaked);  // a frame that several processes share counts for each
  return point;
}

void check_clean(const Settings& settings) {
  const Point point = accounted(settings);
  INFO(to_string(settings));
  CHECK(point.count("transfers_failed") == 0);
  CHECK(point.count("data_errors") == 0);
  CHECK(point.count("stale_accesses") == 0);
  CHECK(point.count("leaked_read") == 0);
  CHECK(point.count("leaked_written") == 0);
  CHECK(point.count("leak_victims") == 0);
  CHECK(point.count("stale_astray") == 0);
}

}  // namespace

TEST_CASE("corruption: a table of frames that nothing holds reads and writes the memory of other processes") {
  for (const char* mechanism : {"reclaim", "move-pages"}) {
    const Point to = accounted(kUnheld + injected(mechanism, "destination"));
    INFO(mechanism);
    CHECK(to.count("leaked_written") > 0);
    CHECK(to.count("data_errors") > 0);
    const Point from = accounted(kUnheld + injected(mechanism, "source"));
    CHECK(from.count("leaked_read") > 0);
    CHECK(from.count("data_errors") > 0);
    for (const Point* each : {&to, &from}) {
      // Nothing on the machine tells: no fault, no transfer that fails.
      CHECK(each->count("faults") == 0);
      CHECK(each->count("transfers_failed") == 0);
    }
  }
}

TEST_CASE("corruption: mlock does not keep frames from moving, and what they move from is given away") {
  const Point moved = accounted(preset("mlock-private") + injected("move-pages", "destination"));
  CHECK(moved.count("leaked_written") > 0);
  CHECK(moved.count("faults") == 0);
  check_clean(preset("mlock-private") + injected("reclaim", "destination"));
}

TEST_CASE("corruption: after a fork the program has the copy, and the device goes on with what is its child's") {
  for (const Settings& strategy : {kUnheld, preset("mlock-private")}) {
    const Point to = accounted(strategy + injected("fork-child-lives", "destination"));
    CHECK(to.count("leaked_written") > 0);
    CHECK(to.count("data_errors") > 0);
    const Point from = accounted(strategy + injected("fork-child-lives", "source"));
    CHECK(from.count("leaked_read") > 0);
    CHECK(from.count("data_errors") > 0);
  }
  // Before 5.9 a child shares pages that are pinned.
  const Settings old{{"os.kernel", "4.9"}};
  CHECK(accounted(preset("register") + injected("fork-child-lives", "destination") + old).count("leaked_written") > 0);
}

TEST_CASE("corruption: a cache of pins that misses an unmapping sends wrong data, and leaks nobody else's") {
  const Settings untold{{"strategy.pin_cache.emptied_by", "nothing"}};
  const Settings missed{{"strategy.pin_cache.emptied_by", "hooks"}, {"strategy.pin_cache.hook_coverage", 0.5}};
  for (const Settings& told : {untold, missed}) {
    const Point point = accounted(preset("pin-cache-private") + kRemapped + told);
    CHECK(point.count("data_errors") > 0);
    CHECK(point.count("stale_accesses") > 0);
    CHECK(point.count("faults") == 0);
    // The pins keep the frames.
    CHECK(point.count("leaked_read") == 0);
    CHECK(point.count("leaked_written") == 0);
  }
}

TEST_CASE("corruption: correct strategies show nothing of it") {
  for (const char* strategy : {"pin-cache-private", "pin-private", "register", "fault/touch-ahead", "fault/mirrored",
                               "fault/fixup-stall-256", "nic-mmu/pushed", "nic-mmu/on-demand"}) {
    for (const char* end : {"destination", "source"}) {
      for (const char* mechanism : {"reclaim", "move-pages", "fork-child-lives"}) {
        check_clean(preset(strategy) + injected(mechanism, end));
      }
    }
    check_clean(preset(strategy) + kRemapped);
  }
}

TEST_CASE("corruption: whose memory it is does not depend on the length of trains") {
  const Settings leaks = kUnheld + injected("reclaim", "destination") + Settings{{"workload.iterations", 4}};
  const Point trains = accounted(leaks);
  const Point cells = accounted(leaks + Settings{{"simulation.cells_per_train", 1}});
  CHECK(trains.count("leaked_written") > 0);
  for (const char* metric : {"leaked_read", "leaked_written", "leak_victims", "stale_astray", "stale_accesses"}) {
    CHECK(trains.count(metric) == cells.count(metric));
  }
}
