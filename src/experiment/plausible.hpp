// SPDX-License-Identifier: Apache-2.0
// What a parameter's value may be as well: for what varies values that no source states.
#pragma once

#include <optional>
#include <string>

#include "models/sim/parameters.hpp"
#include "src/experiment/point.hpp"

namespace faultline::experiment {

// Of the value that a point with these settings has: the platform's word on its own number, else the declaration's.
std::string standing_of(const sim::Parameter& parameter, const SettingLayers& settings);

// Of a standing_of(): a source states the value, or it is the user's choice and no claim.
bool has_nothing_to_vary(const std::string& standing);

// In number_of()'s unit; `low` is below `high`.
struct NumberRange {
  double low = 0;
  double high = 0;
};
// The plausible range as declared; nothing for what is no number, and where nobody has said.
std::optional<NumberRange> plausible_range(const sim::Parameter& parameter);

// The number at a share of the way, from 0 to 1: by equal factors where the lowest is above 0, else by equal steps.
double at_share(const NumberRange& range, double share);

}  // namespace faultline::experiment
