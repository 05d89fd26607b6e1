// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/expansion.hpp"

#include <algorithm>
#include <unordered_set>

#include "src/experiment/input_limits.hpp"
#include "src/experiment/refusals.hpp"

namespace faultline::experiment {
namespace {

constexpr std::size_t kBetweenNews = 1000;  // combinations
constexpr std::size_t kMostRefusals = 100;  // then people know enough

void refuse_many(const Experiment& experiment) {
  if (experiment.seed > kMostSeed - (experiment.repetitions - 1)) {
    throw UserError("{}: seed = {}, and {} after it (repetitions); allowed: up to {}", experiment.file, experiment.seed,
                    experiment.repetitions - 1, kMostSeed);
  }
  const std::size_t most = experiment.most_points / experiment.strategies.size() / experiment.repetitions;
  if (combinations_of(experiment.axes) <= most) return;
  throw UserError(
      "{}: axes, strategies and repetitions make more than {} points, skipped ones included; "
      "if that is meant, --max-points allows more",
      experiment.file, experiment.most_points);
}

// What is no axis and not the default, as declared.
std::shared_ptr<const std::vector<NamedText>> changed_beside(const std::vector<NamedText>& axes,
                                                             const sim::ParameterTable& parameters) {
  std::vector<NamedText> changed;
  for (const sim::Parameter& parameter : parameters.all()) {
    const bool is_axis = std::ranges::any_of(axes, [&](const NamedText& axis) { return axis.name == parameter.name; });
    std::string text = parameter.get();
    if (!is_axis && text != parameter.initial) changed.push_back({parameter.name, std::move(text)});
  }
  return std::make_shared<const std::vector<NamedText>>(std::move(changed));
}

// What is no axis and the default, although the platform says something else. `platform`: what it says.
std::shared_ptr<const std::vector<NamedText>> reset_beside(const std::vector<NamedText>& axes,
                                                           const std::vector<NamedText>& platform,
                                                           const sim::ParameterTable& parameters) {
  std::vector<NamedText> reset;
  for (const NamedText& given : platform) {
    const bool is_axis = std::ranges::any_of(axes, [&](const NamedText& axis) { return axis.name == given.name; });
    const sim::Parameter& parameter = *parameters.find(given.name);
    const std::string text = parameter.get();
    if (!is_axis && text == parameter.initial && text != given.text) reset.push_back({given.name, text});
  }
  return std::make_shared<const std::vector<NamedText>>(std::move(reset));
}

// All combinations of one strategy, on one machine: what tells them apart is set again, and nothing else.
class StrategyPoints {
 public:
  // `values`: of each axis each value as a layer of its own.
  StrategyPoints(const Experiment& experiment, const Strategy& strategy, std::vector<SettingLayers> values,
                 const Simulator& simulator)
      : experiment_(experiment), values_(std::move(values)), machine_(simulator.machine()) {
    const auto shared = [](const Settings& layer) { return std::make_shared<const Settings>(layer); };
    below_ = {shared(experiment.platform_settings), shared(experiment.parameters), shared(strategy.settings)};
    overrides_ = shared(experiment.overrides);
    common_.strategy = strategy.name;
    common_.seed = experiment.seed;
    common_.repeated = experiment.repetitions > 1;
    common_.labels = experiment.labels;
    for (const auto& layer : below_) {
      apply_checked(*layer, machine_->parameters());
      if (layer != below_.front()) continue;
      for (const sim::Parameter* each : named_by(*layer, machine_->parameters()))
        platform_.push_back({each->name, each->get()});
    }
  }

  Machine& machine() { return *machine_; }

  // The machine has its values afterwards.
  Point at(std::size_t combination) {
    Point point = common_;
    point.settings = below_;
    const std::vector<std::size_t> indices = indices_in(experiment_.axes, combination);
    for (std::size_t i = 0; i < indices.size(); ++i) point.settings.push_back(values_[i][indices[i]]);
    point.settings.push_back(overrides_);
    for (std::size_t i = below_.size(); i < point.settings.size(); ++i)
      apply_checked(*point.settings[i], machine_->parameters());
    for (const Axis& axis : experiment_.axes)
      point.axes.push_back({axis.key, machine_->parameters().find(axis.key)->get()});
    if (common_.changed == nullptr) {
      common_.changed = changed_beside(point.axes, machine_->parameters());
      common_.reset = reset_beside(point.axes, platform_, machine_->parameters());
    }
    point.changed = common_.changed;
    point.reset = common_.reset;
    configuration_ = configuration_text(machine_->parameters());
    point.id = content_id(configuration_, point.seed);
    return point;
  }
  // Of what at() has given last, one with another seed.
  Point repetition(Point point, unsigned number) const {
    point.seed += number;
    point.repetition = number;
    point.id = content_id(configuration_, point.seed);
    return point;
  }

