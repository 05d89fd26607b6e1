// SPDX-License-Identifier: Apache-2.0
// faultline worker
#include <fmt/format.h>

#include <algorithm>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/runs/interrupt.hpp"
#include "src/runs/launcher.hpp"
#include "src/runs/outcome_text.hpp"
#include "src/runs/manifest.hpp"
#include "src/work.hpp"

namespace faultline::app {
namespace {

std::vector<std::size_t> without_result(const std::vector<experiment::Point>& points, const runs::Folder& folder) {
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!has_result(folder, points[i].id)) missing.push_back(i);
  }
  return missing;
}

std::vector<std::string> damaged_of(const std::vector<experiment::Point>& points,
                                    const std::vector<std::size_t>& missing, const runs::Folder& folder) {
  std::vector<std::string> files;
  for (const std::size_t i : missing) {
    if (result_in(folder, points[i].id).damaged)
      files.push_back((folder.path() / runs::file_of(points[i].id)).string());
  }
  return files;
}

std::string summary(const runs::WorkerState& state, std::size_t left) {
  std::string text = fmt::format("worker {}: {} points simulated", state.name, state.simulated);
  if (state.failed > 0) text += fmt::format(", {} of them failed", state.failed);
  return text + (left > 0 ? fmt::format("; {} have no result yet: others are at them, or were\n", left) : "\n");
}

}  // namespace

int worker_command(const Options& options, const experiment::ConfigLibrary& library,
                   const experiment::Simulator& simulator, const Console& console) {
  runs::Folder folder = runs::Folder::join(options.arguments.front());
  const runs::Manifest manifest = read_manifest(folder);
  const std::vector<experiment::Point> points =
      expand(experiment_in(folder, manifest, {}, library, simulator), simulator);
  check_manifest(folder, manifest, points);
  const unsigned jobs = options.jobs_chosen ? options.jobs : runs::jobs_of_worker(options.jobs);
  const bool is_quiet = options.quiet || runs::mpi_rank() > 0;  // the ranks share a terminal

  runs::PointStore store(folder);
  std::vector<runs::PointOutcome> outcomes;  // without their results, which are in the folder
  const auto ended = [&](std::size_t index, const runs::PointOutcome& outcome) {
    const bool is_told = !outcome.error.empty() || status_text(outcome) == runs::kStatusCheckFailed;
    if (is_told) console.err << fmt::format("{}: {}\n", points[index].label(), reason_text(outcome));
    runs::PointOutcome& kept = outcomes.emplace_back();
    kept.status = outcome.status;
    kept.result.failed_checks = outcome.result.failed_checks;
  };
  const std::vector<std::size_t> missing = without_result(points, folder);
  if (runs::mpi_rank() <= 0) tell_damage(damaged_of(points, missing, folder), console);
  const runs::WorkerState state =
      work_on({points, missing, runs::ClaimedPoints::Others::leave, jobs, options.timeout, is_quiet, /*log=*/true},
              store, simulator, console, ended);
  if (!is_quiet) console.err << summary(state, without_result(points, folder).size());
  if (!store.failure().empty()) throw experiment::UserError(store.failure());
  return exit_code(outcomes, runs::InterruptGuard::requested());
}

}  // namespace faultline::app
