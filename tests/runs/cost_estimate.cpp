// SPDX-License-Identifier: Apache-2.0
// The time that is left, replayed on what the points of sweeps took: tests/runs/costs has a file for each experiment,
// a line for each point: its work, the seconds of its process, its label.
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

struct Sweep {
  std::vector<PlannedPoint> points;
  std::vector<double> seconds;

  double total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }
};

Sweep recorded(const std::string& name) {
  Sweep sweep;
  std::ifstream file(source_tree() / "tests/runs/costs" / (name + ".txt"));
  std::string first;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    PlannedPoint point;
    double seconds = 0;
    fields >> point.work >> seconds;
    std::getline(fields >> std::ws, point.label);
    const std::string configuration = point.label.substr(0, point.label.find(", seed "));
    point.repetition = configuration == first ? sweep.points.back().repetition + 1 : 0;
    first = configuration;
    sweep.points.push_back(point);
    sweep.seconds.push_back(seconds);
  }
  return sweep;
}

// A product of factors of its axes, with some noise, as models are; the amount of work is told by half.
Sweep made(std::uint64_t seed) {
  Sweep sweep;
  sim::RandomStream random(seed, "sweep");
  const auto uniform = [&] { return static_cast<double>(random.below(1'000'000)) / 1e6; };
  const std::vector<double> strategies{1, 1 + uniform(), 1 + uniform(), 1 + uniform(), 1 + uniform()};
  const std::vector<double> shares{1, 1 + uniform() / 2, 1 + uniform() / 2};
  for (std::size_t strategy = 0; strategy < strategies.size(); ++strategy) {
    for (std::size_t share = 0; share < shares.size(); ++share) {
      for (int size = 0; size < 9; ++size) {
        const double bytes = 64 * std::pow(4, size);
        sweep.points.push_back({"strategy " + std::to_string(strategy) + ", share = " + std::to_string(share) +
                                    ", size = " + std::to_string(size),
                                20 * bytes, 0});
        sweep.seconds.push_back((0.02 + bytes / 1e7) * strategies[strategy] * shares[share] * (0.8 + 0.4 * uniform()));
      }
    }
  }
  return sweep;
}

struct Replay {
  double at_a_tenth = 0;  // the estimate over the truth; 0: nothing was known
  double worst = 1;       // factor by which one was wrong from then on, but for the last tenth and second
};

// Points begin in the order of a run, `jobs` at a time. Looked at a hundred times.
Replay replay(const Sweep& sweep, unsigned jobs) {
  std::vector<std::size_t> order(sweep.points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  order = telling_order(sweep.points, order);
  CHECK(std::set<std::size_t>(order.begin(), order.end()).size() == order.size());
  std::vector<double> begins(order.size()), ends(order.size());
  std::vector<double> free(jobs, 0.0);
  double end = 0;
  for (const std::size_t index : order) {
    const auto job = std::ranges::min_element(free);
    begins[index] = *job;
    ends[index] = *job += sweep.seconds[index];
    end = std::max(end, ends[index]);
  }
  std::vector<std::size_t> by_end = order;
  std::ranges::stable_sort(by_end, {}, [&](std::size_t i) { return ends[i]; });
  CostEstimate estimate(sweep.points);
  Replay result;
  auto next = by_end.begin();
  for (int look = 10; look <= 90; ++look) {
    const double now = look * end / 100;
    if (end - now < kLastSeconds) break;
    for (; next != by_end.end() && ends[*next] <= now; ++next) estimate.ended(*next, sweep.seconds[*next], false);
    std::vector<std::pair<std::size_t, double>> running;
    for (const std::size_t index : order) {
      if (begins[index] <= now && ends[index] > now) running.emplace_back(index, now - begins[index]);
    }
    const double ratio = estimate.seconds_left(running, jobs).value_or(0) / (end - now);
    if (look == 10) result.at_a_tenth = ratio;
    result.worst = std::max({result.worst, ratio, ratio > 0 ? 1 / ratio : 1e9});
  }
  return result;
}

}  // namespace

TEST_CASE("from a tenth of a mixed sweep on the time left is known within a factor of 1.5") {
  std::size_t sweeps = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_tree() / "tests/runs/costs")) {
    const Sweep sweep = recorded(file.path().stem());
    for (const unsigned jobs : {1U, 2U}) {
      const Replay found = replay(sweep, jobs);
      INFO(file.path().stem() << ", " << jobs << " at a time: " << found.at_a_tenth << " at a tenth");
      CHECK(found.worst < kFactor);
    }
    ++sweeps;
  }
  CHECK(sweeps >= 5);
}

TEST_CASE("the time left of made sweeps is known within a factor of 1.5") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Replay found = replay(made(seed), 1 + seed % 2);
    INFO("seed " << seed << ": " << found.at_a_tenth << " at a tenth");
    CHECK(found.worst < kFactor);
  }
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
  CHECK(*estimate.seconds_left({}, 4) == Approx(15));
  CHECK(*estimate.seconds_left({{4, 6}}, 1) == Approx(54));
}
