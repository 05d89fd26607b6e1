// SPDX-License-Identifier: Apache-2.0
#include "src/runs/manifest.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "faultline_build.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/program_id.hpp"
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
    for (const Json& point : json.at("points")) manifest.points.push_back({point.at("id"), point.at("point")});
    return manifest;
  } catch (const Json::exception&) {
    return {};
  }
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
  manifest.points.reserve(points.size());
  for (const experiment::Point& point : points) manifest.points.push_back({point.id, point.label()});
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
  json["points"] = Json::array();
  for (const auto& [id, label] : manifest.points) json["points"].push_back({{"id", id}, {"point", label}});
  return sealed_json(json, 1);
}

Manifest read_manifest(const Folder& folder) {
  const std::string path = folder.path().string();
  const auto text = folder.read(Folder::kManifest);
  if (!text) throw experiment::UserError(path + ": holds no run: it has no manifest.json");
  if (const auto format = other_format(*text)) {
    throw experiment::UserError(
        fmt::format("{}: holds a run of another version of the program (its format is {}, not {})", path, *format,
                    Folder::kFormat));
  }
  if (auto manifest = from_text(*text)) return *std::move(manifest);
  if (const Json json = shallow_json(*text); json.is_object() && !json.contains("format") && !json.contains(kChecksum))
    throw experiment::UserError(path + ": holds no run: its manifest.json is not one of a run");
  throw experiment::UserError(fmt::format(
      "{0}/manifest.json: is damaged; 'faultline {1}' of the same experiment with --out {0} writes it again", path,
      command_of(folder).value_or("run")));
}

std::optional<Manifest> find_manifest(const Folder& folder) {
  return from_text(folder.read(Folder::kManifest).value_or(""));
}

std::optional<std::string> command_of(const Folder& folder) {
  if (const auto manifest = find_manifest(folder)) return manifest->command;
  if (folder.has("sensitivity.json")) return "sensitivity";
  return {};
}

}  // namespace faultline::runs
