// SPDX-License-Identifier: Apache-2.0
// faultline run
#include <algorithm>
#include <filesystem>

#include "src/application.hpp"
#include "src/runs/manifest.hpp"

namespace faultline::app {
namespace {

// A folder, and no experiment that ships: a run, which goes on.
bool names_a_folder(const Call& call) {
  const std::string& named = call.options.arguments.front();
  std::error_code ignored;
  const auto shipped = call.library.names(experiment::ConfigKind::experiment);
  return std::filesystem::is_directory(named, ignored) && std::ranges::find(shipped, named) == shipped.end();
}

int run_experiment(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points,
                   const Call& call) {
  if (call.options.dry_run) return dry_run(experiment, points, call);
  return run_in_folder(experiment, points, call);
}

// Such a folder has the points that it was made with, unless other values are asked for.
int go_on(Call call) {
  const std::string& named = call.options.arguments.front();
  const auto folder = runs::Folder::look_at(named);
  const runs::Manifest manifest = read_manifest(folder);
  Options options = call.options;
  if (options.out.empty()) options.out = named;
  auto experiment = experiment_in(folder, manifest, options.overrides, call.library, call.simulator);
  choose_seeds(experiment, options);
  const std::vector<experiment::Point> points = expand(experiment, call);
  const bool has_its_own = options.overrides.empty() && !options.seed && !options.repetitions;
  if (has_its_own && is_of_this_program(manifest)) check_manifest(folder, manifest, points);
  return run_experiment(experiment, points, {call.arguments, options, call.library, call.simulator, call.console});
}

}  // namespace

int run_command(const Call& call) {
  if (names_a_folder(call)) return go_on(call);
  const experiment::Experiment experiment = named_experiment(call);
  return run_experiment(experiment, expand(experiment, call), call);
}

}  // namespace faultline::app
