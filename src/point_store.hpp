// SPDX-License-Identifier: Apache-2.0
// What a run's points came to, each in a file of its own under the name of its content, so that a run that ended early
// goes on where it was, and a changed one does what has changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/expansion.hpp"
#include "src/point_runner.hpp"
#include "src/run_folder.hpp"

namespace faultline::app {

// The run folder's list of its points, as JSON.
std::string manifest(const Experiment& experiment, const std::vector<Point>& points);
// Where the folder has a point's result.
std::string file_of(const Point& point);

class PointStore {
 public:
  explicit PointStore(RunFolder& folder) : folder_(folder) {}

  // Nothing where there is none, where it cannot be read (it is simulated again), and where the host failed or the time
  // was up: more memory, or more time, may be there now.
  std::optional<PointOutcome> find(const Point& point) const;
  // Where the folder cannot be written the run goes on, and its user is told of the first failure at its end.
  void keep(const Point& point, const PointOutcome& outcome);
  const std::string& failure() const { return failure_; }

 private:
  RunFolder& folder_;
  std::string failure_;
};

}  // namespace faultline::app
