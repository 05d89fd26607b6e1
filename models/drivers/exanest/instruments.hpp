// SPDX-License-Identifier: Apache-2.0
// What of the engine's faults is still on its way, as counters tell.
#pragma once

#include <array>

namespace faultline::exanest {

// Counters: of the faults that the engine has recorded, and of those that a fault thread has dealt with, which may be
// fewer for good, because a record may be lost.
inline constexpr const char* kFaultsRecorded = "dma.fault_records";
inline constexpr std::array kFaultsHandled{"library.pages_resolved", "library.faults_merged", "library.faults_refused"};

}  // namespace faultline::exanest
