// SPDX-License-Identifier: Apache-2.0
// Timelines of the SMMU.
#pragma once

#include "models/sim/trace.hpp"

namespace faultline::smmu::track {

using sim::Shape;
using sim::TrackInfo;

inline constexpr TrackInfo kTbu{"SMMU TBU {}", 5};  // misses of its micro-TLB
inline constexpr TrackInfo kWalker{"SMMU TCU, walk slot {}", 6};
inline constexpr TrackInfo kWalks{"SMMU: walks under way", 13, Shape::level};
inline constexpr TrackInfo kStalls{"SMMU: accesses stalled", 14, Shape::level};  // that wait for RESUME

}  // namespace faultline::smmu::track
