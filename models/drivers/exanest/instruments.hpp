// SPDX-License-Identifier: Apache-2.0
// What the engine's software shows: parts that may be busy, and what is still on its way.
#pragma once

#include <array>

#include "models/sim/instruments.hpp"

namespace faultline::exanest {

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

}  // namespace faultline::exanest
