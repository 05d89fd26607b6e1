// SPDX-License-Identifier: Apache-2.0
// What one initiator holds of one target's memory: the buckets ("firehoses") that it may write to without asking. The
// target keeps them pinned until the initiator gives them back. No time passes here, and nothing is sent.
#pragma once

#include <optional>

#include "models/rdma/registration/bucket_table.hpp"

namespace faultline::rdma {

// What a target is asked for: buckets that are given back, and not used from here on, and others that are taken.
struct BucketMove {
  os::Ranges back = {};
  os::Ranges taken = {};
  bool is_empty() const { return back.empty() && taken.empty(); }
};

class RemoteBuckets {
 public:
  // `most`: that are held at a time.
  explicit RemoteBuckets(std::size_t most) : most_(most) {}

  // Begins a transfer that uses the range: what the target is to be asked for. Nothing: the buckets that other
  // transfers use leave too few for it; then nothing has changed.
  std::optional<BucketMove> use(os::Range range);
  void end_use(os::Range range);
  // The target's program is about to unmap the range: no bucket of it is held any more. Those that a transfer uses are
  // given back all the same.
  BucketMove forget(os::Range range);

  std::size_t held() const { return buckets_.size(); }

 private:
  struct Held {
    unsigned users = 0;
  };
  const std::size_t most_;
  BucketTable<Held> buckets_;
};

}  // namespace faultline::rdma
