// SPDX-License-Identifier: Apache-2.0
// The `report` of an experiment file.
#pragma once

#include <string>
#include <vector>

#include "src/experiment/experiment.hpp"

namespace faultline::experiment {

// "points", "matrix", ...
std::string to_string(View view);

// The points alone when the file has no `report`.
std::vector<ReportSpec> read_reports(const Node& file, const std::vector<Axis>& axes,
                                     const std::vector<Strategy>& strategies,
                                     const std::vector<workloads::MetricDoc>& metrics, Diagnostics& diagnostics);

// Writes the values that reports are to show alone as points write them, and refuses those that an axis does not have
// (an axis that was set from outside may not). Needs the axes' texts.
void resolve_shown_values(Experiment& experiment, const Simulator& simulator, Diagnostics& diagnostics);
// Whether a report has something to show: the axis that it is restricted to may have been set to another value.
bool has_points(const ReportSpec& spec, const Experiment& experiment);

// As TOML, for the effective configuration.
std::string to_toml(const ReportSpec& spec);

}  // namespace faultline::experiment
