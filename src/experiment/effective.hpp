// SPDX-License-Identifier: Apache-2.0
// The effective configuration: every parameter with its value and, where that is not the default, who
// set it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "src/experiment/expansion.hpp"

namespace faultline::experiment {

// The whole experiment as a file that `faultline run` reads again to the same points. It names neither
// paths nor shipped files, so that it means the same everywhere and for ever.
std::string effective_experiment(const Experiment& experiment, const Simulator& simulator);

// What the platform and a strategy of the experiment are based on, as lines of comment; empty where on nothing.
std::string origins(const Experiment& experiment, const std::string& strategy);

// One point as TOML; only the values that are not the default when `changed_only`.
std::string effective_point(const Point& point, const Simulator& simulator, bool changed_only);

// [{name, value, default, set_by}...]
nlohmann::ordered_json effective_point_json(const Point& point, const Simulator& simulator, bool changed_only);

}  // namespace faultline::experiment
