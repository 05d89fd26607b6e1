// SPDX-License-Identifier: Apache-2.0
// Routers announce ahead when trains leave by a link, and may change their mind. Announcements wait here until they
// have come true.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "models/sim/trace.hpp"

namespace faultline::trace {

// Of one link.
class LinkPlans {
 public:
  struct Plan {
    const void* train;
    sim::Time begin;
    sim::Time end;
    std::string name;
    sim::PartKey key;
  };

  // Replaces what has not passed by `now` of what was announced of this train. Trains may leave in pieces; what is said
  // of one that has begun and is not known here is its next piece.
  void announce(const sim::Slice& plan, const void* train, sim::Time now) {
    const auto known =
        std::find_if(plans_.begin(), plans_.end(), [&](const Plan& p) { return p.train == train && p.end > now; });
    const bool any = plan.begin < plan.end && plan.end > now;
    if (known == plans_.end()) {
      if (any) plans_.push_back({train, std::max(plan.begin, now), plan.end, std::string(plan.name), plan.key});
    } else if (any) {
      known->begin = std::max(plan.begin, std::min(known->begin, now));
      known->end = plan.end;
    } else if (known->begin < now) {
      known->end = now;
    } else {
      plans_.erase(known);
    }
  }

  // Calls tell(plan) for each that is over by `now`, in the order of their ends, and forgets it.
  template <typename Tell>
  void over(sim::Time now, Tell tell) {
    const auto rest = std::stable_partition(plans_.begin(), plans_.end(), [&](const Plan& p) { return p.end <= now; });
    std::stable_sort(plans_.begin(), rest, [](const Plan& a, const Plan& b) { return a.end < b.end; });
    std::for_each(plans_.begin(), rest, tell);
    plans_.erase(plans_.begin(), rest);
  }
  // When the link is busy: any of its trains is between its first cell's head and its last cell's end.
  bool is_busy(sim::Time at) const {
    return std::any_of(plans_.begin(), plans_.end(), [at](const Plan& p) { return p.begin <= at && at < p.end; });
  }
  // The next instant behind `now` at which a plan begins or ends; kNever: none.
  sim::Time next_change(sim::Time now) const {
    sim::Time next = sim::kNever;
    for (const Plan& p : plans_) {
      for (const sim::Time at : {p.begin, p.end}) {
        if (at > now) next = std::min(next, at);
      }
    }
    return next;
  }

 private:
  std::vector<Plan> plans_;  // few
};

}  // namespace faultline::trace
