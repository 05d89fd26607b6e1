// SPDX-License-Identifier: Apache-2.0
// For a sensitivity analysis, and for bands: what a parameter without a published source may be as well, and each point
// again with one parameter at a time at other values that it may well have.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/sim/parameters.hpp"
#include "src/experiment/expansion.hpp"
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

// One parameter of one point at one other value.
struct Variation {
  std::size_t base = 0;       // number of the point, its repetitions counted once
  std::string parameter;      // its name
  std::string standing;       // of the value that it has there
  std::string range;          // what the values are taken from: "plausible", "half to double", "choices"
  std::string initial;        // the value that it has there
  std::string text;           // the other value
  bool below = false;         // a number less than `initial`
  std::vector<Point> points;  // one a repetition; none where that value does not go with the others
  std::string conflict;       // why it does not
};

struct Variations {
  std::vector<Variation> all;  // by point, then in the order of declaration, then from low to high
  // Parameters without a published source that nothing is known of how to vary: texts, and counts and times that are 0
  // and have no plausible range.
  std::vector<std::string> left_out;
};

// `points` are those of the experiment, as expand() gives them. Numbers take `levels` (2 or more) values from the
// lowest plausible one to the highest, by equal factors where the lowest is above 0; where nobody has said what is
// plausible, from half to double of what they are, as far as that is legal. Flags and choices take every other value.
// Axes of the experiment are not varied. `planned` hears of how many points the variations are known, and of how many.
// Throws UserError when it is too many points.
Variations vary(const std::vector<Point>& points, const Experiment& experiment, const Simulator& simulator,
                unsigned levels, const Planned& planned = {});

}  // namespace faultline::experiment
