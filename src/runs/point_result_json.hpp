// SPDX-License-Identifier: Apache-2.0
// A point's result as text: across the pipe from the process that simulated it, and in the run folder.
#pragma once

#include <nlohmann/json.hpp>

#include "src/runs/point_runner.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::runs {

nlohmann::ordered_json to_json(const workloads::PointResult& result);
// Throws nlohmann's exceptions when the text is not what to_json made.
workloads::PointResult point_result_from_json(const nlohmann::ordered_json& json);
nlohmann::ordered_json to_json(const PointOutcome& outcome);
PointOutcome point_outcome_from_json(const nlohmann::ordered_json& json);

}  // namespace faultline::runs
