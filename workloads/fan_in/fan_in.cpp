// SPDX-License-Identifier: Apache-2.0
#include "workloads/fan_in/fan_in.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace faultline::workloads {

using rdma::End;
using sim::Task;

namespace {

// Without workload.nodes on every node, the receiver on the first one. On its node no further rank is.
std::vector<unsigned> nodes_of(const Configuration& configuration) {
  std::vector<unsigned> every(network::node_count(configuration.machine.shape));
  std::iota(every.begin(), every.end(), 0U);
  std::vector<unsigned> nodes = nodes_of_ranks(configuration.workload, every);
  const auto behind_first = nodes.begin() + 1;
  nodes.erase(behind_first, behind_first + (configuration.workload.ranks - 1));
  return nodes;
}

}  // namespace

FanIn::FanIn(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
    : RankProgram(configuration, cluster, seed,
                  [&] {
                    std::vector<Place> places;
                    for (const unsigned node : nodes_of(configuration)) {
                      places.push_back({node, places.empty() ? End::destination : End::source});
                    }
                    return places;
                  }()),
      lanes_(ranks()) {
  for (unsigned number = 1; number < ranks(); ++number) {
    for (unsigned i = 0; i < configuration.workload.window; ++i) {
      const Memory from = allocate(number, End::source);
      lanes_[number].push_back({from, allocate(0, End::destination)});
    }
  }
}

Task<void> FanIn::main(Rank& me) {
  const TransferConfig& w = configuration_.workload;
  const std::vector<Lane>& lanes = lanes_[me.number()];
  if (!lanes.empty()) co_await put_stream(me, lanes, [&w](std::uint64_t begun) { return begun < w.warmup; });
  co_await measurement(me);
  if (!lanes.empty()) co_await put_stream(me, lanes, [&w](std::uint64_t begun) { return begun < w.iterations; });
}

void check_fan_in(const Configuration& configuration, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  if (!network::conflicts(configuration.machine.shape).empty()) return;  // no network, no nodes
  const std::vector<unsigned> nodes = nodes_of(configuration);
  if (!check_nodes(nodes, configuration, add)) return;
  if (nodes.size() < 2 || std::count(nodes.begin(), nodes.end(), nodes.front()) > 1) {
    add({"workload.nodes"},
        fmt::format("the receiver is on node {}, and senders on other nodes: a node does not send to itself over the "
                    "network",
                    nodes.front()),
        "name each node once, and two nodes or more");
  }
  check_queue(w.window, {"workload.window"}, configuration.machine, add);
  check_whole_transfers(configuration, add);
  check_mailbox(nodes.size() - 1, configuration, add);
}

std::vector<Need> needs_of_fan_in(const Configuration& configuration) {
  const TransferConfig& w = configuration.workload;
  const std::uint64_t lanes = w.window * buffer_bytes(w);
  std::vector<Need> needs;
  for (const unsigned node : nodes_of(configuration)) needs.push_back({.node = node, .bytes = lanes, .held = lanes});
  needs.front().bytes *= needs.size() - 1;
  needs.front().held = needs.front().bytes;
  return needs;
}

double work_of_fan_in(const Configuration& configuration) {
  return work_of_iterations(configuration) * static_cast<double>(nodes_of(configuration).size() - 1);
}

Ignored ignored_by_fan_in() { return ignored_by_unnotified_ranks(); }

}  // namespace faultline::workloads
