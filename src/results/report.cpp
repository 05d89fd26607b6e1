// SPDX-License-Identifier: Apache-2.0
#include "src/results/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "src/results/remarks.hpp"
#include "src/results/repetitions.hpp"
#include "src/results/text_numbers.hpp"
#include "src/results/text_table.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {
namespace {

using Texts = std::vector<experiment::NamedText>;

// Of one of their lists of parameters what every point has.
Texts in_all(const std::vector<experiment::Point>& points, std::shared_ptr<const Texts> experiment::Point::*list) {
  Texts common;
  if (points.empty() || points.front().*list == nullptr) return common;
  for (const experiment::NamedText& candidate : *(points.front().*list)) {
    // Points of a strategy share the list.
    const auto* known = &*(points.front().*list);
    const bool everywhere = std::ranges::all_of(points, [&](const experiment::Point& point) {
      if (&*(point.*list) == known) return true;
      known = &*(point.*list);
      return std::any_of(known->begin(), known->end(), [&](const experiment::NamedText& p) {
        return p.name == candidate.name && p.text == candidate.text;
      });
    });
    if (everywhere) common.push_back(candidate);
  }
  return common;
}

// What every point has in common and neither default nor platform explains.
Texts common_parameters(const Results& results) {
  Texts common = in_all(results.points, &experiment::Point::changed);
  // A platform's numbers are the platform's; the others were chosen for this run.
  std::erase_if(common, [&](const experiment::NamedText& candidate) {
    const experiment::Setting* setting = deciding(results.points.front().settings, candidate.name);
    return setting != nullptr && setting->origin.starts_with("platform ");
  });
  const Texts reset = in_all(results.points, &experiment::Point::reset);
  common.insert(common.end(), reset.begin(), reset.end());
  std::erase_if(common, [&](const experiment::NamedText& candidate) {
    return deciding(results.experiment.overrides, candidate.name) != nullptr;
  });
  return common;
}

// Reports that show the points of one value alone, and of which there are none: --set or a condition of `skip` has
// taken them. One line an axis.
class Unseen {
 public:
  void add(const experiment::ReportSpec& spec) {
    if (spec.only_axis.empty()) return;
    const auto known = std::ranges::find_if(axes_, [&](const auto& axis) { return axis.first == spec.only_axis; });
    auto& values = known == axes_.end() ? axes_.emplace_back(spec.only_axis, Values{}).second : known->second;
    if (std::ranges::find(values, spec.only_value) == values.end()) values.push_back(spec.only_value);
  }
  std::string text(const std::vector<experiment::Point>& points) const {
    std::string text;
    for (const auto& [axis, values] : axes_) {
      TextNumbers there;
      for (const experiment::Point& point : points) there.number_of(coordinate(point, axis));
      text += wrap(fmt::format("(no table of {} = {}: no point has it; there are {})", axis, fmt::join(values, ", "),
                               fmt::join(there.texts(), ", ")),
                   120, 2) +
              "\n";
    }
    return text;
  }

