// SPDX-License-Identifier: Apache-2.0
// Whether a run drew a random number is measured: by each stream that gives one which could have been another.
#include <catch2/catch.hpp>

#include <string>

#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

bool draws(const Settings& settings) {
  const workloads::Configuration c = configuration(settings);
  return text_from_child([&] { return std::string(workloads::run_point(c, 1).draws ? "yes" : "no"); }) == "yes";
}

// With one more setting.
Settings fixed(Settings settings = {}) {
  settings.push_back({"workload.start_spread", "0 s"});
  return settings;
}

}  // namespace

TEST_CASE("a stream tells its seed of a number that could have been another one, and of no other") {
  bool drawn = false;
  sim::RandomStream stream(sim::Seed(1, &drawn), "a stream");
  CHECK(stream.below(1) == 0);
  CHECK_FALSE(stream.chance(0));
  CHECK(stream.chance(1));
  CHECK(stream.is_below(5, 5));
  CHECK_FALSE(stream.is_below(0, 5));
  CHECK_FALSE(drawn);
  // The numbers that nothing depends on were taken nevertheless.
  sim::RandomStream other(sim::Seed(1), "a stream");
  for (int i = 0; i < 4; ++i) other.next();
  CHECK(stream.next() == other.next());
  CHECK(drawn);
  bool sum_drawn = false;
  sim::RandomStream(sim::Seed(1, &sum_drawn) + 5, "a stream").next();
  CHECK(sum_drawn);
}

TEST_CASE("points with fixed start phases draw nothing, and each source of chance is seen") {
  CHECK_FALSE(draws(fixed()));
  CHECK_FALSE(draws(fixed({{"workload.cold", "both"}, {"workload.size", "64 KiB"}})));
  CHECK_FALSE(draws(fixed({{"workload.kind", "ring"}})));
  CHECK_FALSE(draws(fixed({{"workload.kind", "all-to-all"}})));
  CHECK(draws({{"workload.start_spread", "2 us"}}));
  CHECK(draws(fixed({{"cpu.jitter", "0.1"}})));
  CHECK(draws(fixed({{"workload.kind", "all-to-all"}, {"workload.peers", "1"}})));
  CHECK(draws(fixed({{"workload.kind", "permutation"}})));
  CHECK(draws(fixed({{"background.processes", "1"}, {"background.memory", "1 MiB"}})));
  CHECK(draws(fixed({{"inject.mechanism", "reclaim"}, {"os.swap_bytes", "64 MiB"}})));
  CHECK(draws(fixed({{"workload.cold", "destination"}, {"workload.cold_share", "0.5"}, {"workload.size", "64 KiB"}})));
  CHECK(draws(fixed({{"workload.arrivals", "poisson"}, {"workload.interval", "50 us"}})));
  CHECK_FALSE(draws(fixed({{"workload.arrivals", "periodic"}, {"workload.interval", "50 us"}})));
}