 private:
  const Experiment& experiment_;
  std::vector<SettingLayers> values_;
  SettingLayers below_;
  std::shared_ptr<const Settings> overrides_;
  std::vector<NamedText> platform_;  // what it says
  Point common_;
  std::string configuration_;  // of what at() has given last
  std::unique_ptr<Machine> machine_;
};

bool is_skipped(const Point& point, const Experiment& experiment, const sim::ParameterTable& parameters) {
  const auto holds = [&](const Condition& condition) {
    if (condition.key == "strategy") return applies(condition, point.strategy, parameters);
    const auto axis = std::ranges::find(point.axes, condition.key, &NamedText::name);
    return applies(condition, axis->text, parameters);
  };
  return std::ranges::any_of(experiment.skips, [&](const Skip& skip) { return std::ranges::all_of(skip, holds); });
}

std::vector<SettingLayers> layers_of(const std::vector<Axis>& axes) {
  std::vector<SettingLayers> all;
  for (const Axis& axis : axes) {
    SettingLayers& layers = all.emplace_back();
    for (const Setting& value : axis.values) layers.push_back(std::make_shared<const Settings>(Settings{value}));
  }
  return all;
}

void refuse(const Refusals& refusals) {
  Diagnostics diagnostics;
  refusals.tell(diagnostics);
  diagnostics.raise();
}

}  // namespace

std::vector<Point> expand(const Experiment& experiment, const Simulator& simulator, const Planned& planned) {
  refuse_many(experiment);
  const std::size_t combinations = combinations_of(experiment.axes);
  const std::vector<SettingLayers> values = layers_of(experiment.axes);
  Refusals refusals(experiment);
  std::vector<Point> points;
  std::size_t looked_at = 0;
  for (const Strategy& strategy : experiment.strategies) {
    StrategyPoints of_strategy(experiment, strategy, values, simulator);
    std::unordered_set<std::string> seen;
    for (std::size_t combination = 0; combination < combinations; ++combination) {
      if (++looked_at % kBetweenNews == 0 && planned) planned(looked_at, combinations * experiment.strategies.size());
      Point point = of_strategy.at(combination);
      // What is drawn or set may be the same again.
      if (is_skipped(point, experiment, of_strategy.machine().parameters()) || !seen.insert(point.id).second) continue;
      for (const workloads::Conflict& conflict : of_strategy.machine().conflicts()) refusals.add(point, conflict);
      if (refusals.size() >= kMostRefusals) refuse(refusals);
      if (refusals.size() == 0) point.work = of_strategy.machine().work();
      points.push_back(point);
      for (unsigned i = 1; i < experiment.repetitions; ++i) points.push_back(of_strategy.repetition(point, i));
    }
  }
  refuse(refusals);
  if (points.empty()) throw UserError("{}: skip leaves no point", experiment.file);
  return points;
}

Changed with_value(std::span<const Point> repetitions, const Setting& setting, Machine& machine) {
  const sim::ParameterTable& parameters = machine.parameters();
  const sim::Parameter& parameter = *parameters.find(setting.key);
  const std::string before = parameter.get();
  const auto layer = std::make_shared<const Settings>(Settings{setting});
  apply_checked(*layer, machine.parameters());
  Changed changed;
  for (const workloads::Conflict& each : machine.conflicts())
    changed.conflict += (changed.conflict.empty() ? "" : "; ") + each.reason;
  if (changed.conflict.empty()) {
    changed.points.assign(repetitions.begin(), repetitions.end());
    const std::string configuration = configuration_text(parameters);
    std::vector<NamedText> axes = repetitions.front().axes;
    axes.push_back({setting.key, parameter.get()});
    const auto beside = changed_beside(axes, parameters);
    for (Point& point : changed.points) {
      point.work = machine.work();
      point.settings.push_back(layer);
      point.axes = axes;
      point.changed = beside;
      point.id = content_id(configuration, point.seed);
    }
  }
  parameter.set(before);
  return changed;
}

}  // namespace faultline::experiment
