// SPDX-License-Identifier: Apache-2.0
// faultline report
#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/results/html_report.hpp"
#include "src/results/report_data.hpp"

namespace faultline::app {

namespace fs = std::filesystem;

constexpr auto kBetweenNews = std::chrono::seconds(2);

int report_command(const Call& call) {
  if (results::kPage.head.empty()) {
    throw UserError(
        "this faultline was built without reports; configure it with -DFAULTLINE_REPORTS=ON, which needs the Debian "
        "packages nodejs and npm, and build it again");
  }
  const runs::Folder folder = runs::Folder::look_at(call.options.arguments.front());
  const runs::Manifest manifest = read_manifest(folder);
  const results::EffectiveExperiment effective =
      results::read_effective(folder, manifest, call.library, call.simulator);
  results::check_results(folder);
  const fs::path file = call.options.out.empty() ? folder.path() / "report.html" : fs::path(call.options.out);
  check_output("--out", file, "page", [](std::string_view first) { return first.starts_with("<!doctype html>"); });
  runs::Folder place = runs::Folder::look_at(file.has_parent_path() ? file.parent_path() : fs::path("."));

  results::ReportData data(effective, manifest, call.simulator);
  auto told = std::chrono::steady_clock::now();
  results::read_results(folder, effective.experiment,
                        [&](experiment::Point point, runs::PointOutcome outcome, double share) {
                          data.add(std::move(point), std::move(outcome));
                          const auto now = std::chrono::steady_clock::now();
                          if (call.options.quiet || share < 0 || now - told < kBetweenNews) return;
                          told = now;
                          call.console.err << fmt::format("reading the results: {:.0f} %\n", 100 * share) << std::flush;
                        });
  const std::string& question = effective.experiment.question;
  place.write(file.filename().string(),
              html_page(results::kPage, question.empty() ? manifest.experiment : question, data.json(folder)),
              runs::Folder::Sync::no);
  call.console.out << file.string() << "\n";
  return kFine;
}

}  // namespace faultline::app
