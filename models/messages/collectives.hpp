// SPDX-License-Identifier: Apache-2.0
// Collective calls of all ranks, made of messages, by the algorithms that MPI libraries have for them. All ranks make
// the same calls in the same order. False: a message of this rank's has failed.
#pragma once

#include <cstdint>
#include <vector>

#include "models/messages/messenger.hpp"

namespace faultline::messages {

class Collectives {
 public:
  // `scratch`: memory of the program for what other ranks send, as long as the longest contribution to allreduce().
  Collectives(Messenger& messenger, Span scratch) : messenger_(messenger), scratch_(scratch) {}

  // A dissemination barrier: ceil(log2 ranks) rounds.
  sim::Task<bool> barrier(cpu::Execution& thread);
  // From the root to all, along a binomial tree.
  sim::Task<bool> broadcast(cpu::Execution& thread, unsigned root, Span memory);
  // Sums of all ranks' words of 8 B, to all, by recursive doubling; of ranks beyond a power of two each gives its words
  // to another one first. `memory`: whole words; of each rank's the first one is added up, the others take their time
  // and stay what they are, because content is not kept byte by byte.
  sim::Task<bool> allreduce(cpu::Execution& thread, Span memory);
  // Each rank's block i goes to rank i, in ranks - 1 rounds: in round r to the rank that is r further. `from` and `to`:
  // a block for each rank, the own one too.
  sim::Task<bool> all_to_all(cpu::Execution& thread, std::vector<Span> from, std::vector<Span> to);

 private:
  std::uint32_t tag() const { return kOwnTags + calls_ % kOwnTags; }
  // Sends to one rank while it receives from one.
  sim::Task<bool> exchange(cpu::Execution& thread, unsigned to, Span sent, unsigned from, Span received);
  sim::Task<bool> send(cpu::Execution& thread, unsigned to, Span memory);
  sim::Task<bool> receive(cpu::Execution& thread, unsigned from, Span memory);
  sim::Task<void> add(cpu::Execution& thread, Span memory);

  Messenger& messenger_;
  const Span scratch_;
  std::uint32_t calls_ = 0;
};

}  // namespace faultline::messages
