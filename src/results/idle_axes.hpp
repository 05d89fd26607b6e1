// SPDX-License-Identifier: Apache-2.0
// Axes along which nothing has changed: a value that cannot take effect where it was set looks like a finding.
#pragma once

#include <string>
#include <vector>

#include "src/results/report.hpp"

namespace faultline::results {

// Axes whose values differ and whose points, where all else is the same, have the same metrics. Axes that advance
// together are one, "a.b and c.d". None where a point is not complete: then nobody knows.
std::vector<std::string> idle_axes(const Results& results);

}  // namespace faultline::results
