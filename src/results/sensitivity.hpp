// SPDX-License-Identifier: Apache-2.0
// Parameters without a published source, ranked by what a metric makes of their ranges.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "src/experiment/variations.hpp"
#include "src/results/failures.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {

// A value of a parameter and what the metric is there.
struct Response {
  std::string text;
  bool below = false;  // a number less than the initial one
  std::optional<double> metric;
  double half_width = 0;  // of the metric's 95 % confidence interval, over seeds
  std::string trouble;    // why there is no metric, or what is wrong with it
  std::string mark;       // of transfers that failed, and are not in it
};

// What one parameter does at one point of the experiment.
struct Effect {
  std::size_t base = 0;
  Response initial;
  std::vector<Response> others;  // from low to high
  double span = 0;               // the metric's greatest value less its smallest, over all of these
  double percent = 0;            // of the initial metric's magnitude; infinity where that is 0
  bool within_noise = false;     // the span is less than the two confidence intervals
  bool monotonic = true;         // a number: from low to high the metric only rises, or only falls, noise apart
};

struct RankedParameter {
  std::string name;
  std::string standing;
  std::string range;
  std::vector<Effect> effects;  // by point
  std::size_t greatest = 0;     // of these

  const Effect& at() const { return effects[greatest]; }
};

// What is ranked: a metric, or its ratio to that of another strategy of the experiment where all else is the same.
struct Measure {
  std::string metric;
  std::string baseline = {};
  std::string name() const { return baseline.empty() ? metric : metric + "/" + baseline; }
};

struct Sensitivity {
  std::string metric;
  std::string baseline;                     // the metric is a ratio to this strategy's; empty: as it is
  std::string unit;                         // "1" of a ratio
  std::vector<experiment::Point> points;    // that are ranked, the first of their repetitions
  std::vector<RankedParameter> parameters;  // by their greatest effect, then by name
  std::vector<std::string> left_out;
  nlohmann::ordered_json assumptions;  // turns_of()

  Measure measure() const { return {metric, baseline}; }
};

// `outcomes`: of the experiment's points, then of the points of each variation. Throws UserError when no point of the
// experiment has the metric.
Sensitivity rank(const Measure& measure, const experiment::Experiment& experiment,
                 const std::vector<experiment::Point>& points, const experiment::Variations& variations,
                 const std::vector<runs::PointOutcome>& outcomes);

// The tornado: parameters that do something, then what does nothing and what could not be compared.
std::string tornado_text(const Sensitivity& sensitivity);
std::string sensitivity_json(const Sensitivity& sensitivity);
// A row a parameter, point and value.
std::string sensitivity_csv(const Sensitivity& sensitivity);

}  // namespace faultline::results
