// SPDX-License-Identifier: Apache-2.0
// The lists of all NICs and rooms: which steps a transfer can meet, by the NIC that carries it, and which kinds of
// tracks a node can have.
#pragma once

#include <array>

#include "models/cpu/tracks.hpp"
#include "models/drivers/exanest/steps.hpp"
#include "models/network/tracks.hpp"
#include "models/nic/exanest/tracks.hpp"
#include "models/os/tracks.hpp"
#include "models/smmu/tracks.hpp"

namespace faultline::platform {

// What each NIC that nodes can have tells of transfers. A new NIC is added here.
inline constexpr std::array kLives{exanest::kTransferLife};

// The kinds of tracks of all rooms. A new kind is added here, so that the compiler sees that no other one is equal to
// it.
inline constexpr auto kTracks = std::to_array<sim::TrackKind>(
    {cpu::track::kCore, cpu::track::kR5, cpu::track::kInterrupt, exanest::track::kChannel, exanest::track::kServedReads,
     exanest::track::kSendUnit, exanest::track::kSendQueue, exanest::track::kSendBlocks, exanest::track::kReceiveQueue,
     exanest::track::kFaultFifo, smmu::track::kTbu, smmu::track::kWalker, smmu::track::kWalks, smmu::track::kStalls,
     network::track::kLink, os::track::kCalls});
static_assert(sim::all_differ(kTracks), "two tracks of one rank and name are the same track");

}  // namespace faultline::platform
