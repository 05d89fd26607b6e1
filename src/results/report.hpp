// SPDX-License-Identifier: Apache-2.0
// The tables that a person reads after a run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/results/failures.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {

struct Results {
  const experiment::Experiment& experiment;
  const std::vector<experiment::Point>& points;
  const std::vector<runs::PointOutcome>& outcomes;
  std::vector<Failures> failures = {};  // of outcomes that are means: of all their seeds

  Failures failures_at(std::size_t point) const {
    return failures.empty() ? failures_of(outcomes[point]) : failures[point];
  }
};

// Question, platform, seed and what differs from the defaults in every point.
std::string report_head(const Results& results);

// All views of the experiment, at most `width` columns wide where they can be; then the points' notes
// and what went wrong.
std::string report_tables(const Results& results, std::size_t width);

// Each view for itself.
std::string points_view(const Results& results, const experiment::ReportSpec& spec, std::size_t width);
std::string matrix_view(const Results& results, const experiment::ReportSpec& spec);
// What the device met: a verdict on all points of a row and a column together. Empty where no point has the value that
// the report is restricted to; report_tables() says so for all such reports at once.
std::string verdict_view(const Results& results, const experiment::ReportSpec& spec);
std::string breakdown_view(const Results& results);
// "" when there are none.
std::string remarks(const Results& results);

// The value of the axis (or the strategy) that a row or a column of a matrix stands for.
std::string coordinate(const experiment::Point& point, const std::string& axis);
// What tables call it.
const std::string& shown_value(const experiment::Experiment& experiment, const std::string& axis,
                               const std::string& text);
std::string rows_axis_of(const experiment::Experiment& experiment, const experiment::ReportSpec& spec);
// In the experiment's order of the axis's values (or the strategies), which the first points may lack.
std::vector<std::string> in_planned_order(const experiment::Experiment& experiment, const std::string& axis,
                                          std::vector<std::string> texts);

// nullptr when the point has no such metric.
const workloads::Metric* find_metric(const runs::PointOutcome& outcome, const std::string& name);
// Of the first point that has it; nullptr when none has.
const workloads::Metric* first_of(const Results& results, const std::string& name);
// The value with the decimals that its unit asks for: plain counts have none, shares need them.
std::string cell_text(const workloads::Metric& metric);
// What stands in a cell whose point has no such metric: that it was refused, failed, was not run.
std::string absent_text(const runs::PointOutcome& outcome);
// What stands in the cell of a point: the metric or why there is none, and the mark of what is not in it.
std::string marked_text(const Results& results, std::size_t point, const std::string& name,
                        const std::optional<workloads::Metric>& metric);
// A metric as the points view shows it.
struct TableColumn {
  std::string metric;
  std::string title;
  int rank;   // the columns of the greatest are the first to go where there is no room
  bool each;  // a sum over the run, shown for one transfer, as the latencies are
};
// Those that the report asks for; without a list the usual ones, as far as something was measured.
using IsMeasured = std::function<bool(const std::string& metric)>;
std::vector<TableColumn> choose_columns(const experiment::Experiment& experiment, const experiment::ReportSpec& spec,
                                        const IsMeasured& is_measured);
// Whether a metric is a sum over a point's transfers, which the points view shows for each of them.
bool is_sum(const std::string& metric);
// Faults of one cause, and the like: shown only where there are any.
bool is_part_of_faults(const std::string& metric);
// Above a metric's column in the points view: "t_avg" for "latency_mean".
std::string column_title(const std::string& metric);

// Axes whose values differ and whose points, where all else is the same, have the same metrics. Axes that advance
// together are one, "a.b and c.d". None where a point is not complete: then nobody knows.
std::vector<std::string> idle_axes(const Results& results);

// Host time, of --profile: by parts of the model, of all points together, the most time first.
std::vector<sim::Profile::Row> profile_by_part(const std::vector<runs::PointOutcome>& outcomes);

// And by process, both as tables. `width`: of a line.
std::string profile_text(const std::vector<experiment::Point>& points, const std::vector<runs::PointOutcome>& outcomes,
                         std::size_t width);

}  // namespace faultline::results
