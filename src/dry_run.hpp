// SPDX-License-Identifier: Apache-2.0
// faultline run --dry-run: what would be simulated, and about how long it would take.
#pragma once

#include <vector>

#include "src/application.hpp"

namespace faultline::app {

// Prints the points, the first one's configuration, and an estimate from a few of them that are simulated.
int dry_run(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points, const Call& call);

}  // namespace faultline::app
