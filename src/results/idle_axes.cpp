// SPDX-License-Identifier: Apache-2.0
#include "src/results/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace faultline::results {
namespace {

// What a point has beside the axes that advance with `leader`.
std::string all_else(const experiment::Point& point, const std::vector<experiment::Axis>& axes, std::size_t leader) {
  std::string text = fmt::format("{}\n{}", point.strategy, point.seed);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].leader != leader) text += '\n' + point.axes[i].text;
  }
  return text;
}

bool same_metrics(const runs::PointOutcome& a, const runs::PointOutcome& b) {
  const auto same = [](const workloads::Metric& x, const workloads::Metric& y) {
    return x.name == y.name && (x.value == y.value || (std::isnan(x.value) && std::isnan(y.value)));
  };
  const auto& metrics = a.result.metrics;
  return a.result.refused == b.result.refused && std::ranges::equal(metrics, b.result.metrics, same);
}

bool is_idle(const Results& results, std::size_t leader) {
  std::unordered_map<std::string, std::size_t> first;
  bool compared = false;
  for (std::size_t i = 0; i < results.points.size(); ++i) {
    const auto [twin, added] = first.emplace(all_else(results.points[i], results.experiment.axes, leader), i);
    if (added) continue;
    compared = true;
    if (!same_metrics(results.outcomes[twin->second], results.outcomes[i])) return false;
  }
  return compared;
}

}  // namespace

std::vector<std::string> idle_axes(const Results& results) {
  std::vector<std::string> idle;
  const auto is_complete = [](const runs::PointOutcome& outcome) {
    return outcome.status == runs::PointStatus::complete;
  };
  if (!std::ranges::all_of(results.outcomes, is_complete)) return idle;
  const std::vector<experiment::Axis>& axes = results.experiment.axes;
  for (std::size_t leader = 0; leader < axes.size(); ++leader) {
    if (axes[leader].leader != leader || axes[leader].values.size() < 2 || !is_idle(results, leader)) continue;
    std::vector<std::string> keys;
    for (const experiment::Axis& axis : axes) {
      if (axis.leader == leader) keys.push_back(axis.key);
    }
    idle.push_back(fmt::format("{}", fmt::join(keys, " and ")));
  }
  return idle;
}

}  // namespace faultline::results
