// SPDX-License-Identifier: Apache-2.0
// Remarks on an experiment's values that are legal, but beyond what its machine is likely to have.
#pragma once

#include <string>
#include <vector>

#include "src/experiment/experiment.hpp"
#include "src/experiment/simulator.hpp"

namespace faultline::experiment {

// A line for each parameter and each place (the experiment, a strategy, an axis, --set) that gives it values beyond its
// plausible range: which values, where they are set, the range and its source. Values that no point has, because
// another place has the last word, are left out. What the platform sets is not looked at: another machine has other
// numbers, and its file says where they are from. The experiment's values must have been checked.
std::vector<std::string> implausible_values(const Experiment& experiment, const Simulator& simulator);

}  // namespace faultline::experiment
