// SPDX-License-Identifier: Apache-2.0
// What the engine's software shows: counters that are results, parts that may be busy, what is still on its way, and
// what was lost for good.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "models/sim/failure.hpp"
#include "models/sim/instruments.hpp"
#include "models/sim/statistics.hpp"

namespace faultline::exanest {

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

// Counters: of the faults that the engine has recorded, and of those that a fault thread has dealt with, which may be
// fewer for good, because a record may be lost.
inline constexpr const char* kFaultsRecorded = "dma.fault_records";
inline constexpr std::array kFaultsHandled{"library.pages_resolved", "library.faults_merged", "library.faults_refused"};

// The value of a counter by its name: the sum over all nodes.
using CounterValue = std::function<std::uint64_t(std::string_view counter)>;

// Says what was lost that nobody sends again, so that programs may wait for it for ever; nothing if all arrived.
std::optional<sim::RunFailure> lost_for_good(const CounterValue& total);

}  // namespace faultline::exanest
