// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/report.hpp"
#include "src/text_table.hpp"

namespace faultline::app {
namespace {

// The columns that RDMA people know from perftest, and what a page fault adds to them. Shorter titles
// leave room; the ones with the largest `rank` go first when the table is too wide.
struct KnownColumn {
  const char* metric;
  const char* title;
  int rank;
};
constexpr KnownColumn kColumns[] = {{"transfers", "iterations", 3},
                                    {"latency_min", "t_min", 2},
                                    {"latency_typical", "t_typical", 0},
                                    {"latency_mean", "t_avg", 0},
                                    {"latency_p99", "t_p99", 0},
                                    {"latency_max", "t_max", 9},
                                    {"goodput_peak", "BW_peak", 2},
                                    {"goodput", "BW_avg", 0},
                                    {"faults", "faults", 0},
                                    {"retransmitted_bytes", "resent", 1},
                                    {"cpu_time", "cpu", 0},
                                    {"cpu_time_user", "user", 4},
                                    {"cpu_time_system", "system", 4},
                                    {"cpu_time_irq", "irq", 4},
                                    {"cpu_time_softirq", "softirq", 4},
                                    {"cpu_time_polling", "polling", 4},
                                    {"pinned_bytes_peak", "pinned", 1}};

struct MetricColumn {
  std::string metric;
  std::string title;
  int rank;
};

const workloads::Metric* first_of(const Results& results, const std::string& name) {
  for (const PointOutcome& outcome : results.outcomes) {
    if (const auto* metric = find_metric(outcome, name)) return metric;
  }
  return nullptr;
}

std::vector<MetricColumn> choose_columns(const Results& results, const ReportSpec& spec) {
  std::vector<MetricColumn> chosen;
  if (!spec.columns.empty()) {
    for (const std::string& name : spec.columns) {
      const auto* known =
          std::find_if(std::begin(kColumns), std::end(kColumns), [&](const auto& c) { return name == c.metric; });
      chosen.push_back({name, known == std::end(kColumns) ? name : known->title, 0});
    }
    return chosen;
  }
  for (const KnownColumn& column : kColumns) {
    if (column.rank < 9 && first_of(results, column.metric) != nullptr)
      chosen.push_back({column.metric, column.title, column.rank});
  }
  // When every point failed, a column must still say so.
  if (chosen.empty()) chosen.push_back({"latency_mean", "t_avg", 0});
  return chosen;
}

// Plain counts have no decimals, shares need them.
std::string cell_text(const workloads::Metric& metric) {
  const bool share = metric.unit == "1" && std::floor(metric.value) != metric.value;
  return fixed(metric.value, share ? 3 : decimals_of(metric.unit));
}

TextTable points_table(const Results& results, const std::vector<MetricColumn>& chosen) {
  std::vector<Column> columns{{"strategy", "", Align::left}};
  for (const Axis& axis : results.experiment.axes) columns.push_back({axis.key, "", Align::right});
  for (const MetricColumn& column : chosen) {
    const auto* metric = first_of(results, column.metric);
    const std::string unit = metric == nullptr || metric->unit == "1" ? "" : "[" + metric->unit + "]";
    columns.push_back({column.title, unit, Align::right});
  }
  TextTable table(columns);
  for (std::size_t i = 0; i < results.points.size(); ++i) {
    const Point& point = results.points[i];
    const PointOutcome& outcome = results.outcomes[i];
    // One block a strategy, as one perftest run prints one; without axes they are rows to be compared.
    if (i > 0 && results.points[i - 1].strategy != point.strategy && !point.axes.empty()) table.gap();
    std::vector<std::string> cells{point.strategy};
    for (const NamedText& axis : point.axes) cells.push_back(axis.text);
    for (const MetricColumn& column : chosen) {
      const auto* metric = find_metric(outcome, column.metric);
      cells.push_back(outcome.status == PointStatus::not_run ? "not run"
                      : metric == nullptr                    ? (outcome.error.empty() ? "-" : "error")
                                                             : cell_text(*metric));
    }
    table.add(std::move(cells));
  }
  return table;
}

// The value of the axis (or the strategy) that a row or a column of a matrix stands for.
std::string coordinate(const Point& point, const std::string& axis) {
  if (axis == "strategy") return point.strategy;
  const auto it =
      std::find_if(point.axes.begin(), point.axes.end(), [&](const NamedText& a) { return a.name == axis; });
  return it == point.axes.end() ? "" : it->text;
}

void add_new(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

// Everything else that tells points apart: one matrix for each.
std::string other_coordinates(const Point& point, const std::string& rows, const std::string& columns) {
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (name != rows && name != columns) text += (text.empty() ? "" : ", ") + name + " = " + value;
  };
  add("strategy", point.strategy);
  for (const NamedText& axis : point.axes) add(axis.name, axis.text);
  return text;
}

std::string bar(double from, double length, double total, std::size_t width) {
  if (!(total > 0)) return "";
  const auto cells = [&](double value) {
    return static_cast<std::size_t>(std::lround(value / total * static_cast<double>(width)));
  };
  const std::size_t begin = std::min(cells(from), width);
  const std::size_t end = std::min(std::max(cells(from + length), begin), width);
  // A step too short for a cell still shows where it lies.
  const std::string fill = end > begin ? std::string(end - begin, '#') : "|";
  return std::string(begin, ' ') + fill;
}

std::string breakdown_table(const std::vector<workloads::BreakdownRow>& rows) {
  double total = 0;
  for (const auto& row : rows) total += row.mean_us;
  TextTable table({{"step", "", Align::left},
                   {"where", "", Align::left},
                   {"time", "[us]", Align::right},
                   {"cumulative", "[us]", Align::right},
                   {"share", "[%]", Align::right},
                   {"samples", "", Align::right},
                   {"|" + std::string(38, '-') + "|", "", Align::left}});
  double before = 0;
  for (const auto& row : rows) {
    table.add({row.step, row.where, fixed(row.mean_us, 3), fixed(before + row.mean_us, 3),
               total > 0 ? fixed(100 * row.mean_us / total, 1) : "-", std::to_string(row.samples),
               bar(before, row.mean_us, total, 40)});
    before += row.mean_us;
  }
  return table.text();
}

}  // namespace

std::string points_view(const Results& results, const ReportSpec& spec, std::size_t width) {
  std::vector<MetricColumn> chosen = choose_columns(results, spec);
  std::string hidden;
  TextTable table = points_table(results, chosen);
  while (spec.columns.empty() && table.width() > width) {
    const auto widest =
        std::max_element(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    if (widest == chosen.end() || widest->rank == 0) break;
    hidden += (hidden.empty() ? "" : ", ") + widest->metric;
    chosen.erase(widest);
    table = points_table(results, chosen);
  }
  return table.text() + (hidden.empty() ? "" : "(too narrow for " + hidden + "; the run folder has them)\n");
}

std::string matrix_view(const Results& results, const ReportSpec& spec) {
  if (results.experiment.axes.empty()) return points_view(results, {}, 160);
  std::string rows_axis = spec.rows;
  for (const Axis& axis : results.experiment.axes) {
    if (rows_axis.empty() && axis.key != spec.columns_axis) rows_axis = axis.key;
  }
  if (rows_axis.empty()) rows_axis = "strategy";
  std::vector<std::string> sheets, rows, columns;
  for (const Point& point : results.points) {
    add_new(sheets, other_coordinates(point, rows_axis, spec.columns_axis));
    add_new(rows, coordinate(point, rows_axis));
    add_new(columns, coordinate(point, spec.columns_axis));
  }
  const auto* metric = first_of(results, spec.metric);
  const std::string unit = metric == nullptr || metric->unit == "1" ? "" : " [" + metric->unit + "]";
  std::string text;
  for (const std::string& sheet : sheets) {
    text += fmt::format("{}{}{}{}\n", text.empty() ? "" : "\n", spec.metric, unit, sheet.empty() ? "" : ", " + sheet);
    std::vector<Column> heads{{rows_axis, "", Align::right}};
    for (const std::string& column : columns) heads.push_back({column, "", Align::right});
    TextTable table(heads);
    for (const std::string& row : rows) {
      std::vector<std::string> cells{row};
      for (const std::string& column : columns) {
        std::string cell = "-";
        for (std::size_t i = 0; i < results.points.size(); ++i) {
          const Point& point = results.points[i];
          if (coordinate(point, rows_axis) != row || coordinate(point, spec.columns_axis) != column ||
              other_coordinates(point, rows_axis, spec.columns_axis) != sheet) {
            continue;
          }
          const auto* value = find_metric(results.outcomes[i], spec.metric);
          if (value != nullptr) cell = cell_text(*value);
          if (!results.outcomes[i].error.empty()) cell = "error";
        }
        cells.push_back(cell);
      }
      table.add(std::move(cells));
    }
    text += table.text();
  }
  return text;
}

std::string breakdown_view(const Results& results) {
  std::string text;
  for (std::size_t i = 0; i < results.points.size(); ++i) {
    const auto& rows = results.outcomes[i].result.breakdown;
    if (rows.empty()) continue;
    text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", results.points[i].label(), breakdown_table(rows));
  }
  return text.empty() ? "no point measured a breakdown\n" : text;
}

}  // namespace faultline::app
