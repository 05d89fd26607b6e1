// SPDX-License-Identifier: Apache-2.0
// Metrics of a run, grouped: what `faultline query` answers.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "src/results/run.hpp"
#include "src/results/statistics.hpp"

namespace faultline::results {

struct Question {
  std::vector<std::string> metrics;
  std::vector<std::string> by;     // empty: strategy and axes, of those that advance together one
  std::vector<std::string> where;  // as Run::points_where()
};

struct Answer {
  struct Row {
    workloads::MetricDoc metric;
    std::size_t first;     // of the points in it
    Summary summary = {};  // of those that have the metric
    Failures failures = {};
    double half_width = std::numeric_limits<double>::quiet_NaN();  // unless they are seeds of one combination
    double min = std::numeric_limits<double>::quiet_NaN();
    double max = std::numeric_limits<double>::quiet_NaN();
    std::size_t failed_checks = 0;  // points whose result is wrong
  };
  std::vector<std::size_t> points;
  std::vector<RunColumn> by;
  std::vector<Row> rows;           // metric by metric
  std::vector<std::string> mixed;  // what else tells the points of a row apart, but for their seeds
};

// Throws UserError for what the run does not have.
Answer ask(Run& run, const Question& question);

}  // namespace faultline::results
