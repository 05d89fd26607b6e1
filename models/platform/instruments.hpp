// SPDX-License-Identifier: Apache-2.0
// What can be measured of a cluster, whichever parts its nodes have: code that measures names no NIC, driver or SMMU.
// Each room describes its own parts in its instruments.hpp; here they are in the order in which they are shown.
//
// Two kinds of counters every NIC's driver must have: driver.fault_records, and of these records driver.faults_CAUSE
// for each cause of os::kFaultCauseDocs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/drivers/exanest/instruments.hpp"
#include "models/nic/exanest/instruments.hpp"
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
inline constexpr auto kQueues = exanest::kQueues;
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
  explicit FaultProgress(const Node& node);
  std::uint64_t recorded() const { return recorded_.value(); }
  std::uint64_t handled() const;

 private:
  const sim::Counter& recorded_;
  std::array<const sim::Counter*, exanest::kFaultsHandled.size()> handled_;
};

// Says what the machine has lost for good, so that programs may wait for it for ever, as on hardware that has no retry
// left; nothing if all arrived.
std::optional<sim::RunFailure> lost_for_good(const Cluster& cluster);

// Parameters of the NIC, for messages to the user: those that decide how long a transfer may be tried in vain, and
// those whose limit, once reached, ends a transfer with an error.
std::vector<std::string> keys_of_delay();
std::vector<std::string> keys_of_failure();

}  // namespace faultline::platform
