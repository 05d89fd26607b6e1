// SPDX-License-Identifier: Apache-2.0
#include "src/runs/manifest.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "faultline_build.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/runs/seal.hpp"

namespace faultline::runs {
namespace {

using Json = nlohmann::ordered_json;

std::set<std::string> keys_of_platform(const experiment::Experiment& experiment) {
  std::set<std::string> keys;
  for (const experiment::Setting& setting : experiment.platform_settings) keys.insert(setting.key);
  for (const experiment::Settings* above : {&experiment.parameters, &experiment.overrides}) {
    for (const experiment::Setting& setting : *above) keys.erase(setting.key);
  }
  return keys;
}

// Nothing when it is damaged.
std::optional<Manifest> from_text(const std::string& text) {
  try {
    const auto sealed = unsealed_json(text);
    if (!sealed) return {};
    const Json& json = *sealed;
    Manifest manifest;
    manifest.version = json.value("version", "?");
    manifest.commit = json.value("commit", "?");
    manifest.build = json.value("build", "?");
    manifest.command = json.value("command", manifest.command);
    manifest.experiment = json.at("experiment");
    manifest.platform = json.value("platform", "");
    manifest.platform_parameters = json.value("platform_parameters", std::set<std::string>());
    manifest.repetitions = std::max(json.value("repetitions", 1U), 1U);
    for (const Json& point : json.at("points"))
      manifest.points.push_back({point.at("id"), point.at("point"), point.value("work", 1.0)});
    return manifest;
  } catch (const Json::exception&) {
    return {};
  }
}

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

Manifest manifest_of(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points) {
  Manifest manifest;
  manifest.version = build::kVersion;
  manifest.commit = build::commit();
  manifest.build = experiment::program_id();
  manifest.command = experiment.command;
  manifest.experiment = experiment.name;
  manifest.platform = experiment.platform;
  manifest.platform_parameters = keys_of_platform(experiment);
  manifest.repetitions = experiment.repetitions;
  manifest.points.reserve(points.size());
  for (const experiment::Point& point : points) manifest.points.push_back({point.id, point.label(), point.work});
  return manifest;
}

std::string to_text(const Manifest& manifest) {
  Json json;
  json["format"] = Folder::kFormat;
  json["version"] = manifest.version;
  json["commit"] = manifest.commit;
  json["build"] = manifest.build;
  json["command"] = manifest.command;
  json["experiment"] = manifest.experiment;
  json["platform"] = manifest.platform;
  json["platform_parameters"] = manifest.platform_parameters;
  json["repetitions"] = manifest.repetitions;
  json["points"] = Json::array();
  for (const auto& [id, label, work] : manifest.points)
    json["points"].push_back({{"id", id}, {"point", label}, {"work", work}});
  return sealed_json(json, 1);
}

Manifest read_manifest(const Folder& folder) {
  const std::string path = folder.path().string();
  const auto text = folder.read(Folder::kManifest);
  if (!text) throw UserError(path + ": holds no run: it has no manifest.json");
  if (const auto format = other_format(*text)) {
    throw UserError("{}: holds a run of another version of the program (its format is {}, not {})", path, *format,
                    Folder::kFormat);
  }
  if (auto manifest = from_text(*text)) return *std::move(manifest);
  if (const Json json = shallow_json(*text); json.is_object() && !json.contains("format") && !json.contains(kChecksum))
    throw UserError(path + ": holds no run: its manifest.json is not one of a run");
  throw UserError(
      "{0}/manifest.json: is damaged; 'faultline {1}' of the same experiment with --out {0} writes it again", path,
      command_of(folder).value_or("run"));
}

std::optional<Manifest> find_manifest(const Folder& folder) {
  return from_text(folder.read(Folder::kManifest).value_or(""));
}

std::optional<std::string> command_of(const Folder& folder) {
  if (const auto manifest = find_manifest(folder)) return manifest->command;
  if (folder.has("sensitivity.json")) return "sensitivity";
  return {};
}

experiment::Experiment experiment_in(const Folder& folder, const Manifest& manifest,
                                     const std::vector<std::string>& overrides,
                                     const experiment::ConfigLibrary& library, const experiment::Simulator& simulator) {
  if (manifest.command != "run") {
    throw UserError(
        "{0}: is of 'faultline {1}', whose points are more than its effective.toml tells: the same "
        "'faultline {1}' goes on with it, 'faultline plot {0} --figure tornado' draws it",
        folder.path().string(), manifest.command);
  }
  if (!folder.has(kEffective)) {
    throw UserError(folder.path().string() +
                    ": has no effective.toml, which says what is simulated; 'faultline run' of its experiment with "
                    "--out writes it again");
  }
  if (!is_file_sealed(folder.path() / kEffective, kTomlSeal)) {
    throw UserError("{}: is damaged, or was changed; 'faultline run' of its experiment with --out {} writes it again",
                    (folder.path() / kEffective).string(), folder.path().string());
  }
  experiment::Experiment experiment = read_experiment(experiment::read_toml(folder.path() / kEffective),
                                                      manifest.experiment, overrides, library, simulator);
  part_from_platform(experiment, manifest);
  experiment.most_points = SIZE_MAX;  // whoever made the folder meant them
  return experiment;
}

bool is_of_this_program(const Manifest& manifest) { return manifest.build == experiment::program_id(); }

void check_manifest(const Folder& folder, const Manifest& manifest, const std::vector<experiment::Point>& points) {
  const bool same = std::ranges::equal(
      points, manifest.points,
      [](const experiment::Point& point, const Manifest::Entry& entry) { return entry.id == point.id; });
  if (same) return;
  const std::string where = folder.path().string();
  if (is_of_this_program(manifest)) {
    throw UserError(where +
                    ": its effective.toml does not give the points of its manifest.json: one of them was "
                    "changed; 'faultline run' of the experiment with --out writes both again");
  }
  throw UserError(
      "{}: was made by another program (faultline {}, commit {}, build {}); this one is "
      "faultline {}, commit {}, build {}, and its points would be others; start the same "
      "program on every machine, or go on with this one by 'faultline run {}'",
      where, manifest.version, manifest.commit, manifest.build, build::kVersion, build::commit(),
      experiment::program_id(), where);
}

void check_own_toml(const std::filesystem::path& file) {
  if (is_file_sealed(file, kTomlSeal)) return;
  std::error_code ignored;
  const bool is_of_a_run = file.filename() == kEffective &&
                           std::filesystem::is_regular_file(file.parent_path() / Folder::kManifest, ignored);
  if (!is_of_a_run && !has_seal(file, kTomlSeal)) return;
  throw UserError(
      "{}: is damaged, or was changed since 'faultline run' wrote it; a copy with another name, without the line "
      "'{}...', is an experiment like any",
      file.string(), kTomlSeal.before);
}

}  // namespace faultline::runs
