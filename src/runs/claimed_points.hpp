// SPDX-License-Identifier: Apache-2.0
// Which of a run's points a process simulates where others may be at work in the same folder: those that have no
// result, and that nobody else is at.
#pragma once

#include <cstddef>
#include <map>
#include <set>
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
      : folder_(store.folder()),
        points_(store.points()),
        queue_(std::move(missing)),
        sharing_(folder_, points_),
        others_(others) {
    look_for_deaths();
  }

  // The next that is this process's from now on. A repetition waits while this process is at the first one, which may
  // stand for it; nobody waits for another process.
  NextPoint next();
  // Of those this process is at: they stand for no other.
  void have_drawn(const std::vector<std::size_t>& indices);
  // When its result is in the folder, or cannot be.
  void let_go(std::size_t index);

 private:
  void look_for_deaths();
  bool is_there(std::size_t index);
  bool waits_for_first(std::size_t index) const;
  bool claim(std::size_t index);

  Folder& folder_;
  const std::vector<experiment::Point>& points_;
  std::vector<std::size_t> queue_;
  std::vector<std::size_t> held_;    // by others, when this one came by; or they wait
  std::set<std::size_t> may_stand_;  // that this one is at, and that have not drawn
  Sharing sharing_;
  Others others_;
  std::size_t at_ = 0;
  bool has_claimed_ = false;                // one, since the queue's begin
  std::map<std::string, unsigned> deaths_;  // of workers, by the point that they were at
};

}  // namespace faultline::runs
