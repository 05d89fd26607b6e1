// SPDX-License-Identifier: Apache-2.0
// faultline validate
#include <algorithm>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/validation.hpp"

namespace faultline::app {

int validate_command(const Options& options, const ConfigLibrary& library, const Simulator& simulator,
                     const Console& console) {
  std::filesystem::path path = library.folder() / "validation" / "published.toml";
  if (!options.arguments.empty()) path = options.arguments.front();
  const std::vector<Figure> figures = read_figures(path, options.overrides, library, simulator);
  std::vector<Point> points = points_of(figures);
  for (Point& point : points) point.seed = options.seed.value_or(1);
  const std::vector<PointOutcome> outcomes = simulate_points(points, options, simulator, console);
  const auto not_run = [](const PointOutcome& o) { return o.status == PointStatus::not_run; };
  if (std::any_of(outcomes.begin(), outcomes.end(), not_run)) {
    console.err << "interrupted: nothing is kept\n";
    return kInterrupted;
  }
  const std::vector<Check> checks = compare(figures, outcomes);
  switch (options.format) {
    case Format::table: console.out << checks_table(checks) << "\n" << figures_text(checks); break;
    case Format::json: console.out << checks_json(checks); break;
    case Format::csv: console.out << checks_csv(checks); break;
  }
  if (const int code = exit_code(outcomes, false); code == kBug || code == kUsage) return code;
  const bool passed =
      std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.passed || !counts(check); });
  return passed ? kFine : kCheckFailed;
}

}  // namespace faultline::app
