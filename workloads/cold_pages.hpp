// SPDX-License-Identifier: Apache-2.0
// How programs' lives have left the pages of their buffers: which of a cold end's are absent, and in which way.
#pragma once

#include <cstdint>
#include <vector>

#include "models/os/address_space.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/sim/random.hpp"
#include "models/sim/task.hpp"
#include "workloads/transfer_config.hpp"

namespace faultline::workloads {

class ColdPages {
 public:
  ColdPages(const TransferConfig& config, std::uint64_t seed) : config_(config), draws_(seed, "cold pages") {}

  // Without simulated time: pages that are never written are absent, as many as the configuration says, all others of
  // the buffer present.
  void leave(rdma::Endpoint& endpoint, std::uint64_t address, bool cold, ColdKind kind);
  // The other kinds, for which the kernel works: `pager` runs meanwhile, and is nobody else's. What the buffer holds is
  // kept. Throws sim::RunFailure when the kernel does not put the pages away.
  sim::Task<void> put_away(rdma::Endpoint& endpoint, cpu::Execution& pager, std::uint64_t address, ColdKind kind);

 private:
  std::vector<os::Range> choose(rdma::Endpoint& endpoint, os::Range buffer);
  std::uint64_t count(std::uint64_t pages);
  std::vector<bool> choose(std::uint64_t pages);

  const TransferConfig& config_;
  sim::RandomStream draws_;
};

}  // namespace faultline::workloads
