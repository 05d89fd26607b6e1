// SPDX-License-Identifier: Apache-2.0
// Tells timelines what a program knows of a transfer: when it begins to prepare it, has posted it, and is done with it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/rdma/endpoint.hpp"

namespace faultline::workloads {

class ToldTransfer {
 public:
  // Begins now. `arrived`: of an open loop; else sim::kNever.
  ToldTransfer(rdma::Endpoint& from, rdma::Operation operation, std::uint64_t local, const rdma::RemoteBuffer& remote,
               std::uint64_t bytes, sim::Time arrived = sim::kNever, bool bystander = false)
      : trace_(&from.vm().context().trace) {
    const sim::Time now = from.vm().context().now();
    number_ = trace_->begins({.arrived = std::min(arrived, now),
                              .at = now,
                              .initiator = {from.node(), from.process().id(), local},
                              .target = {remote.node, remote.process, remote.address},
                              .reads = operation == rdma::Operation::read,
                              .bystander = bystander,
                              .bytes = bytes});
  }

  void posted(const rdma::Posted& posted) {
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

}  // namespace faultline::workloads
