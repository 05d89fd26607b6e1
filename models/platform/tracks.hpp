// SPDX-License-Identifier: Apache-2.0
// Which kinds of tracks a node can have: the list of all rooms.
#pragma once

#include <array>

#include "models/cpu/tracks.hpp"
#include "models/network/tracks.hpp"
#include "models/nic/elan/instruments.hpp"
#include "models/nic/path/tracks.hpp"
#include "models/os/tracks.hpp"
#include "models/smmu/tracks.hpp"

namespace faultline::platform {

// The kinds of tracks of all rooms. A new kind is added here, so that the compiler sees that no other one is equal to
// it.
inline constexpr auto kTracks = std::to_array<sim::TrackKind>(
    {cpu::track::kCore, cpu::track::kR5, elan::track::kProcessor, cpu::track::kInterrupt, nic::track::kChannel,
     nic::track::kServedReads, nic::track::kSendUnit, nic::track::kSendQueue, nic::track::kSendBlocks,
     nic::track::kReceiveQueue, nic::track::kFaultFifo, smmu::track::kTbu, smmu::track::kWalker, smmu::track::kWalks,
     smmu::track::kStalls, network::track::kLink, os::track::kCalls});
static_assert(sim::all_differ(kTracks), "two tracks of one rank and name are the same track");

}  // namespace faultline::platform
