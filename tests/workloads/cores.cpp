// SPDX-License-Identifier: Apache-2.0
// What the scheduler does to transfers: as many senders as leave a core idle do not disturb each other. (That a fault
// thread beside a busy kernel thread does not wait while a core is idle: background.cpp.)
#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

// The shortest transfer is the one of 64 B; its page is absent, so that its program's fault thread is at work, too.
std::int64_t small_beside_two(unsigned cores, const Settings& settings, const std::string& start) {
  const Point p =
      run_well(settings + preset("fault/touch-ahead") +
               Settings{{"cpu.cores", cores},
                        {"workload.kind", "flows"},
                        {"workload.flows", "from=0, to=1, size=64 B, cold=destination, transfers=1, start=" + start +
                                               "; from=0, to=2, size=4 MiB, transfers=1"
                                               "; from=0, to=3, size=4 MiB, transfers=1"}});
  return p.ps("latency_min");
}

}  // namespace

TEST_CASE("three senders on four cores: a small write beside two others takes what it takes on six") {
  for (const char* kernel : {"4.9", "5.10", "6.12"}) {
    for (const char* policy : {"kernel", "work-conserving"}) {
      for (const char* start : {"0 s", "1 ms"}) {
        INFO(kernel << ", " << policy << ", " << start);
        const Settings settings{{"os.kernel", kernel}, {"sched.policy", policy}};
        const std::int64_t four = small_beside_two(4, settings, start);
        const std::int64_t six = small_beside_two(6, settings, start);
        CHECK(four <= six * 3 / 2);
        CHECK(six <= four * 3 / 2);
      }
    }
  }
}

TEST_CASE("three senders on three cores share them, and every transfer ends") {
  for (const char* policy : {"cfs", "eevdf", "work-conserving"}) {
    CHECK(small_beside_two(3, {{"sched.policy", policy}}, "100 us") > 0);
    CHECK(small_beside_two(1, {{"sched.policy", policy}}, "100 us") > 0);
  }
}

TEST_CASE("the fault thread's class decides what it waits for") {
  // One core a node. On the node of the cold buffer a program polls for its own large write, for longer than a turn.
  const Settings busy =
      preset("fault/touch-ahead") + Settings{{"cpu.cores", 1},
                                             {"workload.kind", "flows"},
                                             {"workload.flows",
                                              "from=0, to=1, size=64 KiB, cold=destination, transfers=1"
                                              "; from=1, to=0, size=4 MiB, transfers=1"}};
  const auto cold_write = [&](const char* kind) {
    return run_well(busy + Settings{{"exanest_library.fault_thread", kind}}).ps("latency_min");
  };
  const std::int64_t behind_a_turn = cold_write("process");
  CHECK(10 * cold_write("interrupt-thread") < behind_a_turn);
  CHECK(cold_write("kworker-bound") == behind_a_turn);
  CHECK(cold_write("kworker-unbound") == behind_a_turn);
}
