// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/registration/remote_buckets.hpp"

#include <algorithm>

namespace faultline::rdma {

std::optional<BucketMove> RemoteBuckets::use(os::Range range) {
  const auto wanted = buckets_of(range);
  std::size_t missing = 0;
  std::size_t resting = buckets_.resting();
  for (const os::VirtualAddress each : wanted) {
    const Held* held = buckets_.find(each);
    if (held == nullptr) ++missing;
    if (held != nullptr && held->users == 0) --resting;
  }
  const std::size_t free = most_ - buckets_.size();
  if (missing > free + resting) return std::nullopt;

  for (const os::VirtualAddress each : wanted) {
    Held* held = buckets_.find(each);
    if (held == nullptr) continue;
    ++held->users;
    buckets_.wake(each);
  }
  sim::Vector<os::VirtualAddress> victims;
  for (std::size_t more = missing; more > free; --more) {
    victims.push_back(*buckets_.oldest());
    buckets_.take_out(victims.back());
  }
  std::ranges::sort(victims);  // so that neighbours are one range
  BucketMove move;
  for (const os::VirtualAddress each : victims) append(move.back, each);
  for (const os::VirtualAddress each : wanted) {
    if (buckets_.find(each) != nullptr) continue;
    buckets_.add(each, {.users = 1});
    append(move.taken, each);
  }
  return move;
}

void RemoteBuckets::end_use(os::Range range) {
  for (const os::VirtualAddress each : buckets_of(range)) {
    Held* held = buckets_.find(each);
    if (held == nullptr || held->users == 0) continue;  // it was given back meanwhile, and perhaps taken again
    if (--held->users == 0) buckets_.rest(each);
  }
}

BucketMove RemoteBuckets::forget(os::Range range) {
  BucketMove move;
  for (const os::VirtualAddress each : buckets_of(range)) {
    if (buckets_.find(each) == nullptr) continue;
    buckets_.take_out(each);
    append(move.back, each);
  }
  return move;
}

}  // namespace faultline::rdma
