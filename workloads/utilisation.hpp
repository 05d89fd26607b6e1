// SPDX-License-Identifier: Apache-2.0
// How busy the parts of the machine were while transfers were measured, and which of them limits the transfers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/platform/instruments.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::workloads {

// Whether transfers begin or end at a node: what else is busy there does not decide how long they take.
using IsEnd = std::function<bool(network::RouterId)>;

// In % of the time between two calls of platform::busy_times(), `span`: metrics "utilisation_...".
struct Utilisation {
  std::vector<Metric> greatest;   // the busiest part of each kind: of all links, else of the ends of transfers
  std::vector<PartResult> nodes;  // the busiest of each node or router; of more than kMostParts, the busiest of these
};
inline constexpr std::size_t kMostParts = 64;
Utilisation utilisation(const std::vector<platform::BusyTime>& before, const std::vector<platform::BusyTime>& after,
                        sim::Time span, unsigned nodes, const IsEnd& is_end);

std::vector<MetricDoc> utilisation_docs();

}  // namespace faultline::workloads
