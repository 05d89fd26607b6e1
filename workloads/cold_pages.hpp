// SPDX-License-Identifier: Apache-2.0
// The state in which a transfer finds a cold end's buffer: which of its pages are absent, and in which way.
#pragma once

#include <cstdint>
#include <vector>

#include "models/os/vm/address_space.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/sim/random.hpp"
#include "models/sim/task.hpp"
#include "workloads/cold_config.hpp"

namespace faultline::workloads {

// What becomes of absent pages that a program has written: those of a shared file are on the disk, others on the swap
// device. Without one, and of hugetlbfs, the kernel can take no written page away: what is absent was never written.
// `kind`, unless it is `written`.
ColdKind kind_of_written(ColdKind kind, rdma::Backing backing, std::uint64_t swap_bytes);

// Whether pages that a transfer has made present are absent again when they are due: not where a strategy keeps them.
inline bool cools(const rdma::Strategy& strategy) { return !strategy.registration->abilities().stays_prepared; }

class ColdPages {
 public:
  // Of buffers of `size` bytes. Different senders draw different pages.
  ColdPages(const ColdConfig& config, std::uint64_t size, sim::Seed seed, std::uint64_t sender = 0)
      : config_(config), size_(size), draws_(seed, "cold pages", sender) {}

  // For pages that are never written, and ends that are not cold: as many pages of the buffer as the configuration says
  // are absent, all others present. Takes no time, but for what make_present() waits.
  sim::Task<void> leave(rdma::Endpoint& endpoint, std::uint64_t address, bool cold, ColdKind kind);
  // The first half of that: drops as many pages, and leaves the others as they are.
  void drop(rdma::Endpoint& endpoint, std::uint64_t address);
  // For the other kinds, where the kernel has to work: `pager` is the thread that does it. The buffer's content is
  // kept. Throws sim::RunFailure when the kernel does not put the pages away.
  sim::Task<void> put_away(rdma::Endpoint& endpoint, cpu::Execution& pager, std::uint64_t address, ColdKind kind);

 private:
  // Ends when none of the pages is in memory.
  static sim::Task<void> have_gone(rdma::Endpoint& endpoint, cpu::Execution& pager,
                                   const std::vector<os::Range>& ranges);
  std::vector<os::Range> choose(rdma::Endpoint& endpoint, os::Range buffer);
  std::uint64_t count(std::uint64_t pages);
  std::vector<bool> choose(std::uint64_t pages);

  const ColdConfig config_;
  const std::uint64_t size_;
  sim::RandomStream draws_;
};

}  // namespace faultline::workloads
