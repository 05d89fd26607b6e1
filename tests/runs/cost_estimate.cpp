// SPDX-License-Identifier: Apache-2.0
// The time that is left, replayed on what the points of sweeps took: of all experiments that ship and take more than
// two seconds, as tests/support/record_costs.cpp has recorded them in tests/runs/costs.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "models/sim/random.hpp"
#include "src/runs/cost_estimate.hpp"
#include "tests/support/source_tree.hpp"

using namespace faultline;
using namespace faultline::runs;
using namespace faultline::test;

namespace {

constexpr double kFactor = 1.5;
constexpr double kLastSeconds = 1;  // in which nobody needs it
constexpr double kBetweenLooks = 0.5;
constexpr std::uint64_t kSeeds = 5;  // of the order: 1, a run's, is not chosen

// Sweeps of which the factor is greater, and what it is at most, for any of these seeds and places.
const std::map<std::string, double> kHarder{
    // Of two to four seconds: a tenth is a moment, and looks are half a second apart.
    {"ablation-block", 2.1},
    {"bandwidth-vs-size", 1.7},
    {"cold-transfers", 2.2},
    {"latency-vs-size", 1.6},
    {"stop-after-fault", 1.8},
    {"two-qfdbs", 2.2},
    // A few points make up most of the time, and after a tenth none of them has ended.
    {"latency-vs-hops", 2.1},
    {"thp-modes", 2.0},
    {"touch-ahead", 2.1},
    // Three points take 44 of 47 s, and become faster as senders come to their ends.
    {"sixteen-nodes", 2.8},
    // A point takes four times as long as its like and tells twice that at first; its repetitions take half of it.
    {"pinning-cost", 3.2},
    // With one of the seeds a point that takes five times as long as its like begins last; with a run's it is 1.3.
    {"fault-matrix-kernels", 10.0},
};

// Of a point: after which time it told how long it takes in all.
using Curve = std::vector<std::pair<double, double>>;

struct Sweep {
  std::vector<PlannedPoint> points;
  std::vector<double> seconds;
  std::vector<Curve> curves;
};

Curve curve_of(const std::string& text) {
  Curve curve;
  std::istringstream fields(text);
  for (std::string field; text != "-" && std::getline(fields, field, ',');) {
    const std::size_t colon = field.find(':');
    curve.emplace_back(std::stod(field.substr(0, colon)), std::stod(field.substr(colon + 1)));
  }
  return curve;
}

Sweep recorded(const std::string& name) {
  Sweep sweep;
  std::ifstream file(source_tree() / "tests/runs/costs" / (name + ".txt"));
  std::string first;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    PlannedPoint point;
    double seconds = 0;
    std::string curve;
    fields >> point.work >> seconds >> curve;
    std::getline(fields >> std::ws, point.label);
    const std::string configuration = point.label.substr(0, point.label.find(", seed "));
    point.repetition = configuration == first ? sweep.points.back().repetition + 1 : 0;
    first = configuration;
    sweep.points.push_back(point);
    sweep.seconds.push_back(seconds);
    sweep.curves.push_back(curve_of(curve));
  }
  return sweep;
}

// The factor by which the estimate is wrong at worst, of all that a run would show from a tenth of it on but in its
// last second: whenever a point has ended, and twice a second. Points begin in the order of a run, `jobs` at a time.
double worst_factor(const Sweep& sweep, unsigned jobs, std::uint64_t seed) {
  std::vector<std::size_t> order(sweep.points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  order = telling_order(sweep.points, order, seed);
  CHECK(std::set<std::size_t>(order.begin(), order.end()).size() == order.size());
  const auto is_shared = [&](std::size_t i) { return sweep.points[i].repetition > 0 && sweep.seconds[i] == 0; };
  std::erase_if(order, is_shared);
  std::vector<double> begins(sweep.points.size()), ends(sweep.points.size());
  std::vector<double> free(jobs, 0.0);
  std::vector<double> looks;
  for (const std::size_t index : order) {
    const auto job = std::ranges::min_element(free);
    begins[index] = *job;
    looks.push_back(ends[index] = *job += sweep.seconds[index]);
  }
  const double end = *std::ranges::max_element(looks);
  for (double at = kBetweenLooks; at < end; at += kBetweenLooks) looks.push_back(at);
  std::ranges::sort(looks);
  std::vector<std::size_t> by_end = order;
  std::ranges::stable_sort(by_end, {}, [&](std::size_t i) { return ends[i]; });
  CostEstimate estimate(sweep.points);
  double worst = 1;
  auto next = by_end.begin();
  for (const double now : looks) {
    for (; next != by_end.end() && ends[*next] <= now; ++next) {
      estimate.ended(*next, sweep.seconds[*next], *next + 1 < ends.size() && is_shared(*next + 1));
    }
    std::vector<RunningPoint> running;
    for (const std::size_t index : order) {
      if (begins[index] > now || ends[index] <= now) continue;
      RunningPoint& point = running.emplace_back(RunningPoint{index, now - begins[index]});
      for (const auto& [at, in_all] : sweep.curves[index]) point.in_all = at <= point.seconds ? in_all : point.in_all;
    }
    if (end - now < kLastSeconds) break;
    const double ratio = estimate.seconds_left(running, jobs).value_or(0) / (end - now);
    if (now >= end / 10) worst = std::max({worst, ratio, ratio > 0 ? 1 / ratio : 1e9});
  }
  return worst;
}

}  // namespace

