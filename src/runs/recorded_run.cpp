// SPDX-License-Identifier: Apache-2.0
#include "src/runs/recorded_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "faultline_build.hpp"
#include "src/experiment/program_id.hpp"

namespace faultline::app {
namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kEffective = "effective.toml";

Json manifest_of(const RunFolder& folder) {
  const Json json = Json::parse(folder.read("manifest.json").value_or(""), nullptr, /*allow_exceptions=*/false);
  const bool whole = json.is_object() && json.contains("experiment") && json["experiment"].is_string() &&
                     json.contains("points") && json["points"].is_array();
  if (whole) return json;
  throw UserError(folder.path().string() +
                  ": its manifest.json is damaged; 'faultline run' with --out writes it again");
}

// effective.toml has the platform's values among all others; in a report they are the platform's.
void part_from_platform(Experiment& experiment, const Json& manifest) {
  experiment.platform = manifest.value("platform", "");
  const Json keys = manifest.value("platform_parameters", Json::array());
  const auto of_platform = [&](const Setting& setting) {
    return std::find(keys.begin(), keys.end(), Json(setting.key)) != keys.end();
  };
  Settings& parameters = experiment.parameters;
  const auto first = std::stable_partition(parameters.begin(), parameters.end(), std::not_fn(of_platform));
  std::move(first, parameters.end(), std::back_inserter(experiment.platform_settings));
  parameters.erase(first, parameters.end());
  for (Setting& setting : experiment.platform_settings) setting.origin = "platform " + experiment.platform;
}

}  // namespace

Experiment recorded_experiment(const RunFolder& folder, const std::vector<std::string>& overrides,
                               const ConfigLibrary& library, const Simulator& simulator) {
  const Json manifest = manifest_of(folder);
  if (const std::string command = manifest.value("command", "run"); command != "run") {
    throw UserError(
        fmt::format("{0}: its points are those of 'faultline {1}', of which effective.toml does not tell; the "
                    "'faultline {1}' that made it goes on with it",
                    folder.path().string(), command));
  }
  if (!folder.has(kEffective)) {
    throw UserError(folder.path().string() +
                    ": has no effective.toml; 'faultline run' of its experiment with --out writes it again");
  }
  Experiment experiment =
      read_experiment(read_toml(folder.path() / kEffective), manifest.at("experiment"), overrides, library, simulator);
  part_from_platform(experiment, manifest);
  experiment.most_points = SIZE_MAX;  // whoever made the folder meant them
  return experiment;
}

bool is_of_this_program(const RunFolder& folder) { return manifest_of(folder).value("build", "") == program_id(); }

void check_manifest(const RunFolder& folder, const std::vector<Point>& points) {
  const Json manifest = manifest_of(folder);
  const Json& listed = manifest.at("points");
  const bool same = listed.size() == points.size() &&
                    std::equal(points.begin(), points.end(), listed.begin(), [](const Point& point, const Json& entry) {
                      return entry.value("id", std::string()) == point.id;
                    });
  if (same) return;
  const std::string where = folder.path().string();
  if (is_of_this_program(folder)) {
    throw UserError(where +
                    ": its effective.toml does not give the points of its manifest.json: one of them was "
                    "changed; 'faultline run' of the experiment with --out writes both again");
  }
  throw UserError(
      fmt::format("{}: was made by another program (faultline {}, commit {}, build {}); this one is "
                  "faultline {}, commit {}, build {}, and its points would be others; start the same "
                  "program on every machine, or go on with this one by 'faultline run {}'",
                  where, manifest.value("version", "?"), manifest.value("commit", "?"), manifest.value("build", "?"),
                  build::kVersion, build::commit(), program_id(), where));
}

}  // namespace faultline::app
