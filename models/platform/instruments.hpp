// SPDX-License-Identifier: Apache-2.0
// What can be measured of a cluster, whichever parts its nodes have: code that measures names no NIC, driver or SMMU.
// Each room describes its own parts in its instruments.hpp; here they are in the order in which they are shown.
//
// What NICs show, their kinds say (rdma::NicKind).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/nic/path/instruments.hpp"
#include "models/platform/cluster.hpp"
#include "models/sim/failure.hpp"

namespace faultline::platform {

// Counters that are results, of all parts.
const std::vector<sim::CounterMetric>& counter_metrics();

// Kinds of parts that may be busy. A node may have several parts of a kind: links, cores, a fault thread for each
// process.
std::span<const sim::BusyPart> busy_parts();
// For how long one part has worked, from the beginning of the run to an instant.
struct BusyTime {
  network::RouterId router;  // the node, or a router without one
  std::size_t part;          // its kind: a place in busy_parts()
  std::uint32_t number;      // of the port, the core or the process
  sim::Time busy;
};
// Of all nodes and routers until now, sorted by router, part and number. Exact: work that is announced and not yet done
// does not count. The nodes' statistics must be settled.
std::vector<BusyTime> busy_times(Cluster& cluster);

// What waits in a node's NIC, and how many of each wait now, in the order of kQueues.
inline constexpr auto kQueues = nic::kQueues;
std::array<std::uint64_t, kQueues.size()> queue_depths(const Node& node);

// A node's signals for a waveform, each with the track that tells its changes.
struct Signal {
  sim::Track track;
  std::string name;
};
std::vector<Signal> signals_of(const Machine& machine, sim::NodeId node);

// How many faults the node's NIC has recorded, and how many of them its software has dealt with. Fewer may be dealt
// with for good: a record may be lost. A program has opened the NIC before.
class FaultProgress {
 public:
  FaultProgress(const rdma::NicKind& kind, const Node& node);
  std::uint64_t recorded() const { return recorded_.value(); }
  std::uint64_t handled() const;

 private:
  const sim::Counter& recorded_;
  std::vector<const sim::Counter*> handled_;
};

// Says what the machine has lost for good, so that programs may wait for it for ever, as on hardware that has no retry
// left; nothing if all arrived.
std::optional<sim::RunFailure> lost_for_good(const Cluster& cluster);

}  // namespace faultline::platform
