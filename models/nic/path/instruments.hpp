// SPDX-License-Identifier: Apache-2.0
// What the data path shows: counters that are results, queues, signals of a waveform.
#pragma once

#include <array>

#include "models/nic/path/tracks.hpp"
#include "models/sim/instruments.hpp"
#include "models/sim/statistics.hpp"

namespace faultline::nic {

inline constexpr sim::CounterMetric kMetrics[] = {
    {"dma.fault_overflows", "fault_overflows", "1", 1, "fault records lost because too many waited for the driver"},
    {"dma.retransmitted_bytes", "retransmitted_bytes", "B", 1,
     "payload that left for the network in a block's later attempts"},
    {"dma.dropped_bytes", "dropped_bytes", "B", 1,
     "payload that crossed the network in vain: refused by the SMMU, or dropped by the receiver"},
    {"dma.timeouts", "timeouts", "1", 1, "blocks sent again because their timeout expired"},
};

// In the order of Path::Depths.
inline constexpr std::array kQueues{
    sim::QueueDepth{"transfers_queued", "transfers in the DMA engines: posted, and their end not notified"},
    sim::QueueDepth{"fault_records_queued", "records in the DMA engines' fault FIFOs"}};

inline constexpr sim::SignalInfo kChannelSignal{track::kChannel, "dma_channel{}_transfers"};  // of each channel
inline constexpr const char* kInterruptSignal = "dma_interrupt";                              // of its line
inline constexpr sim::SignalInfo kSignals[] = {{track::kSendQueue, "dma_send_queue"},
                                               {track::kSendBlocks, "dma_send_blocks"},
                                               {track::kReceiveQueue, "dma_receive_queue"},
                                               {track::kFaultFifo, "dma_fault_fifo"}};

}  // namespace faultline::nic
