// SPDX-License-Identifier: Apache-2.0
#include "src/runs/recorded_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

#include "faultline_build.hpp"
#include "src/experiment/program_id.hpp"
#include "src/runs/seal.hpp"

namespace faultline::runs {
namespace {

constexpr const char* kEffective = "effective.toml";

// effective.toml has the platform's values among all others; in a report they are the platform's.
void part_from_platform(experiment::Experiment& experiment, const Manifest& manifest) {
  experiment.platform = manifest.platform;
  const auto of_platform = [&](const experiment::Setting& setting) {
    return manifest.platform_parameters.contains(setting.key);
  };
  experiment::Settings& parameters = experiment.parameters;
  const auto first = std::stable_partition(parameters.begin(), parameters.end(), std::not_fn(of_platform));
  std::move(first, parameters.end(), std::back_inserter(experiment.platform_settings));
  parameters.erase(first, parameters.end());
  for (experiment::Setting& setting : experiment.platform_settings) setting.origin = "platform " + experiment.platform;
}

}  // namespace

experiment::Experiment experiment_in(const Folder& folder, const Manifest& manifest,
                                     const std::vector<std::string>& overrides,
                                     const experiment::ConfigLibrary& library, const experiment::Simulator& simulator) {
  if (manifest.command != "run") {
    throw experiment::UserError(
        fmt::format("{0}: is of 'faultline {1}', whose points are more than its effective.toml tells: the same "
                    "'faultline {1}' goes on with it, 'faultline plot {0} --figure tornado' draws it",
                    folder.path().string(), manifest.command));
  }
  if (!folder.has(kEffective)) {
    throw experiment::UserError(
        folder.path().string() +
        ": has no effective.toml, which says what is simulated; 'faultline run' of its experiment with "
        "--out writes it again");
  }
  if (!is_sealed(folder.read(kEffective).value_or(""), kTomlSeal)) {
    throw experiment::UserError(
        fmt::format("{}: is damaged, or was changed; 'faultline run' of its experiment with --out {} writes it again",
                    (folder.path() / kEffective).string(), folder.path().string()));
  }
  experiment::Experiment experiment = read_experiment(experiment::read_toml(folder.path() / kEffective),
                                                      manifest.experiment, overrides, library, simulator);
  part_from_platform(experiment, manifest);
  experiment.most_points = SIZE_MAX;  // whoever made the folder meant them
  return experiment;
}

bool is_of_this_program(const Manifest& manifest) { return manifest.build == experiment::program_id(); }

void check_manifest(const Folder& folder, const Manifest& manifest, const std::vector<experiment::Point>& points) {
  const bool same =
      std::equal(points.begin(), points.end(), manifest.points.begin(), manifest.points.end(),
                 [](const experiment::Point& point, const Manifest::Entry& entry) { return entry.id == point.id; });
  if (same) return;
  const std::string where = folder.path().string();
  if (is_of_this_program(manifest)) {
    throw experiment::UserError(where +
                                ": its effective.toml does not give the points of its manifest.json: one of them was "
                                "changed; 'faultline run' of the experiment with --out writes both again");
  }
  throw experiment::UserError(
      fmt::format("{}: was made by another program (faultline {}, commit {}, build {}); this one is "
                  "faultline {}, commit {}, build {}, and its points would be others; start the same "
                  "program on every machine, or go on with this one by 'faultline run {}'",
                  where, manifest.version, manifest.commit, manifest.build, build::kVersion, build::commit(),
                  experiment::program_id(), where));
}

}  // namespace faultline::runs
