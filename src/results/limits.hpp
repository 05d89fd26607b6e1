// SPDX-License-Identifier: Apache-2.0
// What limits the transfers of a run's points: of points of which one sentence says it, one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {

class Limits {
 public:
  struct Group {
    workloads::Limit limit;
    std::string where;  // the first point
    std::size_t points = 0;
  };

  // The number of its group; none where nothing is known.
  std::optional<std::size_t> add(const experiment::Point& point, const runs::PointOutcome& outcome);
  // In the order of their first points.
  const std::vector<Group>& all() const { return all_; }
  // A line each, of the first ones.
  std::string text() const;

 private:
  std::vector<Group> all_;
};

}  // namespace faultline::results
