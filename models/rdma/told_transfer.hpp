// SPDX-License-Identifier: Apache-2.0
// Tells timelines what a program knows of a transfer: when it begins to prepare it, has posted it, and is done with it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/rdma/endpoint.hpp"

namespace faultline::rdma {

// What sim::TransferBegin says beside what moves where. arrived: of an open loop.
struct ToldAs {
  sim::Time arrived = sim::kNever;
  bool bystander = false;
};

class ToldTransfer {
 public:
  // Begins now.
  ToldTransfer(Endpoint& from, Operation operation, std::uint64_t local, const RemoteBuffer& remote,
               std::uint64_t bytes, ToldAs as = {})
      : trace_(&from.vm().context().trace) {
    const sim::Time now = from.vm().context().now();
    number_ = trace_->begins({.arrived = std::min(as.arrived, now),
                              .at = now,
                              .initiator = {from.node(), from.process().id(), local},
                              .target = {remote.node, remote.process, remote.address},
                              .reads = operation == Operation::read,
                              .bystander = as.bystander,
                              .bytes = bytes});
  }

  void posted(const Posted& posted) {
    transfer_ = posted.transfer;
    trace_->posted(number_, transfer_);
  }
  // Who listens to its steps forgets them now.
  void ended(sim::Time at, bool done) const { trace_->ends(number_, transfer_, at, done); }

 private:
  sim::Trace* trace_;
  std::uint64_t number_;
  std::uint64_t transfer_ = 0;  // 0: not posted
};

}  // namespace faultline::rdma
