// SPDX-License-Identifier: Apache-2.0
// Counters of the NIC with an MMU of its own and its driver.
#pragma once

#include <array>

#include "models/sim/statistics.hpp"

namespace faultline::elan {

inline constexpr sim::CounterMetric kMetrics[] = {
    {"elan.naks", "naks", "1", 1, "blocks that the target's NIC has refused, because a page had no entry in its table"},
    {"elan.parks", "parks", "1", 1, "blocks parked at the source, because a page had no entry in the NIC's table"},
    {"elan.loads", "nic_loads", "1", 1, "entries put into the NICs' tables"},
    {"elan.invalidations", "nic_invalidations", "1", 1, "entries taken out of the NICs' tables"},
    {"elan_driver.vetoes", "nic_vetoes", "1", 1,
     "changes of a process's pages that the NIC's driver has refused (strategy.translate = vetoing)"},
};

// Counters: of the traps that the NIC has recorded, and of those that the driver has dealt with.
inline constexpr const char* kFaultsRecorded = "dma.fault_records";
inline constexpr std::array kFaultsHandled{"elan_driver.resolved", "elan_driver.merged", "elan_driver.refused",
                                           "elan_driver.gone"};

}  // namespace faultline::elan
