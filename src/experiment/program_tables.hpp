// SPDX-License-Identifier: Apache-2.0
// The tables [[program]] of an experiment: what each says becomes settings of parameters
// (workloads/program_settings.hpp), so that axes, --set and the effective configuration know them like all others.
//
//   [[program]]
//   name = "victim"
//   strategy = "pin-cache"   # a strategy by name, for this program alone; without one the experiment's
//   kind = "write"           # program.victim.kind, what workload.kind is for a program that is alone
//   size = "64 KiB"
#pragma once

#include <string>
#include <vector>

#include "src/experiment/config_library.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/settings.hpp"
#include "src/experiment/toml_document.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::experiment {

// In the order of the tables. `strategies`: those that a table may name.
Settings read_programs(const Node& file, const Presets& strategies, Diagnostics& diagnostics);

// The programs that settings name, in the order in which they do.
std::vector<std::string> programs_in(const Settings& settings);
// Metrics of a run with these programs, each with its own: "victim.latency_mean". Without any as they are.
std::vector<workloads::MetricDoc> with_programs(const std::vector<workloads::MetricDoc>& metrics,
                                                const std::vector<std::string>& programs);

}  // namespace faultline::experiment
