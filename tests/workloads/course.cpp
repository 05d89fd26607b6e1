// SPDX-License-Identifier: Apache-2.0
// How far a point is, and how long it takes in all.
#include <catch2/catch.hpp>

#include <utility>
#include <vector>

#include "models/platform/cluster.hpp"
#include "tests/support/point.hpp"
#include "workloads/course.hpp"
#include "workloads/programs.hpp"

using namespace faultline;
using namespace faultline::test;

TEST_CASE("a point's time in all is that of its transfers, and of its preparations once") {
  workloads::Course course;
  CHECK(course.seconds_in_all() == 0);
  course.look(0, 5);
  CHECK(course.seconds_in_all() == 0);
  course.look(0.125, 10);  // nobody knows when they began
  CHECK(course.seconds_in_all() == Approx(80));
  course.look(0.25, 11);
  CHECK(course.seconds_in_all() == Approx(10 + 7));
  course.look(0.25, 14);  // a long transfer: until it has ended it tells nothing
  CHECK(course.seconds_in_all() == Approx(17));
  course.look(0.375, 14);
  CHECK(course.seconds_in_all() == Approx(10 + 14));
  course.look(1, 31);
  CHECK(course.seconds_in_all() == Approx(31));
}

TEST_CASE("of every kind of workload the work is done, to the last bit of it, when it has ended") {
  const std::vector<std::pair<std::string, Settings>> kinds{
      {"warm-up", Settings{{"workload.warmup", 3}, {"workload.iterations", 5}, {"workload.size", "64 KiB"}}},
      {"read", Settings{{"workload.kind", "read"}, {"workload.window", 2}}},
      {"message", Settings{{"workload.kind", "message"}, {"workload.size", "16 B"}}},
      {"open loop", Settings{{"workload.arrivals", "poisson"}, {"workload.interval", "20 us"}}},
      {"flows",
       Settings{{"workload.kind", "flows"},
                {"workload.flows", "from=0, to=1, size=4 KiB, transfers=3; from=1, to=0, kind=read, size=100 B"}}},
      {"all-to-all", Settings{{"workload.kind", "all-to-all"}, {"workload.warmup", 1}, {"workload.iterations", 3}}},
      {"kernel-cost", Settings{{"workload.kind", "kernel-cost"}, {"workload.program", "lat_pipe"}}}};
  for (const auto& [name, settings] : kinds) {
    INFO(name);
    const workloads::Configuration c = configuration(settings);
    const std::string share = text_from_child([&c = c] {
      platform::Cluster cluster("cluster", c.machine, 1);
      cluster.boot();
      workloads::Programs programs(c, cluster, 1);
      programs.on_finished = [&] { cluster.loop.stop(); };
      programs.start();
      const double before = programs.work_done();
      cluster.loop.run(c.workload.time_limit);
      return std::to_string(before) + " to " + std::to_string(programs.work_done() / workloads::work_of(c)) +
             (programs.finished() ? "" : ", not finished");
    });
    CHECK(share == "0.000000 to 1.000000");
  }
}
