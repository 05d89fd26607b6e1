// SPDX-License-Identifier: Apache-2.0
// Counters of every NIC's driver that are results.
#pragma once

#include "models/sim/statistics.hpp"

namespace faultline::library {

inline constexpr sim::CounterMetric kDriverMetrics[] = {
    {"driver.fault_records", "faults", "1", 1,
     "faults of the device that processes were told of: blocks that were cut, or stalled accesses"},
    {"driver.faults_injected", "faults_injected", "1", 1,
     "of the faults, those whose cause was brought about by what inject.* does while transfers go on"},
    {"driver.refaults", "refaults", "1", 1,
     "of the faults, those at a page for which the same block had been tried again already: it was taken anew, or was "
     "not cured"},
};

}  // namespace faultline::library
