// SPDX-License-Identifier: Apache-2.0
// Records what the points of experiments cost, for tests/runs/cost_estimate.cpp:
//
//   cmake --build build/dev --target record_costs && build/dev/record_costs latency-vs-size swap-speed
//
// (in the dev build) writes tests/runs/costs/NAME.txt, a line for each point: its work, the seconds of its process,
// what its heartbeats have told of that (after so many seconds: so many in all), its label. Seconds are of processor
// time, so that it does not matter what else the machine does. A repetition that is not simulated has 0. Runs of less
// than two seconds show no progress: they leave no file.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>

#include "src/application.hpp"
#include "src/cluster_simulator.hpp"
#include "tests/support/source_tree.hpp"

namespace faultline::test {
namespace {

constexpr double kLeastSeconds = 2;
constexpr double kChange = 0.02;  // of what is told, that is worth a note

// Simulates it, and leaves what it has told in its notes.
workloads::PointResult recorded(const experiment::Point& point, const app::ClusterSimulator& simulator,
                                const runs::Heartbeat& heartbeat) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::string told;
  double last = 0;
  const auto beat = [&](const workloads::Totals& totals) {
    heartbeat(totals);
    const double seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    const double share = seconds / std::chrono::duration<double>(Clock::now() - start).count();  // that was this one's
    const double in_all = totals.seconds_in_all * share;
    if (std::abs(in_all - last) <= kChange * last) return;
    last = in_all;
    told += fmt::format("{}{:.2f}:{:.2f}", told.empty() ? "" : ",", seconds, in_all);
  };
  workloads::PointResult result = app::simulate(point, simulator, {beat, /*profile=*/false, {}});
  result.notes = {told.empty() ? "-" : told};
  return result;
}

void record(const std::string& name) {
  const app::ClusterSimulator simulator;
  const auto library = experiment::ConfigLibrary::find((source_tree() / "configs").string());
  const auto points = expand(read_experiment(library.resolve_experiment(name), {}, library, simulator), simulator);
  std::string text;
  double sum = 0;
  std::size_t at = 0;
  const auto write = [&](double seconds, const std::string& told) {
    text += fmt::format("{:.0f} {:.3f} {} {}\n", points[at].work, seconds, told, points[at].label());
    sum += seconds;
    ++at;
  };
  bool draws = true;
  const auto next = [&] {
    while (at < points.size() && points[at].repetition > 0 && !draws) write(0, "-");
    return at < points.size() ? runs::NextPoint{runs::NextPoint::What::point, at}
                              : runs::NextPoint{runs::NextPoint::What::none};
  };
  const auto one = [&](std::size_t index, const runs::Heartbeat& heartbeat) {
    return recorded(points[index], simulator, heartbeat);
  };
  const auto ended = [&](std::size_t, const runs::PointOutcome& outcome) {
    if (points[at].repetition == 0) draws = outcome.result.draws;
    write(outcome.cpu_seconds, outcome.result.notes.empty() ? "-" : outcome.result.notes.front());
    return true;
  };
  runs::run_points(next, one, {1, {}}, ended, [](const runs::Standing&) {});
  std::cout << fmt::format("{}: {} points, {:.1f} s", name, points.size(), sum) << std::endl;
  if (sum < kLeastSeconds) return;
  std::ofstream(source_tree() / "tests/runs/costs" / (name + ".txt")) << text;
}

}  // namespace
}  // namespace faultline::test

int sc_main(int argc, char* argv[]) {
  for (int i = 1; i < argc; ++i) faultline::test::record(argv[i]);
  return 0;
}
