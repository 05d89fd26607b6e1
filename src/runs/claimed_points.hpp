// SPDX-License-Identifier: Apache-2.0
// Which of a run's points a process simulates where others may be at work in the same folder: those that have no
// result, and that nobody else is at.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/runs/point_store.hpp"

namespace faultline::runs {

// The lock by which a process says that it is at a point.
std::string claim_of(const experiment::Point& point);

class ClaimedPoints {
 public:
  // What others are at: left to them, or waited for until it has a result or they have let go of it. Who leaves it to
  // others also leaves a point at which two workers have died: it might be what kills them, one after another.
  enum class Others { leave, wait };
  // `missing`: of the store's points those that are to be simulated, in this order. The store outlives this.
  ClaimedPoints(const PointStore& store, std::vector<std::size_t> missing, Others others)
      : folder_(store.folder()), points_(store.points()), queue_(std::move(missing)), others_(others) {
    look_for_deaths();
  }

  // The next that is this process's from now on.
  NextPoint next();
  // When its result is in the folder, or cannot be.
  void let_go(std::size_t index) { folder_.locks().let_go(claim_of(points_[index])); }
  // How many others have simulated.
  std::size_t found() const { return found_; }

 private:
  void look_for_deaths();
  bool is_there(std::size_t index);
  bool claim(std::size_t index);

  Folder& folder_;
  const std::vector<experiment::Point>& points_;
  std::vector<std::size_t> queue_;
  std::vector<std::size_t> held_;  // by others, when this one came by
  Others others_;
  std::size_t at_ = 0;
  std::size_t found_ = 0;
  bool has_claimed_ = false;                // one, since the queue's begin
  std::map<std::string, unsigned> deaths_;  // of workers, by the point that they were at
};

}  // namespace faultline::runs
