// SPDX-License-Identifier: Apache-2.0
// What the SMMU shows: counters that are results, signals of a waveform.
#pragma once

#include "models/sim/instruments.hpp"
#include "models/sim/statistics.hpp"
#include "models/smmu/tracks.hpp"

namespace faultline::smmu {

inline constexpr sim::CounterMetric kMetrics[] = {
    {"smmu.walks", "walks", "1", 1, "page-table walks of the SMMUs"},
};

inline constexpr sim::SignalInfo kSignals[] = {{track::kWalks, "smmu_walks"}, {track::kStalls, "smmu_stalls"}};
inline constexpr const char* kInterruptSignal = "smmu_interrupt";  // of its line

}  // namespace faultline::smmu
