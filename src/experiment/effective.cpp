// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/effective.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/experiment/report_spec.hpp"

namespace faultline::experiment {
namespace {

// A comment is one line: what a file or the command line says may hold anything.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return text;
}

// "smmu.walk_latency = "450 ns"   # default 300 ns; set by platform x, line 12 (published: UG1085)"
template <typename Layers>
std::string parameter_line(const sim::Parameter& parameter, const Layers& settings) {
  std::string line = parameter.name + " = " + toml_value(parameter);
  const Setting* setting = deciding(settings, parameter.name);
  if (setting != nullptr) {
    line = fmt::format("{:<56}  # default {}; set by {}", line, parameter.initial.empty() ? "empty" : parameter.initial,
                       setting->set_by());
    if (!setting->standing.empty())
      line += " (" + setting->standing + (setting->source.empty() ? "" : ": " + setting->source) + ")";
  }
  return one_line(line) + "\n";
}

std::string based_on(const std::vector<std::string>& bases, const std::string& before) {
  return bases.empty() ? "" : one_line(before + fmt::format("based on {}", fmt::join(bases, ", that on ")));
}

std::string strategy_tables(const Experiment& experiment, const Simulator& simulator) {
  std::string text;
  for (const Strategy& strategy : experiment.strategies) {
    text += "\n[strategy." + quote_toml(strategy.name) + "]" + based_on(strategy.bases, "  # ") + "\n";
    if (!strategy.description.empty()) text += "description = " + quote_toml(strategy.description) + "\n";
    const auto machine = simulator.machine();
    apply_checked(strategy.settings, machine->parameters());
    for (const sim::Parameter* parameter : named_by(strategy.settings, machine->parameters())) {
      // --set wins over the strategy, and stands under [parameters] already.
      if (deciding(experiment.overrides, parameter->name) != nullptr) continue;
      text += parameter->name + " = " + toml_value(*parameter) + "\n";
    }
  }
  return text;
}

std::string axes_table(const Experiment& experiment, const Simulator& simulator) {
  if (experiment.axes.empty()) return {};
  std::string text = "\n[axes]\n";
  const auto machine = simulator.machine();
  for (const Axis& axis : experiment.axes) {
    std::string values;
    for (const Setting& value : axis.values) {
      apply_checked({value}, machine->parameters());
      const sim::Parameter& parameter = *machine->parameters().find(axis.key);
      const std::string* label = find_label(*experiment.labels, axis.key, parameter.get());
      values += (values.empty() ? "" : ", ") +
                (label == nullptr ? toml_value(parameter)
                                  : "{ value = " + toml_value(parameter) + ", label = " + quote_toml(*label) + " }");
    }
    text += axis.key + " = [" + values + "]\n";
  }
  return text;
}

// Samples are axes that advance together by now.
std::string zip_line(const Experiment& experiment) {
  std::string groups;
  for (std::size_t leader = 0; leader < experiment.axes.size(); ++leader) {
    if (experiment.axes[leader].leader != leader || is_alone(experiment.axes, leader)) continue;
    std::string keys;
    for (const Axis& axis : experiment.axes) {
      if (axis.leader == leader) keys += (keys.empty() ? "" : ", ") + quote_toml(axis.key);
    }
    groups += (groups.empty() ? "[" : ", [") + keys + "]";
  }
  return groups.empty() ? "" : "zip = [" + groups + "]\n";
}

std::string skip_lines(const Experiment& experiment) {
  if (experiment.skips.empty()) return "";
  std::string text = "skip = [\n";
  for (const Skip& skip : experiment.skips) text += "  " + to_toml(skip) + ",\n";
  return text + "]\n";
}

}  // namespace

std::string effective_experiment(const Experiment& experiment, const Simulator& simulator) {
  Settings common = experiment.platform_settings;
  common.insert(common.end(), experiment.parameters.begin(), experiment.parameters.end());
  common.insert(common.end(), experiment.overrides.begin(), experiment.overrides.end());
  const auto machine = simulator.machine();
  apply_checked(common, machine->parameters());
  std::string names;
  for (const Strategy& strategy : experiment.strategies)
    names += (names.empty() ? "" : ", ") + quote_toml(strategy.name);
  std::string text =
      fmt::format("# The effective configuration of the experiment '{}'{}{}.\n", one_line(experiment.name),
                  experiment.platform.empty() ? "" : " on the platform '" + one_line(experiment.platform) + "'",
                  based_on(experiment.platform_bases, ", "));
  text += "question = " + quote_toml(experiment.question) + "\nstrategies = [" + names + "]\n";
  text += fmt::format("seed = {}\n", experiment.seed);
  if (experiment.repetitions > 1) text += fmt::format("repetitions = {}\n", experiment.repetitions);
  const auto shows = [&](const ReportSpec& report) { return has_points(report, experiment); };
  if (std::ranges::none_of(experiment.reports, shows)) text += "report = []\n";
  text += zip_line(experiment) + skip_lines(experiment) + "\n[parameters]\n";
  for (const sim::Parameter& parameter : machine->parameters().all()) {
    const bool is_axis =
        std::ranges::any_of(experiment.axes, [&](const Axis& axis) { return axis.key == parameter.name; });
    if (!is_axis) text += parameter_line(parameter, common);
  }
  text += strategy_tables(experiment, simulator) + axes_table(experiment, simulator);
  for (const ReportSpec& report : experiment.reports) {
    if (has_points(report, experiment)) text += "\n" + to_toml(report);
  }
  return text + to_toml(experiment.slurm);
}

std::string origins(const Experiment& experiment, const std::string& strategy) {
  std::string text = based_on(experiment.platform_bases, "# the platform " + experiment.platform + " is ");
  if (!text.empty()) text += "\n";
  const auto own = std::ranges::find(experiment.strategies, strategy, &Strategy::name);
  if (own == experiment.strategies.end() || own->bases.empty()) return text;
  return text + based_on(own->bases, "# the strategy " + strategy + " is ") + "\n";
}

std::string effective_point(const Point& point, const Simulator& simulator, bool changed_only) {
  const auto machine = configure(point, simulator);
  std::string text;
  for (const sim::Parameter& parameter : machine->parameters().all()) {
    if (changed_only && parameter.get() == parameter.initial) continue;
    text += parameter_line(parameter, point.settings);
  }
  return text;
}

nlohmann::ordered_json effective_point_json(const Point& point, const Simulator& simulator, bool changed_only) {
  const auto machine = configure(point, simulator);
  auto list = nlohmann::ordered_json::array();
  for (const sim::Parameter& parameter : machine->parameters().all()) {
    if (changed_only && parameter.get() == parameter.initial) continue;
    const Setting* setting = deciding(point.settings, parameter.name);
    list.push_back({{"name", parameter.name},
                    {"value", parameter.get()},
                    {"default", parameter.initial},
                    {"set_by", setting == nullptr ? "default" : setting->set_by()}});
  }
  return list;
}

}  // namespace faultline::experiment
