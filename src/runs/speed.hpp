// SPDX-License-Identifier: Apache-2.0
// How much was simulated, and how fast in host time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "workloads/experiment_point.hpp"

namespace faultline::runs {

// "12.3 M events (4.1 M/s), 3.21 M cell-hops (1.07 M/s), 1.2 ms simulated (400 us/s)": three digits each, rates per
// second of host time.
std::string speed_text(const workloads::Totals& totals, double host_seconds);

// Adds totals and rates to an object. A rate in no time is null.
void add_speed(nlohmann::ordered_json& json, const workloads::Totals& totals, double host_seconds);

}  // namespace faultline::runs
