// SPDX-License-Identifier: Apache-2.0
// What the network shows: counters that are results, parts that may be busy.
#pragma once

#include "models/sim/instruments.hpp"
#include "models/sim/statistics.hpp"

namespace faultline::network {

inline constexpr sim::CounterMetric kMetrics[] = {
    {"network.lost_cells", "lost_cells", "1", 1, "cells that were to cross a failed link or router"},
};

inline constexpr sim::BusyPart kLinkBusy{
    .metric = "utilisation_link",
    .description = "share of the measured time for which a link, in one direction, carried cells: the busiest",
    .called = "the busiest outgoing link",
    .transfers_only = true};
// The datapath of a node's router into the node.
inline constexpr sim::BusyPart kInterfaceBusy{
    .metric = "utilisation_ni",
    .description =
        "share of the measured time for which the network interface took cells from the network: that of the busiest "
        "node at which transfers begin or end",
    .called = "the network interface"};

}  // namespace faultline::network
