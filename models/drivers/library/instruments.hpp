// SPDX-License-Identifier: Apache-2.0
// What the software of every NIC shows: counters that are results, and the threads that serve faults.
#pragma once

#include "models/sim/instruments.hpp"
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

inline constexpr sim::BusyPart kFaultThreadBusy{
    .metric = "utilisation_fault_thread",
    .description =
        "share of the measured time for which a fault thread had faults to deal with, its waiting for cores, locks and "
        "the disk included: the busiest of the nodes at which transfers begin or end",
    .called = "the fault thread",
    .software = true};

}  // namespace faultline::library
