// SPDX-License-Identifier: Apache-2.0
#include "src/application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "src/experiment/effective.hpp"
#include "src/runs/cost_estimate.hpp"
#include "src/runs/point_store.hpp"

namespace faultline::app {
namespace {

constexpr std::size_t kShown = 12;              // points, unless all are asked for
constexpr std::size_t kProbed = 5;              // spread over the list
constexpr std::chrono::seconds kProbeLimit{5};  // for each of them

std::string list_of(const std::vector<experiment::Point>& points, bool all) {
  std::string text;
  const std::size_t shown = all ? points.size() : std::min(points.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i) text += "  " + points[i].label() + "\n";
  if (shown < points.size()) text += fmt::format("  ... and {} more (--verbose prints all)\n", points.size() - shown);
  return text;
}

// From the least work to the most.
std::vector<std::size_t> probed(const std::vector<experiment::Point>& points) {
  std::vector<std::size_t> by_work(points.size());
  std::iota(by_work.begin(), by_work.end(), std::size_t{0});
  std::ranges::stable_sort(by_work, {}, [&](std::size_t i) { return points[i].work; });
  std::vector<std::size_t> chosen;
  const std::size_t probes = std::min(points.size(), kProbed);
  for (std::size_t i = 0; i < probes; ++i)
    chosen.push_back(by_work[probes == 1 ? 0 : i * (points.size() - 1) / (probes - 1)]);
  return chosen;
}

struct Probe {
  std::optional<double> all;  // what all points take, in seconds; nothing as long as none has told anything
  double least = 0;           // host time of a point
  double most = 0;
  double mib = 0;  // of the largest
  std::size_t points = 0;
  std::size_t cut = 0;  // that were ended before their end
  std::string error;
};

Probe probe(const std::vector<experiment::Point>& points, const experiment::Simulator& simulator, double jobs) {
  Probe found;
  double spent = 0;
  runs::CostEstimate costs(runs::planned(points));
  std::vector<runs::RunningPoint> cut;
  const auto one = [&](std::size_t index, const runs::Heartbeat& heartbeat) {
    return simulate(points[index], simulator, {heartbeat, /*profile=*/false, /*trace=*/{}});
  };
  const auto ended = [&](std::size_t index, const runs::PointOutcome& outcome) {
    found.least = found.points == 0 ? outcome.host_seconds : std::min(found.least, outcome.host_seconds);
    found.most = std::max(found.most, outcome.host_seconds);
    found.mib = std::max(found.mib, outcome.peak_mib);
    ++found.points;
    spent += outcome.host_seconds;
    if (outcome.status == runs::PointStatus::timed_out) {
      cut.push_back({index, outcome.host_seconds, outcome.totals.seconds_in_all});
      return true;
    }
    if (!outcome.error.empty()) found.error = outcome.error;
    costs.ended(index, outcome.host_seconds, runs::stands_for_all(outcome));
    return true;
  };
  // One at a time: others would take memory and processors from it.
  runs::run_points(runs::each_of(probed(points)), one, {1, kProbeLimit}, ended, [](const runs::Standing&) {});
  found.cut = cut.size();
  if (const auto left = costs.seconds_left(cut, jobs)) found.all = *left + spent / jobs;
  return found;
}

}  // namespace

int dry_run(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points, const Call& call) {
  const Options& options = call.options;
  const Console& console = call.console;
  if (!experiment.question.empty()) console.out << experiment.question << "\n";
  console.out << fmt::format("{} points:\n{}\n", points.size(), list_of(points, options.verbose))
              << "the first one's configuration, where it is not the default:\n"
              << effective_point(points.front(), call.simulator, /*changed_only=*/true) << "\n"
              << std::flush;
  const double jobs = std::min<double>(options.jobs, static_cast<double>(points.size()));
  const Probe p = probe(points, call.simulator, jobs);
  if (p.points == 0) return kInterrupted;
  console.out << fmt::format("{} of them took {:.2f} to {:.2f} s and {:.0f} MiB at most, one at a time\n", p.points,
                             p.least, p.most, p.mib)
              << fmt::format("all of them, {} at a time: {} and about {:.0f} MiB\n", options.jobs,
                             p.all ? "about " + runs::clock_text(*p.all) : "nobody knows how long", p.mib * jobs);
  if (p.cut > 0)
    console.out << fmt::format("({} of them ended after {} s: what they take is estimated by how far they were)\n",
                               p.cut, kProbeLimit.count());
  if (!p.error.empty()) console.err << "a point failed: " << p.error << "\n";
  return p.error.empty() ? kFine : kUsage;
}

}  // namespace faultline::app
