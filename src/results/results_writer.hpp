// SPDX-License-Identifier: Apache-2.0
// Results for programs: JSON and CSV. The bytes depend on configuration, seed and version alone.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/runs/point_runner.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::results {

// An array of the points that ran: strategy, parameters, metrics, breakdown, notes, and what went wrong.
std::string results_json(const std::vector<experiment::Point>& points, const std::vector<runs::PointOutcome>& outcomes);

// A row a point. Quantities on axes are plain numbers in the unit that the column's name gives.
std::string results_csv(const std::vector<experiment::Point>& points, const std::vector<runs::PointOutcome>& outcomes,
                        const experiment::Simulator& simulator);

// As commands print it.
std::string json_text(const nlohmann::ordered_json& json);

// A line of a CSV file: texts quoted where they must be, nothing where there is no value.
std::string csv_line(const std::vector<nlohmann::ordered_json>& fields);

inline constexpr std::array<const char*, 4> kPercentiles{"p50", "p90", "p99", "p99.9"};

// These, in the distribution's unit: each the greatest value of its bucket, too great by a 64th at most.
std::array<double, kPercentiles.size()> percentiles_of(const workloads::Distribution& distribution);

}  // namespace faultline::results
