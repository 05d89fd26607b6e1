// SPDX-License-Identifier: Apache-2.0
// What a sweep's remaining points cost, by what those cost that have ended and by how far those are that run; and an
// order in which early points tell most about the others. Results depend on neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/experiment/point.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::runs {

struct PlannedPoint {
  std::string label;  // "STRATEGY, AXIS = VALUE, ..."
  double work = 1;    // as of experiment::Point
  unsigned repetition = 0;
};
std::vector<PlannedPoint> planned(const std::vector<experiment::Point>& points);

// First one of each amount of work, the least amount first. Then all the others, evenly mixed. Repetitions come last.
// `seed`: of who is the first of an amount, and of the mixture.
std::vector<std::size_t> telling_order(const std::vector<PlannedPoint>& points, std::vector<std::size_t> indices,
                                       std::uint64_t seed = 1);

// A point's cost is the product of a factor for its amount of work and one for each part of its label. The factors are
// those that fit best what has ended and, the further it is, what runs; of amounts that nobody has met the cost is in
// proportion. A repetition costs what its point's others do, if it is not shared.
class CostEstimate {
 public:
  explicit CostEstimate(const std::vector<PlannedPoint>& points);

  // Took so long. `stands_for_all`: its repetitions need not be simulated.
  void ended(std::size_t index, double seconds, bool stands_for_all);
  // Has its result from elsewhere, and nobody knows what it took.
  void is_there(std::size_t index) { finish(index); }
  bool is_done(std::size_t index) const { return done_[index]; }
  std::size_t done() const { return count_; }
  std::size_t shared() const { return shared_; }

  // `jobs`: points at a time. Nothing as long as nothing is known of any.
  std::optional<double> seconds_left(const std::vector<RunningPoint>& running, double jobs);

 private:
  struct Sample {
    std::size_t index;
    double log_cost;
    double weight = 1;
  };
  void finish(std::size_t index);
  void fit(std::vector<Sample> samples);
  double trust(const RunningPoint& point) const;
  double log_of_work(int amount) const;
  double log_of_parts(std::size_t index) const;

  std::vector<int> amounts_;                     // of work, as powers of two
  std::vector<std::vector<std::size_t>> parts_;  // of each point's label, as numbers
  std::vector<unsigned> repetitions_;
  std::vector<bool> done_;
  std::vector<double> own_;   // what a point's first repetition took; negative: not known
  std::vector<double> cost_;  // as fitted last
  std::vector<Sample> samples_;
  std::vector<double> factors_;                       // logarithms, of each part
  std::vector<std::pair<int, double>> work_factors_;  // logarithms, of each amount that is known, ascending
  std::size_t count_ = 0;
  std::size_t shared_ = 0;
  std::size_t firsts_ = 0;       // of those with repetitions that have ended
  std::size_t firsts_draw_ = 0;  // of them
  double fitted_ = 0;            // samples, by weight
  double doubt_of_fit_;          // mean square of what logarithms of costs are off by
};

}  // namespace faultline::runs