 private:
  using Values = std::vector<std::string>;
  std::vector<std::pair<std::string, Values>> axes_;
};

std::string view_of(const experiment::ReportSpec& spec, const Results& runs, const Results& means, std::size_t width) {
  switch (spec.view) {
    case experiment::View::points: return points_view(means, spec, width);
    case experiment::View::matrix: return matrix_view(means, spec);
    case experiment::View::verdict: return verdict_view(runs, spec);
    case experiment::View::breakdown: return breakdown_view(means);
  }
  return "";
}

// What is wrong stands out.
std::string title_of(const Remarks::Remark& remark) {
  if (remark.kind == Remarks::kNote || remark.kind == Remarks::kRefused) return remark.kind;
  return remark.kind == Remarks::kCheckFailed ? "CHECK FAILED" : "ERROR";
}

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

const workloads::Metric* find_metric(const runs::PointOutcome& outcome, const std::string& name) {
  const auto& metrics = outcome.result.metrics;
  const auto it = std::ranges::find_if(metrics, [&](const auto& m) { return m.name == name; });
  return it == metrics.end() ? nullptr : &*it;
}

const workloads::Metric* first_of(const Results& results, const std::string& name) {
  for (const runs::PointOutcome& outcome : results.outcomes) {
    if (const auto* metric = find_metric(outcome, name)) return metric;
  }
  return nullptr;
}

std::string cell_text(const workloads::Metric& metric) {
  const bool share = metric.unit == "1" && (std::floor(metric.value) != metric.value || metric.half_width > 0);
  const int decimals = share ? 3 : decimals_of(metric.unit);
  std::string text = fixed(metric.value, decimals);
  if (metric.half_width <= 0) return text;
  return text + " \u00b1" + fixed(metric.half_width, decimals);
}

std::string absent_text(const runs::PointOutcome& outcome) {
  if (outcome.status == runs::PointStatus::not_run) return "not run";
  if (!outcome.result.refused.empty()) return status_text(outcome);
  return outcome.status == runs::PointStatus::complete ? "-" : "error";  // complete: it has no such metric
}

std::string marked_text(const Results& results, std::size_t point, const std::string& name,
                        const std::optional<workloads::Metric>& metric) {
  return (metric ? cell_text(*metric) : absent_text(results.outcomes[point])) +
         mark_of(name, results.failures_at(point));
}

std::string report_head(const Results& results) {
  std::string text;
  if (!results.experiment.question.empty()) text += wrap(results.experiment.question, 100, 0) + "\n";
  const experiment::Experiment& experiment = results.experiment;
  std::string line = fmt::format("platform {}, seed {}",
                                 experiment.platform.empty() ? "(defaults)" : experiment.platform, experiment.seed);
  if (experiment.repetitions > 1) line += fmt::format(" to {}", experiment.seed + experiment.repetitions - 1);
  for (const experiment::NamedText& parameter : common_parameters(results))
    line += fmt::format(", {} = {}", parameter.name, parameter.text);
  // Over everything, strategies included, and so not told by any name; shown even where it is the default.
  for (const experiment::Setting& setting : results.experiment.overrides) line += ", " + setting.place.file;
  return text + wrap(line, 120, 2) + "\n";
}

std::string remarks(const Results& results) {
  Remarks found;
  for (std::size_t i = 0; i < results.points.size(); ++i) found.add(results.points[i], results.outcomes[i]);
  std::string text;
  for (const Remarks::Remark& remark : found.all())
    text += fmt::format("{}: {}\n", title_of(remark), with_place(remark.text, remark.where, remark.points));
  return text;
}

std::string report_tables(const Results& results, std::size_t width) {
  std::string text;
  Unseen unseen;
  const unsigned seeds = results.experiment.repetitions;
  const Merged merged = seeds > 1 ? merge_repetitions(results) : Merged{};
  const Results means{results.experiment, seeds > 1 ? merged.points : results.points,
                      seeds > 1 ? merged.outcomes : results.outcomes, merged.failures};
  bool any_mean = false;
  for (const experiment::ReportSpec& spec : results.experiment.reports) {
    any_mean = any_mean || spec.view != experiment::View::verdict;
    const std::string view = view_of(spec, results, means, width);
    if (view.empty()) unseen.add(spec);
    text += (text.empty() || view.empty() ? "" : "\n") + view;
  }
  text += unseen.text(results.points);
  const auto exact = static_cast<std::size_t>(std::ranges::count(merged.is_exact, true));
  const std::string standing = standing_text(exact, merged.points.size(), seeds);
  if (!standing.empty()) text += "(" + standing + ")\n";
  if (any_mean && seeds > 1 && exact < merged.points.size())
    text += fmt::format("(means over {} seeds; \u00b1: half of the 95 % confidence interval, by Student's t)\n", seeds);
  Legend legend;
  for (std::size_t i = 0; i < means.points.size(); ++i) legend.add(means.points[i].label(), means.failures_at(i));
  text += legend.text(width);
  Limits limits;
  for (std::size_t i = 0; i < means.points.size(); ++i) limits.add(means.points[i], means.outcomes[i]);
  const std::string notes = limits.text() + remarks(results);
  return notes.empty() ? text : text + "\n" + notes;
}

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
