// SPDX-License-Identifier: Apache-2.0
#include "src/runs/claimed_points.hpp"

#include <algorithm>
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
  return has_result(folder_, points_[index].id) || sharing_.is_shared(index);
}

bool ClaimedPoints::waits_for_first(std::size_t index) const {
  return points_[index].repetition > 0 && may_stand_.contains(index - points_[index].repetition);
}

void ClaimedPoints::have_drawn(const std::vector<std::size_t>& indices) {
  for (const std::size_t index : indices) may_stand_.erase(index);
}

void ClaimedPoints::let_go(std::size_t index) {
  may_stand_.erase(index);
  folder_.locks().let_go(claim_of(points_[index]));
}

bool ClaimedPoints::claim(std::size_t index) {
  if (waits_for_first(index)) {
    held_.push_back(index);
    return false;
  }
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
    may_stand_.insert(index);
    return {NextPoint::What::point, index};
  }
  // Once more over those that were others', or have waited.
  queue_ = std::exchange(held_, {});
  at_ = 0;
  look_for_deaths();
  if (queue_.empty()) return {NextPoint::What::none};
  const bool waits = std::ranges::any_of(queue_, [&](std::size_t index) { return waits_for_first(index); });
  if (waits || others_ == Others::wait) return {NextPoint::What::later};
  return std::exchange(has_claimed_, false) ? next() : NextPoint{NextPoint::What::none};
}

}  // namespace faultline::runs
