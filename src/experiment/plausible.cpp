// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/plausible.hpp"

#include <cmath>

#include "src/experiment/quantity.hpp"

namespace faultline::experiment {

std::string standing_of(const sim::Parameter& parameter, const SettingLayers& settings) {
  const Setting* setting = deciding(settings, parameter.name);
  if (setting != nullptr && !setting->standing.empty()) return setting->standing;
  return std::string(sim::to_string(parameter.doc.standing));
}

bool has_nothing_to_vary(const std::string& standing) { return standing == "published" || standing == "setting"; }

std::optional<NumberRange> plausible_range(const sim::Parameter& parameter) {
  if (!is_number(parameter.kind) || parameter.doc.plausible.size() != 2) return {};
  return NumberRange{number_of(parameter.kind, parameter.doc.plausible.front()),
                     number_of(parameter.kind, parameter.doc.plausible.back())};
}

double at_share(const NumberRange& range, double share) {
  if (share <= 0) return range.low;
  if (share >= 1) return range.high;
  if (range.low > 0) return range.low * std::pow(range.high / range.low, share);
  return range.low + (range.high - range.low) * share;
}

}  // namespace faultline::experiment
