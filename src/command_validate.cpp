// SPDX-License-Identifier: Apache-2.0
// faultline validate
#include <algorithm>
#include <optional>
#include <span>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/validation.hpp"
#include "src/validation_bands.hpp"

namespace faultline::app {

int validate_command(const Call& call) {
  std::filesystem::path path = call.library.folder() / "validation" / "published.toml";
  if (!call.options.arguments.empty()) path = call.options.arguments.front();
  const std::vector<Figure> figures = read_figures(path, call.options.overrides, call.library, call.simulator);
  const std::uint64_t seed = call.options.seed.value_or(1);
  std::optional<BandPlan> bands;
  if (call.options.bands) bands.emplace(figures, call.options.samples, seed, call.simulator);

  std::vector<experiment::Point> points = points_of(figures);
  const std::size_t own = points.size();
  if (bands) points.insert(points.end(), bands->points().begin(), bands->points().end());
  for (experiment::Point& point : points) point.seed = seed;
  const std::vector<runs::PointOutcome> outcomes = simulate_points(points, call);
  const auto not_run = [](const runs::PointOutcome& o) { return o.status == runs::PointStatus::not_run; };
  if (std::ranges::any_of(outcomes, not_run)) {
    call.console.err << "interrupted: nothing is kept\n";
    return kInterrupted;
  }
  const std::span<const runs::PointOutcome> all(outcomes);
  std::vector<Check> checks = compare(figures, all.first(own));
  if (bands) bands->add_bands(checks, all.subspan(own));
  switch (call.options.format) {
    case Format::table:
      call.console.out << checks_table(checks) << "\n";
      if (bands) call.console.out << bands_table(checks, *bands) << "\n";
      call.console.out << figures_text(checks);
      break;
    case Format::json: call.console.out << checks_json(checks); break;
    case Format::csv: call.console.out << checks_csv(checks); break;
  }
  // A sample that cannot be is no sample; one that shows a bug is a bug.
  const std::vector<runs::PointOutcome> of_figures(outcomes.begin(),
                                                   outcomes.begin() + static_cast<std::ptrdiff_t>(own));
  if (exit_code(outcomes, false) == kBug) return kBug;
  if (exit_code(of_figures, false) == kUsage) return kUsage;
  const bool passed = std::ranges::all_of(checks, [](const Check& check) { return check.passed || !counts(check); });
  return passed ? kFine : kCheckFailed;
}

}  // namespace faultline::app
