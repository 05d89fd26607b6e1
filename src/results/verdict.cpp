// SPDX-License-Identifier: Apache-2.0
#include "src/results/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/results/report.hpp"
#include "src/results/text_table.hpp"

namespace faultline::results {

namespace {

double value_of(const runs::PointOutcome& outcome, const std::string& metric) {
  const auto* found = find_metric(outcome, metric);
  return found == nullptr ? 0 : found->value;
}

}  // namespace

void Verdict::add(const experiment::Point& point, const runs::PointOutcome& outcome) {
  if (!spec_->only_axis.empty() && coordinate(point, spec_->only_axis) != spec_->only_value) return;
  // One run, which stands for its repetitions.
  if (!outcome.result.draws && point.repetition > 0) return;
  const std::string row = coordinate(point, rows_axis_);
  const std::string column = coordinate(point, spec_->columns_axis);
  rows_.number_of(row);
  columns_.number_of(column);
  Cell& cell = cells_[{row, column}];
  ++cell.runs;
  cell.error = cell.error || !outcome.error.empty();
  cell.refused = cell.refused || !outcome.result.refused.empty();
  for (const char* name : {"injections", "stale_accesses", "data_errors", "other_data_errors", "delay_max"})
    cell.most[name] = std::max(cell.most[name], value_of(outcome, name));
  if (value_of(outcome, "faults") != 0) {
    ++cell.hits;
    cell.went_through = cell.went_through || value_of(outcome, "injected_pages") > 0;
  }
  if (!outcome.result.metrics.empty()) cell.failures += failures_of(outcome);
  cell.delayed += value_of(outcome, "transfers_delayed");
}

void Verdict::sort(const experiment::Experiment& experiment) {
  const auto sorted = [&](const std::string& axis, const TextNumbers& texts) {
    TextNumbers planned;
    for (const std::string& text : in_planned_order(experiment, axis, texts.texts())) planned.number_of(text);
    return planned;
  };
  rows_ = sorted(rows_axis_, rows_);
  columns_ = sorted(spec_->columns_axis, columns_);
}

const Verdict::Cell* Verdict::find(const std::string& row, const std::string& column) const {
  const auto found = cells_.find({row, column});
  return found == cells_.end() ? nullptr : &found->second;
}

std::string Verdict::word(const std::string& row, const std::string& column) const {
  const Cell* cell = find(row, column);
  if (cell == nullptr) return "-";
  if (cell->error) return "error";
  if (cell->refused) return "refused";
  if (cell->most.at("injections") == 0) return "n/a";
  const char* word = cell->hits == 0 ? "none" : cell->went_through && 2 * cell->hits >= cell->runs ? "faults" : "race";
  std::string text = fmt::format("{} {}/{}", word, cell->hits, cell->runs);
  if (cell->most.at("stale_accesses") > 0) text += ", stale";
  if (cell->most.at("data_errors") + cell->most.at("other_data_errors") > 0) text += ", wrong data";
  if (cell->failures.failed > 0) text += ", failed";
  return text;
}

std::string Verdict::delays(const std::string& row, const std::string& column) const {
  const Cell* cell = find(row, column);
  if (cell == nullptr || cell->error || cell->most.at("injections") == 0) return "-";
  const std::string longest = cell->delayed == 0 ? "" : fmt::format("{:.0f}  ", cell->most.at("delay_max"));
  return fmt::format("{}{:.0f}/{}{}", longest, cell->delayed, cell->failures.transfers,
                     mark_of("delay_max", cell->failures));
}

std::string verdict_view(const Results& results, const experiment::ReportSpec& spec) {
  Verdict verdict(rows_axis_of(results.experiment, spec), spec);
  for (std::size_t i = 0; i < results.points.size(); ++i) verdict.add(results.points[i], results.outcomes[i]);
  if (verdict.rows().empty()) return "";
  verdict.sort(results.experiment);
  const auto shown = [&](const std::string& axis, const std::string& text) {
    return shown_value(results.experiment, axis, text);
  };
  const std::string only =
      spec.only_axis.empty() ? "" : ", " + spec.only_axis + " = " + shown(spec.only_axis, spec.only_value);
  std::vector<Column> heads{right(verdict.rows_axis())};
  for (const std::string& column : verdict.columns()) heads.push_back(right(shown(spec.columns_axis, column)));
  TextTable table(heads);
  TextTable delays(heads);
  for (const std::string& row : verdict.rows()) {
    std::vector<std::string> words{shown(verdict.rows_axis(), row)};
    std::vector<std::string> times = words;
    for (const std::string& column : verdict.columns()) {
      words.push_back(verdict.word(row, column));
      times.push_back(verdict.delays(row, column));
    }
    table.add(std::move(words));
    delays.add(std::move(times));
  }
  const std::string legend =
      "faults: in at least half of the runs, and the mechanism went through; race: in fewer, or only where it was "
      "undone; n/a: it cannot happen;\n"
      "stale: the device used translations that were no longer true; wrong data: the end-to-end check found them; "
      "failed: a transfer did not get through\n";
  return "faults of the device: in how many runs" + only + "\n" + table.text() + legend +
         "\nlongest delay of a transfer [us], transfers delayed of all" + only + "\n" + delays.text() +
         "delayed: by more than 1 us and 1 % against the fastest of its run; !: so many transfers failed, and have no "
         "delay\n";
}

}  // namespace faultline::results
