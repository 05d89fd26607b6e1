// SPDX-License-Identifier: Apache-2.0
// The `report` of an experiment file.
#pragma once

#include <string>
#include <vector>

#include "src/experiment/experiment.hpp"

namespace faultline::app {

// The points alone when the file has no `report`.
std::vector<ReportSpec> read_reports(const Node& file, const std::vector<Axis>& axes,
                                     const std::vector<Strategy>& strategies,
                                     const std::vector<workloads::MetricDoc>& metrics, Diagnostics& diagnostics);

// Whether the axes have the values that reports are to show alone; an axis that was set from outside may not.
void check_shown_values(const Experiment& experiment, Diagnostics& diagnostics);

// As TOML, for the effective configuration.
std::string to_toml(const ReportSpec& spec);

}  // namespace faultline::app
