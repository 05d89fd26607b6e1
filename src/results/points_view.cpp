// SPDX-License-Identifier: Apache-2.0
// One row a point, with the columns that RDMA people know from perftest and what a page fault adds to them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "src/results/report.hpp"
#include "src/results/text_table.hpp"

namespace faultline::results {
namespace {

// When the table is too wide the columns with the largest `rank` go first, those of one rank together: a
// part of the CPU time would mislead.
constexpr int kNeverByItself = 9;
const std::vector<TableColumn> kColumns{{"transfers", "iterations", 3, false},
                                        {"latency_min", "t_min", 2, false},
                                        {"latency_typical", "t_typical", 2, false},
                                        {"latency_mean", "t_avg", 0, false},
                                        {"latency_p99", "t_p99", 2, false},
                                        {"latency_max", "t_max", kNeverByItself, false},
                                        {"goodput_peak", "BW_peak", 3, false},
                                        {"goodput", "BW_avg", 0, false},
                                        {"faults", "faults", 0, true},
                                        {"retransmitted_bytes", "resent", 1, true},
                                        {"dropped_bytes", "dropped", kNeverByItself, true},
                                        {"timeouts", "timeouts", kNeverByItself, true},
                                        {"cpu_time", "cpu", 0, true},
                                        {"cpu_time_user", "user", 4, true},
                                        {"cpu_time_system", "system", 4, true},
                                        {"cpu_time_softirq", "softirq", 4, true},
                                        {"cpu_time_irq", "irq", 4, true},
                                        {"cpu_time_polling", "polling", 5, true},
                                        {"cpu_time_initiator", "cpu_initiator", kNeverByItself, true},
                                        {"cpu_time_target", "cpu_target", kNeverByItself, true},
                                        {"setup_time", "setup", 1, false},
                                        {"pinned_bytes_peak", "pinned", 1, false},
                                        {"locked_bytes_peak", "locked", 1, false},
                                        {"hugetlb_bytes", "hugetlb", 1, false}};

const TableColumn* known_column(const std::string& metric) {
  const auto found = std::ranges::find(kColumns, metric, &TableColumn::metric);
  return found == kColumns.end() ? nullptr : &*found;
}

// Why pages were not usable: in the order of the metrics, and the first to go where there is no room.
void add_parts_of_faults(std::vector<TableColumn>& chosen, bool each, const IsMeasured& is_measured) {
  constexpr int kRank = 6;
  constexpr std::string_view kPrefix = "faults_";
  for (const workloads::MetricDoc& doc : workloads::metric_docs()) {
    if (!is_part_of_faults(doc.name) || !is_measured(doc.name)) continue;
    const bool has_prefix = doc.name.starts_with(kPrefix);
    chosen.push_back({doc.name, has_prefix ? doc.name.substr(kPrefix.size()) : doc.name, kRank, each});
  }
}

// As it stands in the table.
std::optional<workloads::Metric> shown(const runs::PointOutcome& outcome, const TableColumn& column) {
  const auto* metric = find_metric(outcome, column.metric);
  if (metric == nullptr) return std::nullopt;
  workloads::Metric value = *metric;
  const auto* transfers = find_metric(outcome, "transfers");
  if (column.each && transfers != nullptr && transfers->value > 0) {
    value.value /= transfers->value;
    value.half_width /= transfers->value;
  }
  return value;
}

std::string unit_of(const Results& results, const TableColumn& column) {
  const auto* metric = first_of(results, column.metric);
  if (metric == nullptr) return "";
  if (column.each) return metric->unit == "1" ? "[/op]" : "[" + metric->unit + "/op]";
  return metric->unit == "1" ? "" : "[" + metric->unit + "]";
}

TextTable points_table(const Results& results, const std::vector<TableColumn>& chosen) {
  std::vector<Column> columns{left("strategy")};
  for (const experiment::Axis& axis : results.experiment.axes) columns.push_back(right(axis.key));
  for (const TableColumn& column : chosen) columns.push_back(right(column.title, unit_of(results, column)));
  TextTable table(columns);
  for (std::size_t i = 0; i < results.points.size(); ++i) {
    const experiment::Point& point = results.points[i];
    // One block a strategy, as one perftest run prints one; without axes they are rows to be compared.
    if (i > 0 && results.points[i - 1].strategy != point.strategy && !point.axes.empty()) table.gap();
    std::vector<std::string> cells{point.strategy};
    for (const experiment::NamedText& axis : point.axes)
      cells.push_back(shown_value(results.experiment, axis.name, axis.text));
    for (const TableColumn& column : chosen)
      cells.push_back(marked_text(results, i, column.metric, shown(results.outcomes[i], column)));
    table.add(std::move(cells));
  }
  return table;
}

// True of every point that has the column.
template <typename Test>
bool everywhere(const Results& results, const TableColumn& column, Test test) {
  return std::ranges::all_of(results.outcomes, [&](const runs::PointOutcome& outcome) {
    const auto value = shown(outcome, column);
    return !value || test(outcome, *value);
  });
}

bool always_zero(const Results& results, const TableColumn& column) {
  return everywhere(results, column, [](const runs::PointOutcome&, const auto& value) { return value.value == 0; });
}

// A latency that reads as the mean does.
bool says_the_mean(const Results& results, const TableColumn& column) {
  const std::string_view name = workloads::metric_in_program(column.metric);
  if (!name.starts_with("latency_") || name == "latency_mean") return false;
  const std::string mean_of = column.metric.substr(0, column.metric.size() - name.size()) + "latency_mean";
  return everywhere(results, column, [&mean_of](const runs::PointOutcome& outcome, const auto& value) {
    const auto* mean = find_metric(outcome, mean_of);
    return mean != nullptr && cell_text(*mean) == cell_text(value);
  });
}

// Takes columns out until the table fits: first those that say nothing, then by rank. Says which.
std::string narrow(const Results& results, std::size_t width, std::vector<TableColumn>& chosen) {
  std::vector<std::string> same, zero, cut;
  const auto too_wide = [&] { return points_table(results, chosen).width() > width; };
  const auto take_out = [&](auto which, std::vector<std::string>& titles) {
    for (const TableColumn& column : chosen) {
      if (which(column)) titles.push_back(column.title);
    }
    std::erase_if(chosen, which);
  };
  if (too_wide()) take_out([&](const TableColumn& c) { return says_the_mean(results, c); }, same);
  if (too_wide()) take_out([&](const TableColumn& c) { return c.rank > 0 && always_zero(results, c); }, zero);
  while (too_wide()) {
    const auto rank = [](const TableColumn& a, const TableColumn& b) { return a.rank < b.rank; };
    const int most = std::ranges::max_element(chosen, rank)->rank;
    if (most == 0) break;
    take_out([&](const TableColumn& column) { return column.rank == most; }, cut);
  }
  std::string text;
  const auto say = [&](const char* why, const std::vector<std::string>& titles) {
    if (!titles.empty()) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", why, fmt::join(titles, ", "));
  };
  say("equal to t_avg", same);
  say("all 0", zero);
  say("too wide", cut);
  return text.empty() ? "" : "(left out: " + text + "; the run folder has them)";
}

}  // namespace

bool is_part_of_faults(const std::string& metric) { return metric.starts_with("faults_") || metric == "refaults"; }

bool is_sum(const std::string& metric) {
  const TableColumn* known = known_column(metric);
  return is_part_of_faults(metric) || workloads::is_counter(metric) || (known != nullptr && known->each);
}

std::vector<TableColumn> choose_columns(const experiment::Experiment& experiment, const experiment::ReportSpec& spec,
                                        const IsMeasured& is_measured) {
  const std::vector<std::string> programs = experiment.programs();
  // Of several programs no number of transfers is that of all sums.
  const bool one = programs.empty();
  std::vector<TableColumn> chosen;
  for (const std::string& name : spec.columns) chosen.push_back({name, column_title(name), 0, one && is_sum(name)});
  if (!spec.columns.empty()) return chosen;
  for (const TableColumn& column : kColumns) {
    for (const std::string& program : programs) {
      const std::string metric = program + "." + column.metric;
      if (column.rank < kNeverByItself && is_measured(metric))
        chosen.push_back({metric, column_title(metric), column.rank, false});
    }
    if (column.rank < kNeverByItself && is_measured(column.metric) &&
        (one || !workloads::is_sum_over_programs(column.metric))) {
      chosen.push_back({column.metric, column.title, column.rank, one && column.each});
    }
    if (column.metric == "faults") add_parts_of_faults(chosen, one, is_measured);
  }
  // When every point failed, a column must still say so.
  if (chosen.empty()) chosen.push_back({"latency_mean", "t_avg", 0, false});
  return chosen;
}

// "victim t_avg" of one program of several.
std::string column_title(const std::string& metric) {
  const std::string name(workloads::metric_in_program(metric));
  const TableColumn* known = known_column(name);
  const std::string title = known == nullptr ? name : known->title;
  const std::size_t program = metric.size() - name.size();
  return program == 0 ? title : metric.substr(0, program - 1) + " " + title;
}

std::string points_view(const Results& results, const experiment::ReportSpec& spec, std::size_t width) {
  std::vector<TableColumn> chosen = choose_columns(results.experiment, spec, [&](const std::string& metric) {
    const TableColumn column{metric, metric, 0, false};
    return first_of(results, metric) != nullptr && !(is_part_of_faults(metric) && always_zero(results, column));
  });
  const std::string left_out = spec.columns.empty() ? narrow(results, width, chosen) : "";
  const bool each = std::ranges::any_of(chosen, [](const TableColumn& c) { return c.each; });
  std::string text = points_table(results, chosen).text();
  if (each) {
    text +=
        wrap("(/op: for each transfer, both nodes together; 'faultline list metrics' explains the columns)", width, 1) +
        "\n";
  }
  return text + (left_out.empty() ? "" : wrap(left_out, width, 1) + "\n");
}

}  // namespace faultline::results
