// SPDX-License-Identifier: Apache-2.0
#include "workloads/ranks/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "models/platform/endpoints.hpp"
#include "models/sim/units.hpp"

namespace faultline::workloads {
namespace {

constexpr unsigned kMostNodes = 65536;

unsigned parse_node(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  unsigned node = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
  if (error == std::errc{} && end == text.data() + text.size() && node < kMostNodes) return node;
  throw sim::BadParameterValue(fmt::format("'{}' is no number of a node", text), kNodesForm);
}

void add_range(std::string_view text, std::vector<unsigned>& nodes) {
  const std::size_t hyphen = text.find('-');
  const unsigned first = parse_node(text.substr(0, hyphen));
  const unsigned last = hyphen == std::string_view::npos ? first : parse_node(text.substr(hyphen + 1));
  if (last < first) throw sim::BadParameterValue(fmt::format("'{}' is a range that goes down", text), kNodesForm);
  for (unsigned node = first; node <= last; ++node) nodes.push_back(node);
}

}  // namespace

std::vector<unsigned> parse_nodes(const std::string& text) {
  std::vector<unsigned> nodes;
  std::string_view left = text;
  while (!left.empty()) {
    const std::size_t comma = std::min(left.find(','), left.size());
    add_range(left.substr(0, comma), nodes);
    if (comma + 1 == left.size()) throw sim::BadParameterValue("nothing stands behind the last comma", kNodesForm);
    left.remove_prefix(std::min(comma + 1, left.size()));
  }
  return nodes;
}

std::vector<unsigned> nodes_of_ranks(const TransferConfig& w, const std::vector<unsigned>& otherwise) {
  const std::vector<unsigned> named = parse_nodes(w.nodes);
  std::vector<unsigned> all;
  for (const unsigned node : named.empty() ? otherwise : named) all.insert(all.end(), w.ranks, node);
  return all;
}

std::vector<unsigned> nodes_of_pairs(const TransferConfig& w) { return nodes_of_ranks(w, {0, 1}); }

std::uint64_t buffer_bytes(const TransferConfig& w) {
  return lane_bytes(w.source_offset, w.destination_offset, w.size);
}

bool check_nodes(const std::vector<unsigned>& nodes, const Configuration& configuration, const AddConflict& add) {
  const network::ClusterShape& shape = configuration.machine.shape;
  if (!network::conflicts(shape).empty()) return false;  // no network, no nodes
  const unsigned there = network::node_count(shape);
  if (*std::ranges::max_element(nodes) < there) return true;
  add(keys_of_place("workload.nodes", shape), fmt::format("there are nodes 0 to {}", there - 1), "name some of these");
  return false;
}

void check_pairs(const Configuration& configuration, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  const std::vector<unsigned> nodes = nodes_of_pairs(w);
  const std::string how = "name as many nodes for the second half of the ranks as for the first";
  if (nodes.size() % 2 != 0) {
    return add({"workload.nodes", "workload.ranks"}, fmt::format("{} ranks are no pairs", nodes.size()), how);
  }
  if (!check_nodes(nodes, configuration, add)) return;
  const std::size_t half = nodes.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    if (nodes[i] != nodes[half + i]) continue;
    return add({"workload.nodes", "workload.ranks"},
               fmt::format("ranks {} and {} are both on node {}, and a node does not send to itself over the network",
                           i, half + i, nodes[i]),
               how);
  }
}

void check_whole_transfers(const Configuration& configuration, const AddConflict& add) {
  const rdma::Strategy& strategy = configuration.strategy;
  for (const auto& [key, used] :
       {std::pair("strategy.pipeline", strategy.pipeline.is_used()), {"strategy.deferred", strategy.deferred}}) {
    if (!used) continue;
    add({key, "workload.kind"}, "ranks prepare and post whole transfers, each by its own thread",
        at_default(key) + std::string(", or take another workload"));
  }
}

void check_faults_alike(const Configuration& configuration, const AddConflict& add) {
  if (configuration.strategy.on_source_fault->stalls != configuration.strategy.on_destination_fault->stalls) {
    add({"strategy.on_source_fault", "strategy.on_destination_fault", "workload.kind"},
        "each rank is source and destination, and the SMMU lets all accesses of a process stall or none",
        "let both stall, or neither");
  }
}

// A rank asks for one buffer at a time, and lets go of others meanwhile.
void check_mailbox(std::size_t senders, const Configuration& configuration, const AddConflict& add) {
  check_asked({senders * (configuration.workload.window + std::size_t{1}), configuration.workload.size},
              {"strategy.registration", "workload.nodes", "workload.ranks", "workload.window"}, configuration, add);
  check_leases(senders, configuration.workload.size, configuration, add);
}

Ignored ignored_by_ranks() {
  const char* placed = "workload.nodes says where ranks are";
  const char* closed = "a rank has its next transfer to make when it is there";
  return Ignored{{"workload.initiator", placed},
                 {"workload.target", placed},
                 {"workload.arrivals", closed},
                 {"workload.interval", closed},
                 {"workload.burst", closed}} +
         ignored_advice() + Ignored{{"workload.clean_window", "a rank has no neighbours", "add a [[program]]"}} +
         ignored_clean_transfers() + ignored_flows() + ignored_programs();
}

Ignored ignored_by_unnotified_ranks() { return ignored_by_ranks() + ignored_peers() + ignored_notices(); }

}  // namespace faultline::workloads
