// SPDX-License-Identifier: Apache-2.0
// What the NIC with an MMU of its own shows beside its data path.
#pragma once

#include "models/sim/instruments.hpp"
#include "models/sim/trace.hpp"

namespace faultline::elan {

inline constexpr sim::BusyPart kProcessorBusy{
    .metric = "utilisation_dma_processor",
    .description =
        "share of the measured time for which the NIC's DMA processor scheduled blocks: that of the busiest node at "
        "which transfers begin or end",
    .called = "the DMA processor"};

namespace track {

inline constexpr sim::TrackInfo kProcessor{"DMA processor: work", 1};

}  // namespace track

}  // namespace faultline::elan
