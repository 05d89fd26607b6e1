// SPDX-License-Identifier: Apache-2.0
// The parameters of a pin-down cache (pin_cache.cpp), and what it counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/rdma/registration/region_set.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/statistics.hpp"
#include "models/sim/time.hpp"

namespace faultline::rdma {

// How the cache learns that memory has changed.
enum class EmptiedBy : std::uint8_t {
  notifier,  // by the kernel's MMU notifier, which tells every change
  hooks,     // by hooks in the program's calls, which see a share of them
  nothing,   // not at all
};

struct PinCacheConfig {
  std::uint64_t budget = std::uint64_t{4} << 20;
  std::uint64_t max_regions = 0;
  Replacement replacement = Replacement::lru;
  bool merge = false;
  EmptiedBy emptied_by = EmptiedBy::notifier;
  double hook_coverage = 1;
  sim::Time lookup = std::chrono::nanoseconds(50);

  // In the group strategy.pin_cache, which is open.
  void declare(sim::ParameterTable& table);
  std::vector<sim::Conflict> conflicts() const;
};

// By the names of UCX's registration cache (ucs/memory/rcache.c), where it has them.
struct PinCacheCounters {
  explicit PinCacheCounters(sim::Statistics& statistics);
  sim::Counter& gets;
  sim::Counter& hits_fast;
  sim::Counter& hits_slow;
  sim::Counter& misses;
  sim::Counter& regions_merged;
  sim::Counter& unmap_events;
  sim::Counter& regions_inv_unmap;
  sim::Counter& puts;
  sim::Counter& mem_regs;
  sim::Counter& mem_deregs;
  sim::Counter& evictions;
  sim::Counter& hooks_missed;
};

// As results show them.
std::span<const sim::CounterMetric> pin_cache_metrics();

}  // namespace faultline::rdma
