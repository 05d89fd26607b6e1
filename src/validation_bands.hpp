// SPDX-License-Identifier: Apache-2.0
// How far a simulated figure spreads while what nobody has published takes other plausible values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/validation.hpp"

namespace faultline::app {

// Samples of the parameters that no source states: a Latin hypercube over their plausible ranges, all at once. A value
// is the same in all points of a sample. Numbers alone are varied, not choices between designs, and not what a figure
// itself sets, its strategy or --set: that is where the figure was measured. A value that does not go with the others
// stays as it is. Predictions and fits have bands.
class BandPlan {
 public:
  // `figures` are not changed meanwhile. `seed` is the draw's; points keep theirs.
  BandPlan(const std::vector<Figure>& figures, unsigned samples, std::uint64_t seed,
           const experiment::Simulator& simulator);

  // What has to be simulated besides the figures' own points, whose seeds these have.
  const std::vector<experiment::Point>& points() const { return points_; }
  unsigned samples() const { return samples_; }
  const std::set<std::string>& varied() const { return varied_; }
  // Without a published source, but nobody has said what is plausible for it, or it is no number. One figure may vary
  // what another leaves out: it is in varied() alone.
  const std::set<std::string>& left_out() const { return left_out_; }

  // Gives compare()'s checks their bands. `outcomes` are those of points(), in order.
  void add_bands(std::vector<Check>& checks, std::span<const runs::PointOutcome> outcomes) const;

 private:
  // A sample of one of a figure's points beside its baseline's, by their numbers in points_.
  struct Row {
    std::size_t check;
    const Figure* figure;
    std::size_t point;
    std::optional<std::size_t> baseline;
  };
  // One of a figure's points and its baseline's, with machines that have their values.
  struct Checked {
    std::size_t check;
    const Figure* figure;
    const experiment::Point* point;
    const experiment::Point* baseline;  // null where the figure has none
    std::unique_ptr<experiment::Machine> machine;
    std::unique_ptr<experiment::Machine> baseline_machine;
  };
  void add_sample(const Checked& checked, unsigned sample);
  // The sample's values for a point; nothing where it cannot be.
  std::optional<experiment::Point> sampled(const experiment::Point& point, unsigned sample,
                                           experiment::Machine& machine);
  double share(const std::string& parameter, unsigned sample);

  unsigned samples_;
  std::uint64_t seed_;
  const experiment::Simulator& simulator_;
  std::map<std::string, std::vector<double>> shares_;
  std::set<std::string> varied_;
  std::set<std::string> left_out_;
  std::vector<experiment::Point> points_;
  std::vector<Row> rows_;
};

// A line of what was varied, and a row for each check.
std::string bands_table(const std::vector<Check>& checks, const BandPlan& plan);

}  // namespace faultline::app
