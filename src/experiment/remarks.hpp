// SPDX-License-Identifier: Apache-2.0
// What an experiment asks for that is legal, and that its machine would hardly have.
#pragma once

#include <string>
#include <vector>

#include "src/experiment/experiment.hpp"
#include "src/experiment/simulator.hpp"

namespace faultline::experiment {

// A line for each parameter that the experiment, a strategy, an axis or --set gives values beyond its plausible range,
// and for each place that does: which values, where they are set, the range and its source. Values that no point has,
// because others are set above them, are left out. What the platform sets is not looked at: another machine
// has other numbers, and says where they are from. The experiment's values have been checked.
std::vector<std::string> implausible_values(const Experiment& experiment, const Simulator& simulator);

}  // namespace faultline::experiment
