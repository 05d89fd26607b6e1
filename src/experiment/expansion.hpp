// SPDX-License-Identifier: Apache-2.0
// From an experiment to its points: the layers are put on top of each other, every strategy meets every
// combination of the axes, and combinations that cannot be are refused before anything runs.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "src/experiment/experiment.hpp"
#include "src/experiment/point.hpp"
#include "src/experiment/simulator.hpp"

namespace faultline::app {

// In the order: strategies as listed, axes as listed with the last one fastest, then repetitions. `planned` hears now
// and then how many combinations have been looked at, and of how many.
// Throws UserError with every impossible combination, where conditions leave none, and when they are more than
// experiment.most_points.
std::vector<Point> expand(const Experiment& experiment, const Simulator& simulator,
                          const std::function<void(std::size_t, std::size_t)>& planned = {});

// The point with one more setting, which has the last word and is named like a value of an axis.
struct Changed {
  Point point;
  std::string conflict;  // why it cannot be simulated; empty: it can
};
Changed with_value(Point point, const Setting& setting, const Simulator& simulator);

}  // namespace faultline::app
