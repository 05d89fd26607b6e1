// SPDX-License-Identifier: Apache-2.0
// A range of a parameter's values, as an axis gives it: { from, to } and how to go from one to the other.
#pragma once

#include <string>
#include <vector>

#include "src/experiment/settings.hpp"

namespace faultline::experiment {

inline constexpr const char* kRangeForm =
    "{ from = ..., to = ..., steps = N }, { from, to, step }, or { from, to, scale = \"log2\" or \"log10\" }";

// Both ends included where the steps allow it. Empty: a diagnostic has been made.
std::vector<Setting> range_values(const Node& node, const std::string& key, const std::string& origin,
                                  sim::ParameterTable& parameters, Diagnostics& diagnostics);
// Those at shares of the way, from 0 to 1, which are drawn; without steps. Empty, as well.
std::vector<Setting> drawn_from_range(const Node& node, const std::string& key, const std::vector<double>& shares,
                                      sim::ParameterTable& parameters, Diagnostics& diagnostics);

}  // namespace faultline::experiment
