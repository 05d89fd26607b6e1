// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/experiment/input_limits.hpp"
#include "src/experiment/point.hpp"
#include "src/experiment/report_spec.hpp"

namespace faultline::experiment {
namespace {

const std::vector<std::string> kKeys{"question", "platform", "workload",    "strategies", "parameters",
                                     "axes",     "zip",      "sample",      "skip",       "strategy",
                                     "report",   "seed",     "repetitions", "slurm"};

Strategy read_local_strategy(const Node& node, Diagnostics& diagnostics) {
  Strategy strategy{node.key, {}, {}};
  if (node.kind != Node::Kind::table) {
    diagnostics.add(node.place, "strategy." + node.key, describe(node) + " is not a table of parameters");
    return strategy;
  }
  strategy.description = optional_text(node, "description", diagnostics);
  Node parameters = node;
  std::erase_if(parameters.children, [](const Node& child) { return child.key == "description"; });
  strategy.settings = read_settings(parameters, "strategy " + node.key, Provenance::optional, diagnostics);
  return strategy;
}

std::vector<Strategy> read_strategies(const Node& file, const ConfigLibrary& library, Diagnostics& diagnostics) {
  std::vector<Strategy> local;
  for (const char* name : {"strategy", "strategies"}) {
    const Node* given = file.find(name);
    if (given == nullptr || given->children.size() <= kMostStrategies) continue;
    diagnostics.add(given->place, name, fmt::format("are more than {}", kMostStrategies));
    return local;
  }
  if (const Node* table = file.find("strategy")) {
    if (table->kind != Node::Kind::table) {
      diagnostics.add(table->place, "strategy",
                      describe(*table) + " is not a table; allowed: [strategy.NAME], or 'strategies'");
    }
    for (const Node& node : table->children) local.push_back(read_local_strategy(node, diagnostics));
  }
  const Node* list = file.find("strategies");
  if (list == nullptr)
    return local.empty() ? std::vector<Strategy>{{"default", "every policy at its default", {}}} : local;

  std::vector<Strategy> strategies;
  std::map<std::string, Place> seen;
  for (const Node* node : optional_texts(file, "strategies", diagnostics)) {
    const std::string& name = node->text();
    if (const auto [twin, added] = seen.emplace(name, node->place); !added) {
      diagnostics.add(node->place, "strategies",
                      fmt::format("'{}' is named twice; first at {}", name, twin->second.text()));
      continue;
    }
    const auto own = std::ranges::find(local, name, &Strategy::name);
    strategies.push_back(own != local.end() ? *own
                                            : read_strategy(name, node->place, "strategies", library, diagnostics));
  }
  if (list->kind == Node::Kind::list && list->children.empty()) {
    diagnostics.add(list->place, "strategies", "is empty; allowed: at least one, or no such key");
  }
  return strategies;
}

// Two spellings of one value would give the same point twice, unless something else advances with them.
void check_axis(const Axis& axis, bool alone, sim::ParameterTable& table, Diagnostics& diagnostics) {
  std::map<std::string, Place> seen;
  for (const Setting& value : axis.values) {
    if (!apply(value, table, diagnostics) || !alone) continue;
    const std::string text = table.find(axis.key)->get();
    if (const auto [twin, added] = seen.emplace(text, value.place); !added) {
      diagnostics.add(value.place, axis.key,
                      fmt::format("'{}' is on the axis twice; first at {}", text, twin->second.text()));
    }
  }
}

void read_points(const Node& file, Experiment& experiment, const Simulator& simulator, Diagnostics& diagnostics) {
  const auto machine = simulator.machine();
  sim::ParameterTable& table = machine->parameters();
  if (const Node* axes = file.find("axes")) experiment.axes = read_axes(*axes, "axis", table, diagnostics);
  if (const Node* zip = file.find("zip")) read_zip(*zip, experiment.axes, diagnostics);
  if (const Node* sample = file.find("sample")) read_sample(*sample, table, experiment.axes, diagnostics);
  if (const Node* skip = file.find("skip")) {
    std::vector<std::string> strategies;
    for (const Strategy& strategy : experiment.strategies) strategies.push_back(strategy.name);
    experiment.skips = read_skips(*skip, experiment.axes, strategies, table, diagnostics);
  }
}

// Each axis that is set, by number, with the setting that has the last word.
std::map<std::size_t, const Setting*> overridden_axes(const Experiment& experiment) {
  std::map<std::size_t, const Setting*> set;
  for (std::size_t i = 0; i < experiment.axes.size(); ++i) {
    if (const Setting* setting = deciding(experiment.overrides, experiment.axes[i].key)) set[i] = setting;
  }
  return set;
}

std::vector<std::string> unset_partners(const Experiment& experiment, std::size_t axis) {
  std::vector<std::string> partners;
  for (const Axis& other : experiment.axes) {
    if (other.leader != experiment.axes[axis].leader || deciding(experiment.overrides, other.key) != nullptr) continue;
    partners.push_back(other.key);
  }
  return partners;
}

// Who zips says which values belong together: the partners' old ones need not go with the new one.
void refuse_parts_of_groups(const Experiment& experiment, Diagnostics& diagnostics) {
  for (const auto& [axis, setting] : overridden_axes(experiment)) {
    const std::vector<std::string> partners = unset_partners(experiment, axis);
    if (partners.empty() || experiment.axes[axis].drawn) continue;
    diagnostics.add(setting->place, setting->key,
                    fmt::format("advances together with {0} (zip), whose values are not set: --set {1}=VALUE as well",
                                fmt::join(partners, ", "), fmt::join(partners, "=VALUE --set ")));
  }
}

void apply_overrides(Experiment& experiment) {
  for (const auto& [axis, setting] : overridden_axes(experiment)) {
    std::vector<Setting>& values = experiment.axes[axis].values;
    values.assign(unset_partners(experiment, axis).empty() ? 1 : values.size(), *setting);
  }
}

void write_texts(Experiment& experiment, const Simulator& simulator) {
  const auto machine = simulator.machine();
  Diagnostics none;
  for (Axis& axis : experiment.axes) {
    for (const Setting& value : axis.values) {
      apply(value, machine->parameters(), none);
      axis.texts.push_back(machine->parameters().find(axis.key)->get());
    }
  }
}

}  // namespace

Settings read_platform(const std::string& reference, const Place& place, const std::string& key,
                       const ConfigLibrary& library, Diagnostics& diagnostics) {
  const auto path = library.resolve(ConfigKind::platform, reference, place, key, diagnostics);
  if (path.empty()) return {};
  Preset preset = read_preset(ConfigKind::platform, path, reference, diagnostics);
  if (preset.base.empty()) return std::move(preset.settings);
  const auto base_path = library.resolve(ConfigKind::platform, preset.base, preset.base_place, "base", diagnostics);
  if (base_path.empty()) return std::move(preset.settings);
  Preset base = read_preset(ConfigKind::platform, base_path, preset.base, diagnostics);
  if (!base.base.empty()) {
    diagnostics.add(preset.base_place, "base", fmt::format("the platform '{}' has a base itself", preset.base));
  }
  base.settings.insert(base.settings.end(), preset.settings.begin(), preset.settings.end());
  return std::move(base.settings);
}

Strategy read_strategy(const std::string& reference, const Place& place, const std::string& key,
                       const ConfigLibrary& library, Diagnostics& diagnostics) {
  const auto path = library.resolve(ConfigKind::strategy, reference, place, key, diagnostics);
  if (path.empty()) return {reference, {}, {}};
  Preset preset = read_preset(ConfigKind::strategy, path, reference, diagnostics);
  return {reference.ends_with(".toml") ? path.stem().string() : preset.name, preset.description,
          std::move(preset.settings)};
}

void check_values(const Experiment& experiment, const Simulator& simulator, Diagnostics& diagnostics) {
  // One machine serves all: every value is checked by itself, and what a field held before does not matter.
  const auto machine = simulator.machine();
  sim::ParameterTable& table = machine->parameters();
  apply(experiment.platform_settings, table, diagnostics);
  apply(experiment.parameters, table, diagnostics);
  for (const Strategy& strategy : experiment.strategies) apply(strategy.settings, table, diagnostics);
  for (std::size_t i = 0; i < experiment.axes.size(); ++i) {
    check_axis(experiment.axes[i], is_alone(experiment.axes, i), table, diagnostics);
  }
  apply(experiment.overrides, table, diagnostics);
}

Experiment read_experiment(const Node& file, const std::string& name, const std::vector<std::string>& overrides,
                           const ConfigLibrary& library, const Simulator& simulator) {
  Diagnostics diagnostics;
  refuse_unknown_keys(file, kKeys, "", diagnostics);
  Experiment experiment;
  experiment.name = name;
  experiment.file = file.place.file;
  experiment.question = optional_text(file, "question", diagnostics);
  experiment.platform = optional_text(file, "platform", diagnostics);
  experiment.seed = optional_whole(file, "seed", 0, kMostSeed, "seed", diagnostics).value_or(1);
  experiment.repetitions = static_cast<unsigned>(
      optional_whole(file, "repetitions", 1, kMostRepetitions, "repetitions", diagnostics).value_or(1));
  if (!experiment.platform.empty()) {
    experiment.platform_settings =
        read_platform(experiment.platform, file.find("platform")->place, "platform", library, diagnostics);
  }
  if (const Node* parameters = file.find("parameters")) {
    experiment.parameters = read_settings(*parameters, "experiment", Provenance::optional, diagnostics);
  }
  if (const Node* workload = file.find("workload"); workload && !optional_text(file, "workload", diagnostics).empty()) {
    const auto twin = std::ranges::find(experiment.parameters, workloads::kWorkloadParameter, &Setting::key);
    if (twin != experiment.parameters.end()) {
      diagnostics.add(twin->place, twin->key, "says again what 'workload' says at " + workload->place.text());
    }
    experiment.parameters.push_back({std::string(workloads::kWorkloadParameter), workload->value, workload->key_place,
                                     workload->place, "experiment", "", ""});
  }
  experiment.strategies = read_strategies(file, library, diagnostics);
  read_points(file, experiment, simulator, diagnostics);
  experiment.overrides = parse_overrides(overrides, diagnostics);
  experiment.reports = read_reports(file, experiment.axes, experiment.strategies, simulator.metric_docs(), diagnostics);
  if (const Node* slurm = file.find("slurm")) experiment.slurm = read_slurm(*slurm, diagnostics);
  check_values(experiment, simulator, diagnostics);
  refuse_parts_of_groups(experiment, diagnostics);
  diagnostics.raise();
  apply_overrides(experiment);
  write_texts(experiment, simulator);
  resolve_shown_values(experiment, simulator, diagnostics);
  diagnostics.raise();
  return experiment;
}

Experiment read_experiment(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                           const ConfigLibrary& library, const Simulator& simulator) {
  return read_experiment(read_toml(path), path.stem().string(), overrides, library, simulator);
}

}  // namespace faultline::experiment
