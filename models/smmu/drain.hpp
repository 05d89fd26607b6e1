// SPDX-License-Identifier: Apache-2.0
// TLBSYNC and DVM Sync: which translated bursts were already on their way, and when the last of them is answered.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/sim/time.hpp"

namespace faultline::smmu {

class Drain {
 public:
  // One sync can be under way for each of `users` (context banks and the global one), and for each that is added.
  explicit Drain(unsigned users) : syncs_(users) {}

  unsigned add_user() {
    syncs_.emplace_back();
    return static_cast<unsigned>(syncs_.size() - 1);
  }

  // A train leaves with a translation; the number goes back with close().
  std::uint64_t open() {
    ++open_;
    return next_++;
  }
  // Its responses are known, the last of them at `last`, perhaps later than now.
  void close(std::uint64_t number, sim::Time last) {
    --open_;
    last_response_ = std::max(last_response_, last);
    for (Sync& sync : syncs_) {
      if (sync.waiting == 0 || number >= sync.before) continue;
      --sync.waiting;
      sync.until = std::max(sync.until, last);
    }
  }

  // Lasts until `least` and until all that are open now have been answered.
  void start(unsigned user, sim::Time least) { syncs_[user] = {next_, open_, std::max(least, last_response_)}; }
  bool active(unsigned user, sim::Time now) const { return syncs_[user].waiting > 0 || now < syncs_[user].until; }
  // When the sync ends, kNever while that is not known.
  sim::Time end(unsigned user) const { return syncs_[user].waiting > 0 ? sim::kNever : syncs_[user].until; }

 private:
  struct Sync {
    std::uint64_t before = 0;
    std::uint64_t waiting = 0;
    sim::Time until{0};
  };

  std::vector<Sync> syncs_;
  std::uint64_t next_ = 0;
  std::uint64_t open_ = 0;
  sim::Time last_response_{0};
};

}  // namespace faultline::smmu
