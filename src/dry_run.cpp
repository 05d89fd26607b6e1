// SPDX-License-Identifier: Apache-2.0
#include "src/application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/experiment/effective.hpp"

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

std::vector<std::size_t> probed(std::size_t count) {
  std::set<std::size_t> chosen;
  const std::size_t probes = std::min(count, kProbed);
  for (std::size_t i = 0; i < probes; ++i) chosen.insert(probes == 1 ? 0 : i * (count - 1) / (probes - 1));
  return {chosen.begin(), chosen.end()};
}

struct Probe {
  double least = 0;  // host time of a point, in seconds
  double mean = 0;
  double most = 0;
  double mib = 0;  // of the largest
  std::size_t points = 0;
  bool cut = false;  // one was ended before its end
  std::string error;
};

Probe probe(const std::vector<experiment::Point>& points, const experiment::Simulator& simulator) {
  Probe found;
  const auto one = [&](std::size_t index, const runs::Heartbeat& heartbeat) {
    return simulate(points[index], simulator, {heartbeat, /*profile=*/false, /*trace=*/{}});
  };
  const auto ended = [&](std::size_t, const runs::PointOutcome& outcome) {
    found.cut = found.cut || outcome.status == runs::PointStatus::timed_out;
    if (outcome.status != runs::PointStatus::timed_out && !outcome.error.empty()) found.error = outcome.error;
    found.least = found.points == 0 ? outcome.host_seconds : std::min(found.least, outcome.host_seconds);
    found.most = std::max(found.most, outcome.host_seconds);
    found.mean += outcome.host_seconds;
    found.mib = std::max(found.mib, outcome.peak_mib);
    ++found.points;
    return true;
  };
  // One at a time: others would take memory and processors from it.
  runs::run_points(runs::each_of(probed(points.size())), one, {1, kProbeLimit}, ended, [](const runs::Standing&) {});
  if (found.points > 0) found.mean /= static_cast<double>(found.points);
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
  const Probe p = probe(points, call.simulator);
  if (p.points == 0) return kInterrupted;
  const auto all = static_cast<double>(points.size());
  const double jobs = std::min<double>(options.jobs, all);
  const char* least = p.cut ? "at least " : "about ";
  console.out << fmt::format("{} of them took {:.2f} to {:.2f} s and {:.0f} MiB at most, one at a time\n", p.points,
                             p.least, p.most, p.mib)
              << fmt::format("all of them, {} at a time: {}{} and {}{:.0f} MiB\n", options.jobs, least,
                             runs::clock_text(p.mean * all / jobs), least, p.mib * jobs);
  if (p.cut)
    console.out << fmt::format("(some were ended after {} s: that is all that is known)\n", kProbeLimit.count());
  if (!p.error.empty()) console.err << "a point failed: " << p.error << "\n";
  return p.error.empty() ? kFine : kUsage;
}

}  // namespace faultline::app
