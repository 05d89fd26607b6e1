// SPDX-License-Identifier: Apache-2.0
// What tells two runs, or two points, apart: what `faultline diff` answers.
#pragma once

#include <string>
#include <vector>

#include "src/results/run.hpp"
#include "src/results/statistics.hpp"

namespace faultline::results {

// A run; or RUN:POINT with the point's number or id, it and those that differ from it by their seed alone; or
// RUN:CONDITION, the run's points to which it applies.
struct Side {
  // `where`: as Run::points_where(), not for a point. Throws UserError when there is no such run or point.
  Side(const std::string& name, const std::vector<std::string>& where);

  Run run;
  bool is_point = false;
  std::string chosen;  // the key of the condition
  std::vector<std::size_t> points;
};

struct Difference {
  struct Setting {
    std::string key;  // a parameter, or "program", "platform", "seeds", "strategy"
    std::string a;    // its value; of several: all, or how many; "-": has no such parameter
    std::string b;
  };
  struct Row {
    std::string point;  // as A calls it
    workloads::MetricDoc metric;
    Summary a;  // count 0: it has none there
    Summary b;
    Failures failures_a;
    Failures failures_b;
    double change = 0;  // percent of A's mean; NaN when that is 0 or there is none
    BeyondNoise beyond_noise = BeyondNoise::unknown;
  };
  std::vector<Setting> configuration;
  std::vector<std::string> only_a;  // points, but for their seeds, with what tells those of one name apart
  std::vector<std::string> only_b;
  std::vector<Row> rows;
  std::vector<Row> marked;  // pairs of points, without a metric, where either side has lost something
  std::size_t pairs = 0;
  std::size_t compared = 0;  // metrics of all pairs
  std::size_t equal = 0;     // of them; not in `rows` unless all are asked for
};

// "runs/mine-1" of "runs/mine-1:3" and "runs/mine-1:strategy=mlock": what is before the first colon before which there
// is a file or folder; the whole name where it is one.
std::string run_of(const std::string& name);

// `metrics`: empty for all. `all`: those that are equal, too. Points are matched by strategy and the axes of both runs,
// two points with each other; what a side's condition chooses, with the axes that advance with it, matches whatever the
// other side has there. Throws UserError for a run and a point, for a condition that leaves a side several values of
// what is chosen, or points that nothing else matches, or metrics that neither has.
Difference difference(Side& a, Side& b, const std::vector<std::string>& metrics, bool all);

}  // namespace faultline::results
