// SPDX-License-Identifier: Apache-2.0
// For a sensitivity analysis: each point again, with one parameter at a time that has no published source at other
// values that it may well have.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/experiment/expansion.hpp"

namespace faultline::experiment {

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
