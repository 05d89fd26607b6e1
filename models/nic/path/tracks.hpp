// SPDX-License-Identifier: Apache-2.0
// Timelines of the engine.
#pragma once

#include "models/sim/trace.hpp"

namespace faultline::nic::track {

using sim::Shape;
using sim::TrackInfo;

// Transfers from post to notification, and how many the channel holds.
inline constexpr TrackInfo kChannel{.name = "DMA channel {}", .rank = 2, .level = ": transfers"};
// Transfers that another node has posted and this one sends.
inline constexpr TrackInfo kServedReads{"DMA reads for other nodes", 3};
// Blocks that hold a context.
inline constexpr TrackInfo kSendUnit{"DMA send unit", 4};

inline constexpr TrackInfo kSendQueue{"DMA: blocks that wait for the send unit", 9, Shape::level};
inline constexpr TrackInfo kSendBlocks{"DMA: blocks in the send unit", 10, Shape::level};
// Those that it has, or knows to come.
inline constexpr TrackInfo kReceiveQueue{"DMA: trains at the receive unit", 11, Shape::level};
inline constexpr TrackInfo kFaultFifo{"DMA: fault records that wait", 12, Shape::level};

}  // namespace faultline::nic::track
