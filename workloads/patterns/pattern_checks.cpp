// SPDX-License-Identifier: Apache-2.0
// Every node takes part: the kinds all-to-all, ring and permutation.
#include <fmt/format.h>

#include <algorithm>

#include "models/platform/endpoints.hpp"
#include "models/sim/units.hpp"
#include "workloads/patterns/patterns.hpp"

namespace faultline::workloads {
namespace {

// Others that a node writes to, and that write to it. Requires a network.
unsigned peers_of(const TransferConfig& w, PatternKind kind, unsigned nodes) {
  if (kind != PatternKind::all_to_all) return 1;
  return w.peers > 0 ? w.peers : nodes - 1;
}

// A buffer to send from, or one to receive from a peer in.
std::uint64_t lane_of(const TransferConfig& w) {
  return w.window * lane_bytes(w.source_offset, w.destination_offset, w.size);
}

}  // namespace

std::vector<Need> needs_of_pattern(const Configuration& configuration, PatternKind kind) {
  const TransferConfig& w = configuration.workload;
  const unsigned nodes = network::node_count(configuration.machine.shape);
  std::vector<Need> needs;
  for (unsigned node = 0; node < nodes; ++node) {
    for (const std::uint64_t lanes : {std::uint64_t{1}, std::uint64_t{peers_of(w, kind, nodes)}}) {
      const std::uint64_t held = w.window * configuration.strategy.most_held(lane_of(w) / w.window);
      needs.push_back({.node = node, .bytes = lanes * lane_of(w), .held = lanes * held});
    }
  }
  return needs;
}

// Each node has a program that sends and one that receives, with a buffer for each peer.
void check_pattern(const Configuration& configuration, PatternKind kind, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  const platform::Machine& machine = configuration.machine;
  if (!network::conflicts(machine.shape).empty()) return;  // no network, no nodes
  const unsigned nodes = network::node_count(machine.shape);
  if (nodes < 2)
    add(keys_of_place("workload.kind", machine.shape), "one node has nobody to write to", "take a larger network");
  if (w.peers >= nodes) {
    add(keys_of_place("workload.peers", machine.shape), fmt::format("each of {} nodes has {} others", nodes, nodes - 1),
        "take fewer peers; 0 stands for all of them");
  }
  check_transfers_in_queue({w.window, w.size}, {"workload.window"}, configuration, add);
  check_asked({std::size_t{w.window} * peers_of(w, kind, nodes), w.size},
              {"strategy.registration", "workload.window", "workload.peers"}, configuration, add);
  check_leases(peers_of(w, kind, nodes), w.size, configuration, add);
}

double work_of_pattern(const Configuration& configuration, PatternKind kind) {
  const unsigned nodes = network::node_count(configuration.machine.shape);
  return work_of_iterations(configuration) * nodes * peers_of(configuration.workload, kind, nodes);
}

Ignored ignored_by_pattern(PatternKind kind) {
  const char* everywhere = "every node takes part in a pattern";
  return Ignored{{"workload.initiator", everywhere}, {"workload.target", everywhere}} + ignored_advice() +
         Ignored{{"workload.clean_window", "a pattern has no neighbours"}} + ignored_clean_transfers() +
         (kind == PatternKind::all_to_all ? Ignored{} : ignored_peers()) + ignored_flows() + ignored_places() +
         ignored_notices() + ignored_programs();
}

}  // namespace faultline::workloads
