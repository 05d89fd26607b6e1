// SPDX-License-Identifier: Apache-2.0
// Pools of buffers: the kind reuse.
#include <fmt/format.h>

#include "models/sim/units.hpp"
#include "workloads/configuration_checks.hpp"
#include "workloads/reuse/reuse.hpp"

namespace faultline::workloads {

namespace {

// At most: sizes may be drawn.
std::uint64_t pool_bytes(const Configuration& configuration) {
  return configuration.reuse.buffers * sim::page_end(configuration.workload.size);
}

}  // namespace

std::vector<Need> needs_of_reuse(const Configuration& configuration) {
  const TransferConfig& w = configuration.workload;
  const std::uint64_t pool = pool_bytes(configuration);
  const bool holds_pool = configuration.strategy.registration->abilities().holds_all_added;
  const std::uint64_t held = holds_pool ? pool : configuration.strategy.most_held(sim::page_end(w.size));
  std::vector<Need> needs;
  for (unsigned rank = 0; rank < w.ranks; ++rank) {
    for (const unsigned node : {w.initiator, w.target}) needs.push_back({.node = node, .bytes = pool, .held = held});
  }
  return needs;
}

namespace {

// Such a table is filled once, and has the frames of memory that is no more.
void check_private_table(const Configuration& configuration, const AddConflict& add) {
  const rdma::Strategy& strategy = configuration.strategy;
  const rdma::Abilities abilities = strategy.registration->abilities();
  if (!strategy.maps_only_registered() || abilities.pins || configuration.reuse.again == 1) return;
  add({"strategy.translate", "strategy.registration", "reuse.again"},
      "without pins nobody takes entries out of a private table, which has no place for other frames of new memory "
      "then",
      "set strategy.translate to shared, or reuse.again to 1");
}

}  // namespace

void check_reuse(const Configuration& configuration, const AddConflict& add) {
  if (configuration.reuse.smallest > configuration.workload.size)
    add({"reuse.smallest", "workload.size"}, "no buffer is larger than workload.size",
        "set it to workload.size at most");
  check_places(configuration.workload, configuration.machine.shape, add);
  check_transfers_in_queue({1, configuration.workload.size}, {}, configuration, add);
  check_asked({1, configuration.workload.size}, {"strategy.registration"}, configuration, add);
  check_leases(1, configuration.workload.size, configuration, add);
  check_private_table(configuration, add);
}

double work_of_reuse(const Configuration& configuration) {
  const TransferConfig& w = configuration.workload;
  const std::vector<std::uint64_t> sizes = configuration.reuse.sizes(w.size);
  double mean = 0;
  for (const std::uint64_t size : sizes) mean += work_of_transfer(size) / static_cast<double>(sizes.size());
  return w.ranks * static_cast<double>(w.warmup + w.iterations + configuration.reuse.buffers) * mean;
}

Ignored ignored_by_reuse() {
  const char* whole_pages = "buffers of a pool begin with a page";
  return ignored_arrivals("transfers of a pool come one after the other", "set reuse.period for a pace") +
         ignored_advice() + Ignored{{"workload.clean_window", "a pool has no neighbours"}} + ignored_clean_transfers() +
         ignored_peers() + ignored_notices() +
         Ignored{{"workload.window", "a pool's transfers are measured one at a time"},
                 {"workload.source_offset", whole_pages},
                 {"workload.destination_offset", whole_pages},
                 {"workload.cold", "new memory is absent, and no other", "set reuse.again below 1"},
                 {"workload.memory", "a pool is anonymous memory"}} +
         ignored_flows() + Ignored{{"workload.nodes", "its pairs are on workload.initiator and workload.target"}} +
         ignored_programs();
}

}  // namespace faultline::workloads
