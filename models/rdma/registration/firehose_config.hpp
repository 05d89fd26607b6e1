// SPDX-License-Identifier: Apache-2.0
// The parameters of Firehose (firehose.cpp).
#pragma once

#include <cstdint>
#include <memory>

#include "models/rdma/registration/registration.hpp"

namespace faultline::rdma {

struct FirehoseConfig {
  std::uint64_t budget = std::uint64_t{4} << 20;
  double remote_share = 0.75;
  unsigned peers = 1;
  sim::Time lookup = std::chrono::nanoseconds(50);
  // A page that two moves have taken is held until both give it back. Without it, a mutant of tests, one of two moves
  // that overtake each other unpins what the other one has taken.
  bool counts_leases = true;

  // In the group strategy.firehose, which is open.
  void declare(sim::ParameterTable& table);
  LeaseTerms terms() const;
  // What is left for pages that no initiator holds.
  std::uint64_t own_budget() const;
};

// Of initiators (messages::Leases).
struct FirehoseCounters {
  explicit FirehoseCounters(sim::Statistics& statistics);
  sim::Counter& gets;
  sim::Counter& hits;
  sim::Counter& moves;
  sim::Counter& taken;
  sim::Counter& given_back;
};

// As results show them, those of its own pages among them: they are a pin-down cache.
std::span<const sim::CounterMetric> firehose_metrics();

// Of a process that goes by Firehose.
std::unique_ptr<Registration> open_firehose(const Registration::Owner& owner, const FirehoseConfig& config);

}  // namespace faultline::rdma
