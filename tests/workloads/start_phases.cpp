// SPDX-License-Identifier: Apache-2.0
// Drawn pauses before transfers: where they are, what they are no part of, and that they depend on the seed alone.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <set>

#include "tests/support/point.hpp"
#include "workloads/start_phase.hpp"

using namespace faultline;
using namespace faultline::test;
using workloads::StartPhase;
using namespace std::chrono_literals;

namespace {

constexpr sim::Time kSpread = 10us;
const Settings kDrawn{{"workload.start_spread", "10 us"}};
const Settings kMeeting{
    {"workload.kind", "flows"},
    {"workload.flows", "from=0, to=2, size=64 KiB, cold=destination; from=1, to=2, size=64 KiB, cold=destination"}};

std::int64_t sum_of_pauses(std::uint64_t seed, int count) {
  StartPhase phase(kSpread, seed, 0);
  std::int64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += phase.next().count();
  return sum;
}

// How many different mean latencies the first seeds give.
std::size_t latencies(const Settings& settings) {
  std::set<std::int64_t> all;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) all.insert(run(settings, seed).latency());
  return all.size();
}

}  // namespace

TEST_CASE("pauses fill their span from end to end, and are the same for the same seed and sender") {
  StartPhase phase(sim::Time{9}, 1, 0), same(sim::Time{9}, 1, 0), other(sim::Time{9}, 1, 1), later(sim::Time{9}, 2, 0);
  std::array<int, 10> seen{};
  bool others_differ = false, seeds_differ = false;
  for (int i = 0; i < 1000; ++i) {
    const auto pause = phase.next();
    REQUIRE(pause >= sim::Time{0});
    REQUIRE(pause <= sim::Time{9});
    ++seen[static_cast<std::size_t>(pause.count())];
    CHECK(same.next() == pause);
    others_differ = others_differ || other.next() != pause;
    seeds_differ = seeds_differ || later.next() != pause;
  }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int n) { return n > 60 && n < 140; }));
  CHECK(others_differ);
  CHECK(seeds_differ);
  CHECK(StartPhase(sim::Time{0}, 1, 0).next() == sim::Time{0});
}

TEST_CASE("one transfer at a time: each begins that much later, and nothing else changes") {
  for (const char* kind : {"write", "read", "message"}) {
    Settings settings{{"workload.kind", kind}, {"workload.size", "56 B"}, {"workload.iterations", 3}};
    if (kind != std::string("message")) settings = settings + Settings{{"workload.cold", "destination"}};
    const Point fixed = run_well(settings);
    for (const std::uint64_t seed : {1u, 2u}) {
      INFO(kind << ", seed " << seed);
      const Point drawn = run_well(settings + kDrawn, seed);
      CHECK(drawn.simulated_ps - fixed.simulated_ps == sum_of_pauses(seed, 3));
      for (const char* metric : {"latency_min", "latency_mean", "latency_max", "faults", "cpu_time_system"}) {
        INFO(metric);
        CHECK(drawn.ps(metric) == fixed.ps(metric));
      }
      CHECK(drawn["goodput"] == Approx(fixed["goodput"]).epsilon(1e-12));
      CHECK(drawn.breakdown == fixed.breakdown);
    }
  }
}

TEST_CASE("of transfers that overlap only the first waits") {
  const Settings settings{{"workload.size", "16 KiB"}, {"workload.iterations", 6}, {"workload.window", 2}};
  const Point fixed = run_well(settings), drawn = run_well(settings + kDrawn);
  CHECK(drawn.simulated_ps - fixed.simulated_ps == sum_of_pauses(1, 1));
  CHECK(drawn["goodput"] == Approx(fixed["goodput"]).epsilon(1e-12));
}

TEST_CASE("senders that meet do so at another phase for each seed, unless it is fixed") {
  const Settings ring{{"workload.kind", "ring"}, {"workload.size", "64 KiB"}, {"workload.cold", "destination"}};
  for (const Settings& settings : {preset("fault/touch-ahead") + kMeeting, preset("fault/touch-ahead") + ring}) {
    INFO(to_string(settings));
    CHECK(latencies(settings) == 1);
    CHECK(latencies(settings + kDrawn) == 4);
    CHECK(run(settings + kDrawn, 3).text == run(settings + kDrawn, 3).text);
  }
}

TEST_CASE("trains keep times that are drawn") {
  for (const std::uint64_t seed : {1u, 2u}) {
    const Point trains = run(preset("fault/touch-ahead") + kMeeting + kDrawn, seed);
    const Point cells =
        run(preset("fault/touch-ahead") + kMeeting + kDrawn + Settings{{"simulation.cells_per_train", 1}}, seed);
    CHECK(trains.latency() == cells.latency());
    CHECK(trains.simulated_ps == cells.simulated_ps);
  }
}
