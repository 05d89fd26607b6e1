// SPDX-License-Identifier: Apache-2.0
// Buckets of memory by address, each with what its owner keeps of it, and those that rest (nobody uses them), in the
// order in which they came to rest. No time passes here.
#pragma once

#include <algorithm>
#include <boost/range/irange.hpp>
#include <cstddef>
#include <list>
#include <optional>

#include "models/os/vm/page_table.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::rdma {

inline constexpr std::uint64_t kBucket = os::kPage;  // as GASNet's

// The buckets that a range lies in, by their addresses. (Of Boost, for clang 14 does not compile the views of
// libstdc++ 12.)
inline auto buckets_of(os::Range range) {
  return boost::irange(range.begin / kBucket * kBucket, sim::page_end(range.end), kBucket);
}

// One more bucket: it makes the last range longer, or begins another one.
inline void append(os::Ranges& ranges, os::VirtualAddress bucket) {
  if (!ranges.empty() && ranges.back().end == bucket) {
    ranges.back().end += kBucket;
  } else {
    ranges.push_back({bucket, bucket + kBucket});
  }
}

template <typename Held>
class BucketTable {
 public:
  std::size_t size() const { return buckets_.size(); }
  std::size_t resting() const { return resting_.size(); }

  // nullptr: it is not there.
  Held* find(os::VirtualAddress bucket) {
    const auto found = buckets_.find(bucket);
    return found == buckets_.end() ? nullptr : &found->second.held;
  }
  const Held* find(os::VirtualAddress bucket) const {
    const auto found = buckets_.find(bucket);
    return found == buckets_.end() ? nullptr : &found->second.held;
  }
  // Those that begin in the range, by address.
  sim::Vector<os::VirtualAddress> in(os::Range range) const {
    sim::Vector<os::VirtualAddress> found;
    if (range.pages() <= buckets_.size()) {
      for (const os::VirtualAddress bucket : buckets_of(range)) {
        if (buckets_.contains(bucket)) found.push_back(bucket);
      }
      return found;
    }
    for (const auto& [bucket, entry] : buckets_) {
      if (bucket >= range.begin / kBucket * kBucket && bucket < range.end) found.push_back(bucket);
    }
    std::ranges::sort(found);
    return found;
  }
  // A new one, which does not rest.
  Held& add(os::VirtualAddress bucket, Held held) {
    return buckets_.try_emplace(bucket, Entry{std::move(held)}).first->second.held;
  }
  // Comes to rest, or rests no more; it may be so already.
  void rest(os::VirtualAddress bucket) {
    Entry& entry = buckets_.at(bucket);
    if (!entry.place) entry.place = resting_.insert(resting_.end(), bucket);
  }
  void wake(os::VirtualAddress bucket) {
    Entry& entry = buckets_.at(bucket);
    if (entry.place) resting_.erase(*entry.place);
    entry.place.reset();
  }
  // The one that rests for the longest time.
  std::optional<os::VirtualAddress> oldest() const {
    if (resting_.empty()) return std::nullopt;
    return resting_.front();
  }
  Held take_out(os::VirtualAddress bucket) {
    wake(bucket);
    const auto found = buckets_.find(bucket);
    Held held = std::move(found->second.held);
    buckets_.erase(found);
    return held;
  }

 private:
  using Resting = std::list<os::VirtualAddress, sim::Recycling<os::VirtualAddress>>;
  struct Entry {
    Held held;
    std::optional<typename Resting::iterator> place = {};
  };
  sim::HashMap<os::VirtualAddress, Entry> buckets_;
  Resting resting_;
};

}  // namespace faultline::rdma
