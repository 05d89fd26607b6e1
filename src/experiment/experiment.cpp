// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>

#include "src/experiment/input_limits.hpp"
#include "src/experiment/point.hpp"
#include "src/experiment/program_tables.hpp"
#include "src/experiment/report_spec.hpp"
#include "workloads/program_settings.hpp"

namespace faultline::experiment {
Preset read_own_strategy(const Node& node, Diagnostics& diagnostics) {
  Preset strategy{node.key, {}, {}};
  if (node.kind != Node::Kind::table) {
    diagnostics.add(node.place, "strategy." + node.key, describe(node) + " is not a table of parameters");
    return strategy;
  }
  strategy.description = optional_text(node, "description", diagnostics);
  read_based_on(node, strategy, diagnostics);
  Node parameters = node;
  std::erase_if(parameters.children,
                [](const Node& child) { return child.key == "description" || child.key == "based_on"; });
  strategy.settings = read_settings(parameters, "strategy " + node.key, Provenance::optional, diagnostics);
  return strategy;
}

namespace {

const std::vector<std::string> kKeys{"question", "platform", "workload",    "strategies", "parameters",
                                     "axes",     "zip",      "sample",      "skip",       "strategy",
                                     "report",   "seed",     "repetitions", "slurm",      "program"};

// True where they are too many to be read.
bool are_too_many(const Node& file, const char* name, Diagnostics& diagnostics) {
  const Node* given = file.find(name);
  if (given == nullptr || given->children.size() <= kMostStrategies) return false;
  diagnostics.add(given->place, name, "are more than {}", kMostStrategies);
  return true;
}

// [strategy.NAME]
std::vector<Preset> read_own_strategies(const Node& file, Diagnostics& diagnostics) {
  std::vector<Preset> own;
  const Node* table = file.find("strategy");
  if (table == nullptr || are_too_many(file, "strategy", diagnostics)) return own;
  is_table(*table, "strategy", "[strategy.NAME], or 'strategies'", diagnostics);
  for (const Node& node : table->children) own.push_back(read_own_strategy(node, diagnostics));
  return own;
}

// Those that are compared.
std::vector<Strategy> read_strategies(const Node& file, const std::vector<Preset>& own, const Presets& presets,
                                      Diagnostics& diagnostics) {
  std::vector<Strategy> strategies;
  if (are_too_many(file, "strategies", diagnostics)) return strategies;
  const Node* list = file.find("strategies");
  if (list == nullptr) {
    for (const Preset& each : own) strategies.push_back(presets.named(each.name, {}, "strategy"));
    if (own.empty()) strategies.push_back({"default", "every policy at its default", {}});
    return strategies;
  }
  std::map<std::string, Place> seen;
  for (const Node* node : optional_texts(file, "strategies", diagnostics)) {
    const std::string& name = node->text();
    if (const auto [twin, added] = seen.emplace(name, node->place); !added) {
      diagnostics.add(node->place, "strategies", "'{}' is named twice; first at {}", name, twin->second.text());
      continue;
    }
    strategies.push_back(presets.named(name, node->place, "strategies"));
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
      diagnostics.add(value.place, axis.key, "'{}' is on the axis twice; first at {}", text, twin->second.text());
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
                    "advances together with {0} (zip), whose values are not set: --set {1}=VALUE as well",
                    fmt::join(partners, ", "), fmt::join(partners, "=VALUE --set "));
  }
}

void apply_overrides(Experiment& experiment) {
  for (const auto& [axis, setting] : overridden_axes(experiment)) {
    std::vector<Setting>& values = experiment.axes[axis].values;
    values.assign(unset_partners(experiment, axis).empty() ? 1 : values.size(), *setting);
  }
}

// Two values that are called alike could not be told apart, whether by labels or as files write them.
void read_labels(Experiment& experiment, Diagnostics& diagnostics) {
  auto labels = std::make_shared<Labels>();
  for (const Axis& axis : experiment.axes) {
    const std::vector<std::string>& texts = axis.texts;
    if (std::ranges::all_of(axis.values, [](const Setting& value) { return value.label.empty(); })) continue;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const Setting& value = axis.values[i];
      if (value.label.empty()) continue;
      const std::string& known = (*labels)[axis.key].emplace(texts[i], value.label).first->second;
      if (known == value.label) continue;
      diagnostics.add(value.place, axis.key + ".label", "'{}' is '{}' already; allowed: one label a value", texts[i],
                      known);
    }
    std::map<std::string, std::string> called;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string& name = label_of(*labels, axis.key, texts[i]);
      const std::string& other = called.emplace(name, texts[i]).first->second;
      if (other == texts[i]) continue;
      diagnostics.add(axis.values[i].place, axis.key + ".label",
                      "'{}' is what '{}' is called, too; allowed: another label for each value", name, other);
    }
  }
  experiment.labels = std::move(labels);
}

void write_texts(Experiment& experiment, const Simulator& simulator) {
  const auto machine = simulator.machine();
  for (Axis& axis : experiment.axes) {
    axis.texts.clear();
    for (const Setting& value : axis.values) {
      apply_checked({value}, machine->parameters());
      axis.texts.push_back(machine->parameters().find(axis.key)->get());
    }
  }
}

}  // namespace

std::vector<const Settings*> Experiment::layers() const {
  std::vector<const Settings*> all{&platform_settings, &parameters};
  for (const Strategy& strategy : strategies) all.push_back(&strategy.settings);
  all.push_back(&overrides);
  return all;
}

std::string Experiment::metric_or_first(const std::string& metric, const Simulator& simulator) const {
  const auto all = metrics(simulator);
  const auto is_it = [&](const workloads::MetricDoc& doc) { return workloads::metric_in_program(doc.name) == metric; };
  if (std::ranges::find(all, metric, &workloads::MetricDoc::name) != all.end()) return metric;
  const auto first = std::ranges::find_if(all, is_it);
  return first == all.end() ? metric : first->name;
}

