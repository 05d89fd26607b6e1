// SPDX-License-Identifier: Apache-2.0
// What became of a point, in words.
#pragma once

#include <string>

#include "src/runs/point_runner.hpp"

namespace faultline::runs {

inline constexpr const char* kStatusRefused = "refused";
inline constexpr const char* kStatusCheckFailed = "check failed";

// The word for it in tables and files: one of these, or that of its status.
std::string status_text(const PointOutcome& outcome);
// Why it has no result: what the machine refused to do, or what went wrong; or what is wrong with the result that it
// has. Empty where it has one that passed all checks.
std::string reason_text(const PointOutcome& outcome);

}  // namespace faultline::runs
