// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/expansion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/uuid/name_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <set>
#include <stdexcept>

#include "src/experiment/program_id.hpp"

namespace faultline::app {
namespace {

// More is a slip in an axis, and would fill the memory before anything is said.
constexpr std::size_t kMostPoints = 100'000;

void refuse_many(const Experiment& experiment) {
  const std::size_t most = kMostPoints / experiment.strategies.size() / experiment.repetitions;
  if (combinations_of(experiment.axes) <= most) return;
  throw UserError(fmt::format("{}: axes, strategies and repetitions make more than {} points, skipped ones included",
                              experiment.file, kMostPoints));
}

struct Planned {
  Point point;
  std::unique_ptr<Machine> machine;  // with the point's values
};

// What follows from the settings, for a point whose axes have their names.
Planned complete(Point point, const Simulator& simulator) {
  auto machine = configure(point, simulator);
  const sim::ParameterTable& table = machine->parameters();
  for (NamedText& axis : point.axes) axis.text = table.find(axis.name)->get();
  for (const sim::Parameter& parameter : table.all()) {
    const bool is_axis = std::any_of(point.axes.begin(), point.axes.end(),
                                     [&](const NamedText& axis) { return axis.name == parameter.name; });
    std::string text = parameter.get();
    if (is_axis || text != parameter.initial) point.parameters.push_back({parameter.name, std::move(text)});
  }
  point.id = content_id(table, point.seed);
  return {std::move(point), std::move(machine)};
}

Planned plan_point(const Experiment& experiment, const Strategy& strategy, std::size_t combination,
                   const Simulator& simulator) {
  Point point;
  point.strategy = strategy.name;
  point.seed = experiment.seed;
  point.repeated = experiment.repetitions > 1;
  const auto add = [&](const Settings& layer) {
    point.settings.insert(point.settings.end(), layer.begin(), layer.end());
  };
  add(experiment.platform_settings);
  add(experiment.parameters);
  add(strategy.settings);
  const std::vector<std::size_t> indices = indices_in(experiment.axes, combination);
  for (std::size_t i = 0; i < indices.size(); ++i) point.settings.push_back(experiment.axes[i].values[indices[i]]);
  add(experiment.overrides);
  for (const Axis& axis : experiment.axes) point.axes.push_back({axis.key, ""});
  return complete(std::move(point), simulator);
}

bool is_skipped(const Point& point, const Experiment& experiment, const sim::ParameterTable& parameters) {
  const auto holds = [&](const Condition& condition) {
    if (condition.key == "strategy") return applies(condition, point.strategy, parameters);
    const auto axis =
        std::find_if(point.axes.begin(), point.axes.end(), [&](const NamedText& a) { return a.name == condition.key; });
    return applies(condition, axis->text, parameters);
  };
  return std::any_of(experiment.skips.begin(), experiment.skips.end(),
                     [&](const Skip& skip) { return std::all_of(skip.begin(), skip.end(), holds); });
}

}  // namespace

std::string Point::label() const {
  std::string text = strategy;
  for (const NamedText& axis : axes) text += fmt::format(", {} = {}", axis.name, axis.text);
  return repeated ? text + fmt::format(", seed {}", seed) : text;
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

Changed with_value(Point point, const Setting& setting, const Simulator& simulator) {
  point.settings.push_back(setting);
  point.axes.push_back({setting.key, ""});
  point.parameters.clear();
  Planned planned = complete(std::move(point), simulator);
  std::string conflict;
  for (const workloads::Conflict& each : planned.machine->conflicts())
    conflict += (conflict.empty() ? "" : "; ") + each.reason;
  return {std::move(planned.point), std::move(conflict)};
}

std::string content_id(const sim::ParameterTable& parameters, std::uint64_t seed) {
  std::string text = fmt::format("{}\nseed = {}\n", program_id(), seed);
  // The whole configuration, not what differs from the defaults: those change with the program, too.
  for (const sim::Parameter& parameter : parameters.all()) text += parameter.name + " = " + parameter.get() + "\n";
  return to_string(boost::uuids::name_generator_sha1(boost::uuids::ns::oid())(text));
}

std::vector<Point> expand(const Experiment& experiment, const Simulator& simulator) {
  refuse_many(experiment);
  const std::size_t combinations = combinations_of(experiment.axes);
  Diagnostics diagnostics;
  std::vector<Point> points;
  std::set<std::string> seen;
  for (const Strategy& strategy : experiment.strategies) {
    for (std::size_t combination = 0; combination < combinations; ++combination) {
      const auto [point, machine] = plan_point(experiment, strategy, combination, simulator);
      // What is drawn or set may be the same again.
      if (is_skipped(point, experiment, machine->parameters()) || !seen.insert(strategy.name + point.id).second)
        continue;
      for (const workloads::Conflict& conflict : machine->conflicts()) {
        add_combination(point, experiment.file, conflict.keys, conflict.reason, diagnostics);
      }
      for (unsigned i = 0; i < experiment.repetitions; ++i) {
        points.push_back(point);
        if (i == 0) continue;
        points.back().seed += i;
        points.back().id = content_id(machine->parameters(), points.back().seed);
      }
    }
  }
  diagnostics.raise();
  if (points.empty()) throw UserError(fmt::format("{}: skip leaves no point", experiment.file));
  return points;
}

}  // namespace faultline::app
