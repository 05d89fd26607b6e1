// SPDX-License-Identifier: Apache-2.0
#include "src/expansion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace faultline::app {
namespace {

// More is a slip in an axis, and would fill the memory before anything is said.
constexpr std::size_t kMostPoints = 100'000;

std::size_t count_points(const Experiment& experiment) {
  std::size_t count = experiment.strategies.size();
  for (const Axis& axis : experiment.axes) {
    if (count > kMostPoints) break;
    count *= axis.values.size();
  }
  if (count > kMostPoints) {
    throw UserError(fmt::format("{}: the axes make more than {} points", experiment.file, kMostPoints));
  }
  return count;
}

Point plan_point(const Experiment& experiment, const Strategy& strategy, std::size_t combination,
                 const Simulator& simulator) {
  Point point;
  point.strategy = strategy.name;
  const auto add = [&](const Settings& layer) {
    point.settings.insert(point.settings.end(), layer.begin(), layer.end());
  };
  add(experiment.platform_settings);
  add(experiment.parameters);
  add(strategy.settings);
  Settings chosen;
  for (std::size_t i = experiment.axes.size(); i-- > 0;) {
    const std::vector<Setting>& values = experiment.axes[i].values;
    chosen.insert(chosen.begin(), values[combination % values.size()]);
    combination /= values.size();
  }
  add(chosen);
  add(experiment.overrides);

  const auto machine = configure(point, simulator);
  const sim::ParameterTable& table = machine->parameters();
  for (const Axis& axis : experiment.axes) point.axes.push_back({axis.key, table.find(axis.key)->get()});
  for (const sim::Parameter& parameter : table.all()) {
    const bool is_axis = std::any_of(experiment.axes.begin(), experiment.axes.end(),
                                     [&](const Axis& axis) { return axis.key == parameter.name; });
    std::string text = parameter.get();
    if (is_axis || text != parameter.initial) point.parameters.push_back({parameter.name, std::move(text)});
  }
  return point;
}

}  // namespace

std::string Point::label() const {
  std::string text = strategy;
  for (const NamedText& axis : axes) text += fmt::format(", {} = {}", axis.name, axis.text);
  return text;
}

std::unique_ptr<Machine> configure(const Point& point, const Simulator& simulator) {
  auto machine = simulator.machine();
  Diagnostics diagnostics;
  apply(point.settings, machine->parameters(), diagnostics);
  if (!diagnostics.empty()) throw std::logic_error("a checked value was refused: " + diagnostics.text());
  return machine;
}

const Setting* deciding(const Settings& settings, const std::string& key) {
  const auto it = std::find_if(settings.rbegin(), settings.rend(), [&](const Setting& s) { return s.key == key; });
  return it == settings.rend() ? nullptr : &*it;
}

void add_combination(const Point& point, const std::string& file, const std::vector<std::string>& keys,
                     const std::string& reason, Diagnostics& diagnostics) {
  // Of the parameters that somebody set the first of the layer that has the last word: not the platform's
  // memory when the experiment asks for too much of it. All may be defaults.
  const Setting* setting = nullptr;
  std::string key = keys.empty() ? "" : keys.front();
  for (const std::string& candidate : keys) {
    const Setting* by = deciding(point.settings, candidate);
    if (by == nullptr || (setting != nullptr && (by < setting || by->origin == setting->origin))) continue;
    setting = by;
    key = candidate;
  }
  std::string others;
  for (const std::string& other : keys) {
    if (other == key) continue;
    const Setting* by = deciding(point.settings, other);
    others += fmt::format("{}{} ({})", others.empty() ? "; decided also by " : ", ", other,
                          by == nullptr ? "default" : by->set_by());
  }
  diagnostics.add(setting == nullptr ? Place{file, 0, 0} : setting->place, key,
                  fmt::format("{}{} [strategy {}]", reason, others, point.strategy));
}

std::vector<Point> expand(const Experiment& experiment, const Simulator& simulator) {
  const std::size_t count = count_points(experiment);
  const std::size_t combinations = count / experiment.strategies.size();
  Diagnostics diagnostics;
  std::vector<Point> points;
  points.reserve(count);
  for (const Strategy& strategy : experiment.strategies) {
    for (std::size_t combination = 0; combination < combinations; ++combination) {
      points.push_back(plan_point(experiment, strategy, combination, simulator));
      const auto machine = configure(points.back(), simulator);
      for (const workloads::Conflict& conflict : machine->conflicts()) {
        add_combination(points.back(), experiment.file, conflict.keys, conflict.reason, diagnostics);
      }
    }
  }
  diagnostics.raise();
  return points;
}

}  // namespace faultline::app
