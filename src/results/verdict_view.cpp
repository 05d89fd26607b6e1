// SPDX-License-Identifier: Apache-2.0
// What devices met: for each row and column one word on all the points that fall there, whatever their other axes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "src/results/report.hpp"
#include "src/results/text_table.hpp"

namespace faultline::app {
namespace {

double value_of(const PointOutcome& outcome, const std::string& metric) {
  const auto* found = find_metric(outcome, metric);
  return found == nullptr ? 0 : found->value;
}

struct Cell {
  std::vector<const PointOutcome*> runs;

  double most(const std::string& metric) const {
    double most = 0;
    for (const PointOutcome* run : runs) most = std::max(most, value_of(*run, metric));
    return most;
  }
  bool any_error() const {
    return std::any_of(runs.begin(), runs.end(), [](const PointOutcome* run) { return !run->error.empty(); });
  }

  bool any_refused() const {
    return std::any_of(runs.begin(), runs.end(), [](const PointOutcome* run) { return !run->result.refused.empty(); });
  }

  // `faults`: in at least half of the runs, and the mechanism went through. `race`: in fewer, or only where it was
  // undone.
  std::string text() const {
    if (runs.empty()) return "-";
    if (any_error()) return "error";
    if (any_refused()) return "refused";
    if (most("injections") == 0) return "n/a";
    std::size_t hits = 0;
    bool went_through = false;
    for (const PointOutcome* run : runs) {
      if (value_of(*run, "faults") == 0) continue;
      ++hits;
      went_through = went_through || value_of(*run, "injected_pages") > 0;
    }
    const char* word = hits == 0 ? "none" : went_through && 2 * hits >= runs.size() ? "faults" : "race";
    std::string text = fmt::format("{} {}/{}", word, hits, runs.size());
    if (most("stale_accesses") > 0) text += ", stale";
    if (most("data_errors") > 0) text += ", wrong data";
    if (most("transfers_failed") > 0) text += ", failed";
    return text;
  }

  // The longest delay in all runs, and how many of their transfers were delayed.
  std::string delays() const {
    if (runs.empty() || any_error() || most("injections") == 0) return "-";
    double delayed = 0;
    double transfers = 0;
    for (const PointOutcome* run : runs) {
      delayed += value_of(*run, "transfers_delayed");
      transfers += value_of(*run, "transfers");
    }
    return delayed == 0 ? fmt::format("0/{:.0f}", transfers)
                        : fmt::format("{:.0f}  {:.0f}/{:.0f}", most("delay_max"), delayed, transfers);
  }
};

}  // namespace

std::string verdict_view(const Results& results, const ReportSpec& spec) {
  const std::string rows_axis = rows_axis_of(results, spec);
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::map<std::pair<std::string, std::string>, Cell> cells;
  for (std::size_t i = 0; i < results.points.size(); ++i) {
    const std::string row = coordinate(results.points[i], rows_axis);
    const std::string column = coordinate(results.points[i], spec.columns_axis);
    add_new(rows, row);
    add_new(columns, column);
    cells[{row, column}].runs.push_back(&results.outcomes[i]);
  }
  std::vector<Column> heads{{rows_axis, "", Align::right}};
  for (const std::string& column : columns) heads.push_back({column, "", Align::right});
  TextTable table(heads);
  TextTable delays(heads);
  for (const std::string& row : rows) {
    std::vector<std::string> words{row};
    std::vector<std::string> times{row};
    for (const std::string& column : columns) {
      words.push_back(cells[{row, column}].text());
      times.push_back(cells[{row, column}].delays());
    }
    table.add(std::move(words));
    delays.add(std::move(times));
  }
  return "faults of the device: in how many runs\n" + table.text() +
         "faults: in at least half of the runs, and the mechanism went through; race: in fewer, or only where it was "
         "undone; n/a: it cannot happen\n\nlongest delay of a transfer [us], transfers delayed of all\n" +
         delays.text();
}

}  // namespace faultline::app
