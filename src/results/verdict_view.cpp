// SPDX-License-Identifier: Apache-2.0
// The verdicts as a table, and the delays as another.
#include "src/results/report.hpp"
#include "src/results/text_table.hpp"
#include "src/results/verdict.hpp"

namespace faultline::results {

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
