// SPDX-License-Identifier: Apache-2.0
// One metric as a matrix: rows are an axis, columns the strategies (or whatever the report says).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "src/results/report.hpp"
#include "src/results/statistics.hpp"
#include "src/results/text_numbers.hpp"
#include "src/results/text_table.hpp"

namespace faultline::results {

std::string coordinate(const experiment::Point& point, const std::string& axis) {
  if (axis == "strategy") return point.strategy;
  const auto it = std::ranges::find(point.axes, axis, &experiment::NamedText::name);
  return it == point.axes.end() ? "" : it->text;
}

const std::string& shown_value(const experiment::Experiment& experiment, const std::string& axis,
                               const std::string& text) {
  return experiment::label_of(*experiment.labels, axis, text);
}

std::string rows_axis_of(const experiment::Experiment& experiment, const experiment::ReportSpec& spec) {
  if (!spec.rows.empty()) return spec.rows;
  for (const experiment::Axis& axis : experiment.axes) {
    if (axis.key != spec.columns_axis) return axis.key;
  }
  return "strategy";
}

std::vector<std::string> in_planned_order(const experiment::Experiment& experiment, const std::string& axis,
                                          std::vector<std::string> texts) {
  TextNumbers planned;
  for (const experiment::Strategy& strategy : experiment.strategies) {
    if (axis == "strategy") planned.number_of(strategy.name);
  }
  for (const experiment::Axis& each : experiment.axes) {
    if (each.key != axis) continue;
    for (const std::string& text : each.texts) planned.number_of(text);
  }
  std::vector<std::pair<double, std::string>> placed;
  for (std::string& text : texts) {
    const double place = planned.number_of(text);
    placed.emplace_back(place, std::move(text));
  }
  std::ranges::sort(placed);
  std::transform(placed.begin(), placed.end(), texts.begin(), [](auto& each) { return std::move(each.second); });
  return texts;
}

namespace {

// Everything else that tells points apart: one matrix for each. What advances with rows or columns may be left out.
std::string other_coordinates(const experiment::Point& point, const experiment::Experiment& experiment,
                              const std::string& rows, const std::string& columns, bool leave_out) {
  const std::vector<experiment::Axis>& axes = experiment.axes;
  const auto is_shown = [&](std::size_t number) {
    return std::ranges::any_of(axes, [&](const experiment::Axis& axis) {
      const bool stands = &axis == &axes[number] || (leave_out && axis.leader == axes[number].leader);
      return stands && (axis.key == rows || axis.key == columns);
    });
  };
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    text += (text.empty() ? "" : ", ") + name + " = " + value;
  };
  if (rows != "strategy" && columns != "strategy") add("strategy", point.strategy);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!is_shown(i)) add(axes[i].key, shown_value(experiment, axes[i].key, point.axes[i].text));
  }
  return text;
}

// The baseline's own ratio is 1 whatever it is.
std::string ratio_text(const workloads::Metric& value, const workloads::Metric& base) {
  const std::string ratio = fixed(value.value / base.value, 3);
  const double half_width = ratio_half_width(value.half_width, value.value / base.value, base.value, base.half_width);
  return &value == &base || half_width == 0 ? ratio : ratio + " \u00b1" + fixed(half_width, 3);
}

class Matrix {
 public:
  Matrix(const Results& results, const experiment::ReportSpec& spec)
      : results_(results), spec_(spec), rows_axis_(rows_axis_of(results.experiment, spec)) {
    // Unless a value on the rows stands for several on an axis that advances with them.
    if (!place_all(/*leave_out=*/true)) place_all(/*leave_out=*/false);
  }

  std::string text() const {
    const auto* metric = first_of(results_, spec_.metric);
    std::string unit = metric == nullptr || metric->unit == "1" ? "" : " [" + metric->unit + "]";
    if (!spec_.baseline.empty()) unit = " relative to " + spec_.baseline;
    if (spec_.baseline.empty() && is_sum(spec_.metric)) unit += ", all transfers of a point";
    const std::vector<std::string> rows = in_planned_order(results_.experiment, rows_axis_, rows_.texts());
    const std::vector<std::string> columns =
        in_planned_order(results_.experiment, spec_.columns_axis, columns_.texts());
    std::string text;
    for (const std::string& sheet : sheets_.texts()) {
      text +=
          fmt::format("{}{}{}{}\n", text.empty() ? "" : "\n", spec_.metric, unit, sheet.empty() ? "" : ", " + sheet);
      std::vector<Column> heads{right(rows_axis_)};
      for (const std::string& column : columns)
        heads.push_back(right(shown_value(results_.experiment, spec_.columns_axis, column)));
      TextTable table(heads);
      for (const std::string& row : rows) {
        std::vector<std::string> cells{shown_value(results_.experiment, rows_axis_, row)};
        for (const std::string& column : columns) cells.push_back(cell({sheet, row, column}));
        table.add(std::move(cells));
      }
      text += table.text();
    }
    return text;
  }

 private:
  using Place = std::tuple<std::string, std::string, std::string>;  // sheet, row, column

  // False: two points would stand in one place.
  bool place_all(bool leave_out) {
    sheets_ = {};
    rows_ = {};
    columns_ = {};
    numbers_.clear();
    bool apart = true;
    for (std::size_t i = 0; i < results_.points.size(); ++i) {
      const experiment::Point& point = results_.points[i];
      const Place at{other_coordinates(point, results_.experiment, rows_axis_, spec_.columns_axis, leave_out),
                     coordinate(point, rows_axis_), coordinate(point, spec_.columns_axis)};
      sheets_.number_of(std::get<0>(at));
      rows_.number_of(std::get<1>(at));
      columns_.number_of(std::get<2>(at));
      apart = numbers_.emplace(at, i).second && apart;
    }
    return apart;
  }
  std::string cell(const Place& place) const {
    const auto found = numbers_.find(place);
    if (found == numbers_.end()) return "-";
    const auto* value = find_metric(results_.outcomes[found->second], spec_.metric);
    if (value == nullptr || spec_.baseline.empty())
      return marked_text(results_, found->second, spec_.metric,
                         value == nullptr ? std::nullopt : std::optional(*value));
    const auto base_at = numbers_.find({std::get<0>(place), std::get<1>(place), spec_.baseline});
    if (base_at == numbers_.end()) return "-";
    const auto* base = find_metric(results_.outcomes[base_at->second], spec_.metric);
    Failures failures = results_.failures_at(found->second);
    if (base_at != found) failures += results_.failures_at(base_at->second);
    return (base == nullptr || base->value == 0 ? "-" : ratio_text(*value, *base)) + mark_of(spec_.metric, failures);
  }

  const Results& results_;
  const experiment::ReportSpec& spec_;
  std::string rows_axis_;
  TextNumbers sheets_, rows_, columns_;
  std::map<Place, std::size_t> numbers_;  // of points
};

}  // namespace

std::string matrix_view(const Results& results, const experiment::ReportSpec& spec) {
  return Matrix(results, spec).text();
}

}  // namespace faultline::results
