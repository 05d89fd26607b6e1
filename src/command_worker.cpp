// SPDX-License-Identifier: Apache-2.0
// faultline worker
#include <fmt/format.h>

#include <algorithm>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/runs/host.hpp"
#include "src/runs/interrupt.hpp"
#include "src/runs/manifest.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::app {
namespace {

// Those without an undamaged file, of which `damaged` has those whose file is damaged.
std::vector<std::size_t> without_result(const runs::PointStore& store, std::vector<std::string>& damaged) {
  std::vector<std::size_t> missing;
  runs::Sharing sharing(store.folder(), store.points());
  for (std::size_t i = 0; i < store.points().size(); ++i) {
    const std::string& id = store.points()[i].id;
    if (has_result(store.folder(), id) || sharing.is_shared(i)) continue;
    missing.push_back(i);
    if (result_in(store.folder(), id).damaged) damaged.push_back((store.folder().path() / runs::file_of(id)).string());
  }
  return missing;
}

std::string summary(const runs::WorkerState& state, std::size_t left) {
  std::string text = fmt::format("worker {}: {} points simulated", state.name, state.simulated);
  if (state.failed > 0) text += fmt::format(", {} of them failed", state.failed);
  return text + (left > 0 ? fmt::format("; {} have no result yet: others are at them, or were\n", left) : "\n");
}

}  // namespace

int worker_command(const Call& call) {
  runs::Folder folder = runs::Folder::join(call.options.arguments.front());
  const runs::Manifest manifest = read_manifest(folder);
  const std::vector<experiment::Point> points =
      expand(experiment_in(folder, manifest, {}, call.library, call.simulator), call.simulator);
  check_manifest(folder, manifest, points);
  const unsigned jobs = call.options.jobs_chosen ? call.options.jobs : runs::jobs_of_worker(call.options.jobs);
  const bool is_quiet = call.options.quiet || runs::mpi_rank() > 0;  // the ranks share a terminal

  runs::PointStore store(folder, points);
  std::vector<runs::PointOutcome> outcomes;  // without their results, which are in the folder
  const auto ended = [&](std::size_t index, const runs::PointOutcome& outcome) {
    const bool is_told = !outcome.error.empty() || status_text(outcome) == runs::kStatusCheckFailed;
    if (is_told) call.console.err << fmt::format("{}: {}\n", points[index].label(), reason_text(outcome));
    runs::PointOutcome& kept = outcomes.emplace_back();
    kept.status = outcome.status;
    kept.result.failed_checks = outcome.result.failed_checks;
  };
  std::vector<std::string> damaged;
  const std::vector<std::size_t> missing = without_result(store, damaged);
  if (runs::mpi_rank() <= 0) tell_damage(damaged, call.console);
  const Work work{missing, runs::ClaimedPoints::Others::leave, jobs, is_quiet, /*log=*/true};
  const runs::WorkerState state = work_on(work, store, call, ended);
  if (!is_quiet) {
    // A file that is there is whole, unless it was damaged before.
    runs::Sharing sharing(folder, points);
    const auto is_left = [&](std::size_t i) {
      if (sharing.is_shared(i)) return false;
      return damaged.empty() ? !folder.has(runs::file_of(points[i].id)) : !has_result(folder, points[i].id);
    };
    call.console.err << summary(state, static_cast<std::size_t>(std::ranges::count_if(missing, is_left)));
  }
  if (!store.failure().empty()) throw UserError(store.failure());
  return exit_code(outcomes, runs::InterruptGuard::requested());
}

}  // namespace faultline::app
