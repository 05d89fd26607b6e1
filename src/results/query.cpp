// SPDX-License-Identifier: Apache-2.0
#include "src/results/query.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "src/runs/point_runner.hpp"

namespace faultline::results {
namespace {

using Group = std::vector<std::size_t>;  // points

// In the order of their first points.
std::vector<Group> groups_of(const std::vector<std::size_t>& points, const std::vector<RunColumn>& by) {
  std::unordered_map<std::string, std::size_t> places;
  std::vector<Group> groups;
  for (const std::size_t point : points) {
    std::string key;
    for (const RunColumn& column : by) key += column.texts[point] + '\n';
    const auto [known, added] = places.emplace(key, groups.size());
    if (added) groups.emplace_back();
    groups[known->second].push_back(point);
  }
  return groups;
}

Answer::Row row_of(const Run& run, const workloads::MetricDoc& metric, const Group& group,
                   const std::vector<double>& values) {
  Answer::Row row{metric, group.front()};
  std::vector<double> own;
  bool only_seeds = true;
  for (const std::size_t point : group) {
    row.failures += run.failures()[point];
    if (!std::isfinite(values[point])) continue;
    own.push_back(values[point]);
    only_seeds = only_seeds && run.combination(point) == run.combination(group.front());
  }
  row.summary = only_seeds && !run.draws(group.front()) ? exact_summary(own) : summary_of(own);
  if (own.empty()) return row;
  if (only_seeds && row.summary.count > 1) row.half_width = row.summary.half_width;
  const auto [least, most] = std::ranges::minmax_element(own);
  row.min = *least;
  row.max = *most;
  return row;
}

bool differs_within(const std::vector<Group>& groups, const RunColumn& column) {
  return std::ranges::any_of(groups, [&](const Group& group) {
    return std::ranges::any_of(group, [&](std::size_t p) { return column.texts[p] != column.texts[group.front()]; });
  });
}

// What may tell points apart: strategy and axes, then whatever else is not the same in all points.
std::vector<std::string> candidates(Run& run, std::vector<std::string> places) {
  for (std::string& key : run.varied_parameters()) {
    if (std::ranges::find(run.axes(), key) == run.axes().end()) places.push_back(std::move(key));
  }
  return places;
}

}  // namespace

Answer ask(Run& run, const Question& question) {
  std::vector<workloads::MetricDoc> metrics;
  for (const std::string& name : question.metrics) metrics.push_back(run.metric(name));
  std::vector<std::string> places{"strategy"};
  for (std::string& axis : run.leading_axes()) places.push_back(std::move(axis));
  Answer answer;
  const std::vector<std::string>& by = question.by.empty() ? places : question.by;
  for (const std::string& key : by) answer.by.push_back(run.column(key));
  answer.points = run.points_where(question.where);
  const std::vector<std::size_t>& points = answer.points;
  const std::vector<Group> groups = groups_of(points, answer.by);
  const std::vector<std::string> statuses = run.column("status").texts;
  for (const workloads::MetricDoc& metric : metrics) {
    const std::vector<double> values = run.values(metric);
    for (const Group& group : groups) {
      answer.rows.push_back(row_of(run, metric, group, values));
      answer.rows.back().failed_checks = static_cast<std::size_t>(
          std::ranges::count_if(group, [&](std::size_t p) { return statuses[p] == runs::kStatusCheckFailed; }));
    }
  }
  // The parameters of a strategy are told apart by its name; an analysis of sensitivity varies more than axes.
  std::vector<RunColumn> finer = answer.by;
  finer.push_back(run.column("strategy"));
  const std::vector<Group> of_strategies = groups_of(points, finer);
  for (const std::string& key : candidates(run, places)) {
    if (std::ranges::find(by, key) != by.end()) continue;
    if (differs_within(key == "strategy" ? groups : of_strategies, run.column(key))) answer.mixed.push_back(key);
  }
  return answer;
}

}  // namespace faultline::results