std::vector<std::string> Experiment::programs() const {
  Settings settings;
  for (const Settings* layer : layers()) settings.insert(settings.end(), layer->begin(), layer->end());
  return programs_in(settings);
}

std::unique_ptr<Machine> Experiment::machine(const Simulator& simulator) const {
  auto machine = simulator.machine();
  for (const Settings* layer : layers()) {
    for (const Setting& setting : *layer) machine->parameters().find(setting.key);
  }
  for (const Axis& axis : axes) machine->parameters().find(axis.key);
  return machine;
}

std::vector<workloads::MetricDoc> Experiment::metrics(const Simulator& simulator) const {
  return with_programs(simulator.metric_docs(), programs());
}

std::size_t Experiment::place_of_strategy(const std::string& strategy) const {
  const auto found = std::ranges::find(strategies, strategy, &Strategy::name);
  if (found == strategies.end()) throw std::logic_error("no strategy of the experiment: " + strategy);
  return static_cast<std::size_t>(found - strategies.begin());
}

void check_values(const Experiment& experiment, const Simulator& simulator, Diagnostics& diagnostics) {
  // One machine serves all: every value is checked by itself, and what a field held before does not matter.
  const auto machine = simulator.machine();
  sim::ParameterTable& table = machine->parameters();
  apply(experiment.platform_settings, table, diagnostics);
  apply(experiment.parameters, table, diagnostics);
  for (const Strategy& strategy : experiment.strategies) apply(strategy.settings, table, diagnostics);
  for (std::size_t i = 0; i < experiment.axes.size(); ++i)
    check_axis(experiment.axes[i], is_alone(experiment.axes, i), table, diagnostics);
  apply(experiment.overrides, table, diagnostics);
}

void read_common(const Node& file, const std::string& origin, const ConfigLibrary& library, Experiment& experiment,
                 Diagnostics& diagnostics) {
  experiment.platform = optional_text(file, "platform", diagnostics);
  if (!experiment.platform.empty()) {
    const Presets platforms(ConfigKind::platform, library, diagnostics);
    Preset platform = platforms.named(experiment.platform, file.find("platform")->place, "platform");
    experiment.platform_settings = std::move(platform.settings);
    experiment.platform_bases = std::move(platform.bases);
  }
  if (const Node* parameters = file.find("parameters"))
    experiment.parameters = read_settings(*parameters, origin, Provenance::optional, diagnostics);
  const Node* workload = file.find("workload");
  if (workload == nullptr || optional_text(file, "workload", diagnostics).empty()) return;
  const std::string key(workloads::kWorkloadParameter);
  if (const auto twin = std::ranges::find(experiment.parameters, key, &Setting::key);
      twin != experiment.parameters.end()) {
    diagnostics.add(twin->place, key, "says again what 'workload' says at " + workload->place.text());
  }
  experiment.parameters.push_back({key, workload->value, workload->key_place, workload->place, origin, "", ""});
}

Experiment read_experiment(const Node& file, const std::string& name, const std::vector<std::string>& overrides,
                           const ConfigLibrary& library, const Simulator& simulator) {
  Diagnostics diagnostics;
  refuse_unknown_keys(file, kKeys, "", diagnostics);
  Experiment experiment;
  experiment.name = name;
  experiment.file = file.place.file;
  experiment.question = optional_text(file, "question", diagnostics);
  experiment.seed = optional_whole(file, "seed", 0, kMostSeed, "seed", diagnostics).value_or(1);
  experiment.repetitions = static_cast<unsigned>(
      optional_whole(file, "repetitions", 1, kMostRepetitions, "repetitions", diagnostics).value_or(1));
  read_common(file, "experiment", library, experiment, diagnostics);
  const std::vector<Preset> own = read_own_strategies(file, diagnostics);
  const Presets presets(ConfigKind::strategy, library, diagnostics, own);
  experiment.strategies = read_strategies(file, own, presets, diagnostics);
  Settings programs = read_programs(file, presets, diagnostics);
  // What a program's strategy says of the machine the experiment may say otherwise.
  // (Not std::ranges::stable_partition: clang 14 does not compile the subrange of libstdc++ 12.)
  const auto of_programs = std::stable_partition(programs.begin(), programs.end(), [](const Setting& setting) {
    return workloads::ProgramSettings::is_of_machine(setting.key);
  });
  experiment.parameters.insert(experiment.parameters.begin(), programs.begin(), of_programs);
  experiment.parameters.insert(experiment.parameters.end(), of_programs, programs.end());
  read_points(file, experiment, simulator, diagnostics);
  experiment.overrides = parse_overrides(overrides, diagnostics);
  experiment.reports =
      read_reports(file, experiment.axes, experiment.strategies, experiment.metrics(simulator), diagnostics);
  if (const Node* slurm = file.find("slurm")) experiment.slurm = read_slurm(*slurm, diagnostics);
  check_values(experiment, simulator, diagnostics);
  refuse_parts_of_groups(experiment, diagnostics);
  diagnostics.raise();
  write_texts(experiment, simulator);
  read_labels(experiment, diagnostics);
  apply_overrides(experiment);
  write_texts(experiment, simulator);  // of what is overridden, too
  resolve_shown_values(experiment, simulator, diagnostics);
  diagnostics.raise();
  return experiment;
}

Experiment read_experiment(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                           const ConfigLibrary& library, const Simulator& simulator) {
  return read_experiment(read_toml(path), path.stem().string(), overrides, library, simulator);
}

}  // namespace faultline::experiment