TEST_CASE("from a tenth of a sweep on the time left is known within a factor of 1.5, of some within their own") {
  std::size_t sweeps = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_tree() / "tests/runs/costs")) {
    const std::string name = file.path().stem();
    const Sweep sweep = recorded(name);
    const bool is_harder = kHarder.contains(name);
    double worst = 1;
    for (const unsigned jobs : {1U, 2U, 4U}) {
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) worst = std::max(worst, worst_factor(sweep, jobs, seed));
    }
    INFO(name);
    CHECK(worst <= (is_harder ? kHarder.at(name) : kFactor));
    if (is_harder) CHECK(worst > kFactor);
    ++sweeps;
  }
  CHECK(sweeps == 24);
}

// For people: build/dev/test_runs '[table]'
TEST_CASE("the worst factors of each sweep, by places and by seeds of the order", "[.table]") {
  std::set<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(source_tree() / "tests/runs/costs")) files.insert(file);
  for (const std::filesystem::path& file : files) {
    const Sweep sweep = recorded(file.stem());
    const double seconds = std::accumulate(sweep.seconds.begin(), sweep.seconds.end(), 0.0);
    std::printf("%-30s %6.1f s", file.stem().c_str(), seconds);
    for (const unsigned jobs : {1U, 2U, 4U}) {
      std::printf("  |");
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) std::printf(" %5.2f", worst_factor(sweep, jobs, seed));
    }
    std::printf("\n");
  }
}

TEST_CASE("a single point has its time left as soon as it tells how long it takes") {
  CostEstimate estimate({{"a, size = 1", 1, 0}});
  CHECK_FALSE(estimate.seconds_left({{0, 10, 0}}, 1).has_value());
  CHECK(*estimate.seconds_left({{0, 10, 40}}, 1) == Approx(30));
  CHECK(*estimate.seconds_left({{0, 39, 40}}, 4) == Approx(1).margin(0.1));
}

TEST_CASE("what a running point tells serves those that have not begun") {
  CostEstimate estimate({{"a, size = 1", 1, 0}, {"a, size = 1", 1, 0}, {"a, size = 4", 4, 0}});
  CHECK(*estimate.seconds_left({{0, 10, 40}}, 1) == Approx(30 + 40 + 4 * 40));
}

TEST_CASE("early a point is believed little that tells another time than its like took, later more") {
  std::vector<PlannedPoint> points(21, {"a, size = 1", 1, 0});
  CostEstimate estimate(points);
  for (std::size_t i = 0; i < 20; ++i) estimate.ended(i, 10, /*stands_for_all=*/false);
  CHECK(*estimate.seconds_left({{20, 1, 40}}, 1) < 11);
  CHECK(*estimate.seconds_left({{20, 30, 40}}, 1) > 5);
}

TEST_CASE("points that are too few for all places end later than their sum by the places") {
  CostEstimate estimate({{"a", 1, 0}, {"a", 1, 0}, {"a", 1, 0}, {"a", 1, 0}});
  estimate.ended(0, 10, /*stands_for_all=*/false);
  CHECK(*estimate.seconds_left({}, 2) == Approx(20));
  CHECK(*estimate.seconds_left({{1, 4, 0}, {2, 4, 0}}, 2) == Approx(16));
}

TEST_CASE("repetitions come last, cost what the first did, and nothing where it stands for them") {
  std::vector<PlannedPoint> points;
  for (int i = 0; i < 4; ++i) {
    for (unsigned r = 0; r < 3; ++r)
      points.push_back({"a, size = " + std::to_string(i) + ", seed " + std::to_string(r + 1), 1, r});
  }
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  order = telling_order(points, order);
  CHECK(std::all_of(order.begin(), order.begin() + 4, [&](std::size_t i) { return points[i].repetition == 0; }));
  CostEstimate estimate(points);
  CHECK_FALSE(estimate.seconds_left({}, 1).has_value());
  estimate.ended(0, 10, /*stands_for_all=*/true);
  CHECK(estimate.done() == 3);
  CHECK(estimate.shared() == 2);
  CHECK(*estimate.seconds_left({}, 1) == Approx(30));  // as nothing has drawn so far
  estimate.ended(3, 10, /*stands_for_all=*/false);
  CHECK(*estimate.seconds_left({}, 1) == Approx(2 * 10 + 2 * (10 + 2 * 5)));
  CHECK(*estimate.seconds_left({}, 4) == Approx(20));  // the last of them begins when the first ones have ended
  CHECK(*estimate.seconds_left({{4, 6, 0}}, 1) == Approx(54));
}
