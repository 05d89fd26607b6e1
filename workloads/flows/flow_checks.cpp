// SPDX-License-Identifier: Apache-2.0
// Streams between any nodes: the kind flows.
#include <fmt/format.h>

#include "workloads/configuration_checks.hpp"
#include "workloads/flows/flows.hpp"

namespace faultline::workloads {
namespace {

void check_ends(const std::vector<Flow>& flows, const Configuration& configuration, const AddConflict& add) {
  const network::ClusterShape& shape = configuration.machine.shape;
  if (!network::conflicts(shape).empty()) return;  // no network, no nodes
  const unsigned nodes = network::node_count(shape);
  for (std::size_t number = 0; const Flow& flow : flows) {
    ++number;
    if (flow.from >= nodes || flow.to >= nodes || flow.from == flow.to) {
      add(keys_of_place("workload.flows", shape),
          fmt::format("a flow from node {} to node {}: there are nodes 0 to {}, and none sends to itself", flow.from,
                      flow.to, nodes - 1),
          "name two of these");
      continue;
    }
    check_transfers_in_queue({flow.window, flow.size}, {"workload.flows"}, configuration, add);
    check_asked({flow.window, flow.size}, {"workload.flows"}, configuration, add);
    check_leases(1, flow.size, configuration, add);
    const auto blame = [&](const FieldConflict* found) {
      if (found != nullptr)
        add({"workload.flows"}, fmt::format("flow {}, {}: {}", number, found->field, found->reason), found->instead);
    };
    blame(conflict_of(static_cast<const ArrivalConfig&>(flow)));
    blame(conflict_of(static_cast<const ColdConfig&>(flow)));
  }
}

}  // namespace

void check_flows(const Configuration& configuration, const AddConflict& add) {
  try {
    check_ends(parse_flows(configuration.workload.flows), configuration, add);
  } catch (const BadFlows& bad) {
    add({"workload.flows"}, bad.what(), "write each flow as 'from=0, to=1, size=4 KiB', with ';' between");
  }
}

// A text that is no list of flows is refused for that.
std::vector<Need> needs_of_flows(const Configuration& configuration) {
  std::vector<Need> needs;
  try {
    for (const Flow& flow : parse_flows(configuration.workload.flows)) {
      const std::uint64_t lane = lane_bytes(flow.source_offset, flow.destination_offset, flow.size);
      const std::uint64_t bytes = flow.window * lane;
      const std::uint64_t held = flow.window * configuration.strategy.most_held(lane);
      for (const unsigned node : {flow.from, flow.to}) needs.push_back({.node = node, .bytes = bytes, .held = held});
    }
  } catch (const BadFlows&) {
    needs.clear();
  }
  return needs;
}

double work_of_flows(const Configuration& configuration) {
  double work = 0;
  for (const Flow& flow : parse_flows(configuration.workload.flows)) {
    work += flow.transfers * work_of_transfer(flow.size);
  }
  return work;
}

Ignored ignored_by_flows() {
  const char* own = "each flow has its own";
  const char* in_flow = "set it in workload.flows";
  return Ignored{
             {"workload.size", own, in_flow},
             {"workload.iterations", own, "set transfers=... in workload.flows"},
             {"workload.warmup", "flows have no warm-up: all of their transfers are measured"},
             {"workload.window", own, in_flow},
             {"workload.initiator", own, "set from=... in workload.flows"},
             {"workload.target", own, "set to=... in workload.flows"},
             {"workload.source_offset", own, in_flow},
             {"workload.destination_offset", own, in_flow},
             {"workload.cold", "each flow says which of its ends is cold", "write cold=... into workload.flows"},
         } +
         ignored_arrivals("each flow says when its transfers arrive", in_flow) + ignored_advice() +
         Ignored{{"workload.clean_window", "each flow is a stream of its own", "say so by a further flow"}} +
         ignored_clean_transfers() + ignored_peers() + ignored_notices() + ignored_places() + ignored_programs();
}

}  // namespace faultline::workloads
