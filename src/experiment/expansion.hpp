// SPDX-License-Identifier: Apache-2.0
// From an experiment to its points: the layers are put on top of each other, every strategy meets every
// combination of the axes, and combinations that cannot be are refused before anything runs.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "src/experiment/experiment.hpp"
#include "src/experiment/point.hpp"
#include "src/experiment/simulator.hpp"

namespace faultline::experiment {

// Hears now and then how many of something are planned, and of how many.
using Planned = std::function<void(std::size_t planned, std::size_t all)>;

// In the order: strategies as listed, axes as listed with the last one fastest, then repetitions. `planned` hears now
// and then how many combinations have been looked at, and of how many.
// Throws UserError with every impossible combination, where conditions leave none, and when they are more than
// experiment.most_points.
std::vector<Point> expand(const Experiment& experiment, const Simulator& simulator, const Planned& planned = {});

// Points with one more setting, which has the last word and is named like a value of an axis.
struct Changed {
  std::vector<Point> points;
  std::string conflict;  // why they cannot be simulated, and there are none
};
// Of points that differ by their seed alone, on a machine that has their values, and has them again afterwards.
Changed with_value(std::span<const Point> repetitions, const Setting& setting, Machine& machine);

}  // namespace faultline::experiment
