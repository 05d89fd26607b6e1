// SPDX-License-Identifier: Apache-2.0
// The point of a run that is recorded.
#pragma once

#include <cstddef>
#include <vector>

#include "src/application.hpp"

namespace faultline::app {

// The point that is recorded: the only one, or the one that is named by its number in the list or by its id, or how
// that begins. Throws UserError with the list when there are several and none is chosen.
std::size_t traced_point(const std::vector<experiment::Point>& points, const TraceOptions& options);

// Throws UserError when a file cannot be made: before hours of simulation, not after.
void check_trace_files(const TraceOptions& options);

// Simulates the point for its trace, whether its outcome is there or not, and keeps a final one that is not. Says on
// the console what was recorded. False: interrupted.
bool record(std::size_t index, runs::PointStore& store, std::vector<runs::PointOutcome>& outcomes, const Call& call);

}  // namespace faultline::app
