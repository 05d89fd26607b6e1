// SPDX-License-Identifier: Apache-2.0
// The tables that a person reads after a run.
#pragma once

#include <string>
#include <vector>

#include "src/expansion.hpp"
#include "src/point_runner.hpp"

namespace faultline::app {

struct Results {
  const Experiment& experiment;
  const std::vector<Point>& points;
  const std::vector<PointOutcome>& outcomes;
};

// Question, platform, seed and what differs from the defaults in every point.
std::string report_head(const Results& results, std::uint64_t seed);

// All views of the experiment, at most `width` columns wide where they can be; then the points' notes
// and what went wrong.
std::string report_tables(const Results& results, std::size_t width);

// Each view for itself.
std::string points_view(const Results& results, const ReportSpec& spec, std::size_t width);
std::string matrix_view(const Results& results, const ReportSpec& spec);
std::string breakdown_view(const Results& results);
// "" when there are none.
std::string remarks(const Results& results);

// nullptr when the point has no such metric.
const workloads::Metric* find_metric(const PointOutcome& outcome, const std::string& name);

}  // namespace faultline::app
