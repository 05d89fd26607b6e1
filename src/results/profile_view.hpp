// SPDX-License-Identifier: Apache-2.0
// What `faultline run --profile` prints: host time by part of the model and by process.
#pragma once

#include <string>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {

// Parts of all points together, the most time first.
std::vector<sim::Profile::Row> profile_by_part(const std::vector<runs::PointOutcome>& outcomes);

// Both tables. `width`: of a line.
std::string profile_text(const std::vector<experiment::Point>& points, const std::vector<runs::PointOutcome>& outcomes,
                         std::size_t width);

}  // namespace faultline::results
