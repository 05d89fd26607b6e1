// SPDX-License-Identifier: Apache-2.0
// How busy the parts of the machine were while transfers were measured, and which of them limits the transfers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/platform/cluster.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::workloads {

// What can be busy. A node has several links and cores, and a fault thread of each process.
enum class Resource : std::uint8_t {
  link,               // one direction, counted at the router that sends
  network_interface,  // its datapath into the node
  axi_reads,          // the data buses of the AXI port between the DMA engine and the SMMU
  axi_writes,
  ddr,
  core,  // an application core, when its threads do not spin
  r5,
  fault_thread,  // with faults to deal with: also while it waits for a core, a lock or the disk
};

// For how long one of them had worked at an instant.
struct BusyTime {
  network::RouterId router;  // the node, or a router without one
  Resource resource;
  std::uint32_t number;  // of the port, the core or the process
  sim::Time busy;
};

// Of all nodes and routers, now; in the order of these members. Exact: what is announced and not yet done does not
// count. The nodes' statistics must be settled.
std::vector<BusyTime> busy_times(platform::Cluster& cluster);

// Whether transfers begin or end at a node: what else is busy there does not decide how long they take.
using IsEnd = std::function<bool(network::RouterId)>;

// In % of the time between two calls of busy_times(), `span`: metrics "utilisation_...".
struct Utilisation {
  std::vector<Metric> greatest;   // of each resource: the busiest at the ends of transfers, and of all links
  std::vector<PartResult> nodes;  // the busiest of each node or router; of more than kMostParts, the busiest of these
};
inline constexpr std::size_t kMostParts = 64;
Utilisation utilisation(const std::vector<BusyTime>& before, const std::vector<BusyTime>& after, sim::Time span,
                        unsigned nodes, const IsEnd& is_end);

std::vector<MetricDoc> utilisation_docs();

}  // namespace faultline::workloads
