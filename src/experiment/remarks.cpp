// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/remarks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/experiment/point.hpp"
#include "src/experiment/variations.hpp"

namespace faultline::experiment {
namespace {

// Of one parameter, in the order in which they are set.
struct Beyond {
  std::vector<std::string> values;
  std::string set_by;  // the first of them
};

class Remarks {
 public:
  explicit Remarks(const Simulator& simulator) : machine_(simulator.machine()), found_(parameters().size()) {}

  void look_at(const Settings& settings) {
    for (const Setting& setting : settings) look_at(setting);
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (!found_[i].values.empty()) lines.push_back(line(parameters()[i], found_[i]));
    }
    return lines;
  }

 private:
  const std::vector<sim::Parameter>& parameters() const { return machine_->parameters().all(); }

  void look_at(const Setting& setting) {
    const sim::Parameter* parameter = machine_->parameters().find(setting.key);
    const auto range = parameter == nullptr ? std::nullopt : plausible_range(*parameter);
    if (!range) return;
    apply_checked({setting}, machine_->parameters());
    const std::string text = parameter->get();
    const double number = number_of(parameter->kind, text);
    if (number >= range->low && number <= range->high) return;
    Beyond& beyond = found_[static_cast<std::size_t>(parameter - parameters().data())];
    if (beyond.values.empty()) beyond.set_by = setting.set_by();
    if (std::ranges::find(beyond.values, text) == beyond.values.end()) beyond.values.push_back(text);
  }

  static std::string line(const sim::Parameter& parameter, const Beyond& beyond) {
    constexpr std::size_t kShown = 3;
    const auto shown = std::min(beyond.values.size(), kShown);
    std::string values = fmt::format("{}", fmt::join(beyond.values.begin(), beyond.values.begin() + shown, ", "));
    if (shown < beyond.values.size()) values += fmt::format(" and {} more", beyond.values.size() - shown);
    return fmt::format("remark: {} = {} (set by {}) is beyond what is plausible for this machine, {}{}", parameter.name,
                       values, beyond.set_by, fmt::join(parameter.doc.plausible, " to "),
                       parameter.doc.source.empty() ? "" : " (" + parameter.doc.source + ")");
  }

  std::unique_ptr<Machine> machine_;
  std::vector<Beyond> found_;  // by parameter
};

}  // namespace

std::vector<std::string> implausible_values(const Experiment& experiment, const Simulator& simulator) {
  Remarks remarks(simulator);
  remarks.look_at(experiment.parameters);
  for (const Strategy& strategy : experiment.strategies) remarks.look_at(strategy.settings);
  for (const Axis& axis : experiment.axes) remarks.look_at(axis.values);
  remarks.look_at(experiment.overrides);
  return remarks.lines();
}

}  // namespace faultline::experiment
