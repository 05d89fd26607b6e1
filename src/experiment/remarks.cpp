// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/remarks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/experiment/point.hpp"
#include "src/experiment/quantity.hpp"
#include "src/experiment/variations.hpp"

namespace faultline::experiment {
namespace {

// The values beyond what is plausible that one place sets a parameter to.
struct Beyond {
  std::string set_by;
  std::vector<std::string> values;  // each once
};

// Collects such values of all parameters, and writes the lines.
class Remarks {
 public:
  explicit Remarks(const Simulator& simulator) : machine_(simulator.machine()) {}

  // Of several settings of a key the one that decides it. Keys are left out for which decided_elsewhere(key) is true.
  template <typename Predicate>
  void look_at(const Settings& settings, const Predicate& decided_elsewhere) {
    for (const Setting& setting : settings) {
      if (&setting == deciding(settings, setting.key) && !decided_elsewhere(setting.key)) look_at(setting);
    }
  }
  void look_at(const Setting& setting) {
    const sim::Parameter* parameter = machine_->parameters().find(setting.key);
    const auto range = parameter == nullptr ? std::nullopt : plausible_range(*parameter);
    if (!range) return;
    apply_checked({setting}, machine_->parameters());
    const std::string text = parameter->get();
    const double number = number_of(parameter->kind, text);
    if (number >= range->low && number <= range->high) return;
    const auto place = std::ranges::find(parameters(), setting.key, &sim::Parameter::name) - parameters().begin();
    const auto number_of_parameter = static_cast<std::size_t>(place);
    if (number_of_parameter >= found_.size()) found_.resize(number_of_parameter + 1);
    std::vector<Beyond>& places = found_[number_of_parameter];
    auto beyond = std::ranges::find(places, setting.set_by(), &Beyond::set_by);
    if (beyond == places.end()) beyond = places.insert(places.end(), {setting.set_by(), {}});
    if (std::ranges::find(beyond->values, text) == beyond->values.end()) beyond->values.push_back(text);
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      for (const Beyond& beyond : found_[i]) lines.push_back(line(parameters()[i], beyond));
    }
    return lines;
  }

 private:
  const std::deque<sim::Parameter>& parameters() const { return machine_->parameters().all(); }

  static std::string line(const sim::Parameter& parameter, const Beyond& beyond) {
    constexpr std::size_t kShown = 3;
    const auto shown = std::min(beyond.values.size(), kShown);
    std::string values = fmt::format("{}", fmt::join(beyond.values.begin(), beyond.values.begin() + shown, ", "));
    if (shown < beyond.values.size()) values += fmt::format(" and {} more", beyond.values.size() - shown);
    return fmt::format("remark: {} = {} (set by {}) is beyond what is plausible for this machine, {}{}", parameter.name,
                       values, beyond.set_by, fmt::join(parameter.doc.plausible, " to "),
                       parameter.doc.source.empty() ? "" : " (of the default: " + parameter.doc.source + ")");
  }

  std::unique_ptr<Machine> machine_;
  std::vector<std::vector<Beyond>> found_;  // by number of the parameter; of each, places in the order of look_at()
};

}  // namespace

std::vector<std::string> implausible_values(const Experiment& experiment, const Simulator& simulator) {
  // Who has the last word on a key, from the last to the first: --set, axes, the strategy, the experiment.
  const auto by_axes_or_overrides = [&](const std::string& key) {
    return deciding(experiment.overrides, key) != nullptr ||
           std::ranges::find(experiment.axes, key, &Axis::key) != experiment.axes.end();
  };
  const auto by_all_strategies = [&](const std::string& key) {
    return by_axes_or_overrides(key) || std::ranges::all_of(experiment.strategies, [&](const Strategy& strategy) {
             return deciding(strategy.settings, key) != nullptr;
           });
  };
  const auto by_nobody = [](const std::string&) { return false; };
  Remarks remarks(simulator);
  remarks.look_at(experiment.parameters, by_all_strategies);
  for (const Strategy& strategy : experiment.strategies) remarks.look_at(strategy.settings, by_axes_or_overrides);
  for (const Axis& axis : experiment.axes) {
    for (const Setting& value : axis.values) remarks.look_at(value);
  }
  remarks.look_at(experiment.overrides, by_nobody);
  return remarks.lines();
}

}  // namespace faultline::experiment
