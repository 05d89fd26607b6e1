// SPDX-License-Identifier: Apache-2.0
#include "src/runs/claimed_points.hpp"

#include <utility>

#include "src/runs/point_store.hpp"
#include "src/runs/worker_record.hpp"

namespace faultline::runs {

namespace {

constexpr unsigned kMostDeaths = 1;

}  // namespace

std::string claim_of(const experiment::Point& point) { return "point " + point.id; }

void ClaimedPoints::look_for_deaths() {
  if (others_ == Others::leave) deaths_ = deaths_in(folder_);
}

bool ClaimedPoints::is_there(std::size_t index) {
  const bool there = has_result(folder_, points_[index].id);
  if (there) ++found_;
  return there;
}

bool ClaimedPoints::claim(std::size_t index) {
  if (is_there(index)) return false;
  if (const auto death = deaths_.find(points_[index].id); death != deaths_.end() && death->second > kMostDeaths)
    return false;
  if (!folder_.locks().take(claim_of(points_[index]))) {
    held_.push_back(index);
    return false;
  }
  // Its last holder may have ended between the look and the lock.
  if (!is_there(index)) return true;
  let_go(index);
  return false;
}

NextPoint ClaimedPoints::next() {
  while (at_ < queue_.size()) {
    const std::size_t index = queue_[at_++];
    if (!claim(index)) continue;
    has_claimed_ = true;
    return {NextPoint::What::point, index};
  }
  // Once more over those that were others'.
  queue_ = std::exchange(held_, {});
  at_ = 0;
  look_for_deaths();
  if (queue_.empty()) return {NextPoint::What::none};
  if (others_ == Others::wait) return {NextPoint::What::later};
  return std::exchange(has_claimed_, false) ? next() : NextPoint{NextPoint::What::none};
}

}  // namespace faultline::runs
