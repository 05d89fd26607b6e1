// SPDX-License-Identifier: Apache-2.0
// What became of a point, in words.
#pragma once

#include <string>

#include "src/runs/point_runner.hpp"

namespace faultline::app {

// The word for it in tables and files: "refused", or that of its status.
std::string status_text(const PointOutcome& outcome);
// Why it has no result: what the machine refused to do, or what went wrong; empty where it has one.
std::string reason_text(const PointOutcome& outcome);
// What is wrong with the result that it has; empty where all checks passed.
std::string failed_checks_text(const PointOutcome& outcome);

}  // namespace faultline::app
