// SPDX-License-Identifier: Apache-2.0
// What initiators and targets say to each other by Firehose (models/rdma/registration/firehose.cpp). Before a transfer
// an initiator looks up the pages of the target's memory, and asks for those that it does not hold. Nobody asks for a
// transfer whose pages are all held.
//
// A move is one small message: what it is, a number by which the target knows who asks, how many ranges are given back
// and taken, and these ranges, four at most. What does not fit follows in further moves.
#pragma once

#include <functional>

#include "models/messages/protocol.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/rdma/registration/firehose_config.hpp"
#include "models/rdma/registration/remote_buckets.hpp"

namespace faultline::messages {

// The target's end: does on this thread what a move asks for. `initiator`: a number that no other one has.
sim::Task<os::Error> carry_out(const rdma::Message& move, cpu::Execution& thread, rdma::Endpoint& target,
                               std::uint64_t initiator);

// The initiator's end, of one target.
class Leases {
 public:
  // Sends a move of so many words, whose first one it fills in (what kind of message it is); and waits for the target's
  // answer to it.
  struct Asking {
    std::function<sim::Task<void>(cpu::Execution& thread, rdma::Message move, unsigned words)> send;
    std::function<sim::Task<void>(cpu::Execution& thread)> hear;
  };

  Leases(rdma::Endpoint& own, const rdma::LeaseTerms& terms, Asking asking);

  // All pages of the target's range are pinned there when this returns, until end() of the same range. `meanwhile`:
  // what the initiator does about its own memory. Throws sim::RunFailure where other transfers leave too few. `number`:
  // by which the target knows who asks. One move at a time.
  sim::Task<void> begin(cpu::Execution& thread, os::Range range, std::uint64_t number, sim::Task<void> meanwhile);
  void end(os::Range range) { buckets_.end_use(range); }
  // Before the target's program unmaps the range, and after the last transfer to it.
  sim::Task<void> forget(cpu::Execution& thread, os::Range range, std::uint64_t number);

 private:
  // Sends the first message of a move; of what does not fit in it, the others and the answers.
  sim::Task<void> ask(cpu::Execution& thread, rdma::BucketMove& all, std::uint64_t number);
  sim::Task<void> finish(cpu::Execution& thread, rdma::BucketMove rest, std::uint64_t number);

  rdma::Endpoint& own_;
  const rdma::LeaseTerms terms_;
  const Asking asking_;
  rdma::RemoteBuckets buckets_;
  rdma::FirehoseCounters count_;
};

}  // namespace faultline::messages
