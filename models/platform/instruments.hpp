// SPDX-License-Identifier: Apache-2.0
// What can be measured of a cluster, whichever parts its nodes have: those who measure name no NIC, driver or SMMU.
// Each room describes its own in its instruments.hpp; here they are in the order in which they are shown.
//
// The NIC's driver counts, whatever the NIC: driver.fault_records, and of these driver.faults_CAUSE for each of
// os::kFaultCauseDocs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/nic/exanest/instruments.hpp"
#include "models/platform/cluster.hpp"
#include "models/sim/failure.hpp"

namespace faultline::platform {

// Counters that are results, of all parts.
const std::vector<sim::CounterMetric>& counter_metrics();

// Parts that may be busy. A node has several of a kind: links and cores, a fault thread of each process.
std::span<const sim::BusyPart> busy_parts();
// For how long one of them had worked at an instant.
struct BusyTime {
  network::RouterId router;  // the node, or a router without one
  std::size_t part;          // of busy_parts()
  std::uint32_t number;      // of the port, the core or the process
  sim::Time busy;
};
// Of all nodes and routers, now; in the order of these members. Exact: what is announced and not yet done does not
// count. The nodes' statistics must be settled.
std::vector<BusyTime> busy_times(Cluster& cluster);

// What waits in a node's NIC, and how much does now.
inline constexpr auto kQueues = exanest::kQueues;
std::array<std::uint64_t, kQueues.size()> queue_depths(const Node& node);

// Signals of a node for a waveform, by the track that tells their changes.
struct Signal {
  sim::Track track;
  std::string name;
};
std::vector<Signal> signals_of(const Machine& machine, sim::NodeId node);

// Faults that the node's NIC has recorded, of which some may be lost; and how many of them its software has dealt with.
struct FaultProgress {
  std::uint64_t recorded;
  std::uint64_t handled;
};
FaultProgress fault_progress(const Node& node);

// What programs may wait for in vain because the machine has lost it, as hardware does after its retries.
std::optional<sim::RunFailure> lost_for_good(const Cluster& cluster);

// Parameters of the NIC: those that decide how long a transfer may go on in vain; as text, those by which one fails.
std::vector<std::string> keys_of_delay();
std::string keys_of_failure();

}  // namespace faultline::platform
