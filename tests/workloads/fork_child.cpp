// SPDX-License-Identifier: Apache-2.0
// The classic corruption of RDMA with fork: the program stores to its buffer while a child shares it, copy-on-write
// gives the program a new frame, and a device that has a table of its own goes on to the old one.
#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

Settings registered_memory(const char* prepare, const char* translate) {
  return {{"strategy.registration", prepare}, {"strategy.translate", translate}};
}

// One child after the other, over about 6 ms of transfers.
Settings forks(const char* end, const char* life) {
  return {{"workload.size", "64 KiB"},    {"workload.iterations", 40}, {"workload.warmup", 1},
          {"workload.checks", "count"},   {"inject.end", end},         {"inject.mechanism", "fork-child-lives"},
          {"inject.period", "2 ms"},      {"inject.count", 3},         {"inject.child_life", life},
          {"os.rlimit_memlock", "64 MiB"}};
}
const Settings kOldKernel = {{"os.kernel", "4.9"}};

Point forked(const Settings& settings) {
  INFO(to_string(settings));
  Point p = run(settings);
  REQUIRE(p.error.empty());
  REQUIRE(p.count("injections") > 0);
  return p;
}

}  // namespace

TEST_CASE("fork and a child that lives: copy-on-write moves the program away from what its device has registered") {
  for (const char* end : {"source", "destination"}) {
    INFO(end);
    const Point p = forked(forks(end, "1 ms") + registered_memory("pin-once", "private") + kOldKernel);
    CHECK(p.count("data_errors") > 0);
    CHECK(p.count("faults") == 0);
  }
}

TEST_CASE("fork and a child that lives: one that is gone before the next store leaves the pages to the program") {
  // A fork in the midst of a transfer of 1 MiB, which lasts for longer than fork and exit. Write protection remains,
  // and is taken back at the next store: nobody shares the pages any more.
  const Settings once = registered_memory("pin-once", "private") + kOldKernel +
                        Settings{{"workload.size", "1 MiB"},
                                 {"inject.count", 1},
                                 {"inject.after", "1 ms"},
                                 {"os.fork_fixed", "200 us"},
                                 {"os.exit_fixed", "100 us"}};
  CHECK(forked(forks("source", "0 ns") + once).count("data_errors") == 0);
  CHECK(forked(forks("source", "5 ms") + once).count("data_errors") > 0);
}

TEST_CASE("fork and a child that lives: since the child gets a copy of a pinned page, the program keeps its own") {
  for (const char* end : {"source", "destination"}) {
    INFO(end);
    const Point p = forked(forks(end, "1 ms") + registered_memory("pin-once", "private"));
    CHECK(p.count("data_errors") == 0);
    CHECK(p.count("stale_accesses") == 0);
  }
}

TEST_CASE(
    "fork and a child that lives: locked pages are shared by every kernel, so a driver that trusts mlock loses them") {
  for (const char* end : {"source", "destination"}) {
    INFO(end);
    const Point p = forked(forks(end, "1 ms") + registered_memory("mlock", "private"));
    CHECK(p.count("data_errors") > 0);
  }
}

TEST_CASE("fork and a child that lives: tables that follow the program's are never wrong") {
  for (const char* translate : {"shared", "mirrored"}) {
    for (const char* end : {"source", "destination"}) {
      INFO(translate << ", " << end);
      const Point p = forked(forks(end, "1 ms") + registered_memory("pin-once", translate) + kOldKernel);
      CHECK(p.count("data_errors") == 0);
      CHECK(p.count("stale_accesses") == 0);
    }
  }
}

TEST_CASE("fork and a child that lives: pins for each transfer are taken after the program's stores, and follow them") {
  for (const char* end : {"source", "destination"}) {
    INFO(end);
    const Point p = forked(forks(end, "1 ms") + registered_memory("pin-per-transfer", "private") + kOldKernel);
    CHECK(p.count("data_errors") == 0);
  }
}
