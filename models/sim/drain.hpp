// SPDX-License-Identifier: Apache-2.0
// What an MMU waits for after it has forgotten a translation (TLBSYNC, DVM Sync): which translated bursts were already
// on their way, and when the last of them is answered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/sim/recycling.hpp"
#include "models/sim/time.hpp"

namespace faultline::sim {

class Drain {
 public:
  // One sync can be under way for each of `users` (context banks and the global one), and for each that is added.
  explicit Drain(unsigned users) : syncs_(users) {}

  unsigned add_user() {
    syncs_.emplace_back();
    return static_cast<unsigned>(syncs_.size() - 1);
  }

  // Bursts leave with a translation; the number goes back with answered().
  std::uint64_t open(Time now) {
    while (!last_responses_.empty() && last_responses_.front() <= now) {
      last_responses_.pop_front();
      ++first_;
    }
    last_responses_.push_back(kNever);
    return first_ + last_responses_.size() - 1;
  }
  // When the last of their responses comes; kNever while that is not known.
  void answered(std::uint64_t number, Time last) {
    if (number >= first_) last_responses_[static_cast<std::size_t>(number - first_)] = last;
  }

  // Lasts until `least` and until all that are open now have been answered.
  void start(unsigned user, Time least) { syncs_[user] = {first_ + last_responses_.size(), least}; }
  bool active(unsigned user, Time now) const { return now < end(user); }
  // When the sync ends, as far as is known; kNever while it is not.
  Time end(unsigned user) const {
    const Sync& sync = syncs_[user];
    const auto open = static_cast<std::ptrdiff_t>(sync.before - std::min(sync.before, first_));
    Time end = sync.least;
    for (auto last = last_responses_.begin(); last != last_responses_.begin() + open; ++last) {
      end = std::max(end, *last);
    }
    return end;
  }

 private:
  struct Sync {
    std::uint64_t before = 0;  // number of the first bursts that it does not wait for
    Time least{0};
  };

  std::vector<Sync> syncs_;
  Deque<Time> last_responses_;  // by number
  std::uint64_t first_ = 0;     // number of the first of them
};

}  // namespace faultline::sim
