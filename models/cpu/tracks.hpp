// SPDX-License-Identifier: Apache-2.0
// Timelines of cores and interrupt lines.
#pragma once

#include "models/sim/trace.hpp"

namespace faultline::cpu::track {

using sim::Shape;
using sim::TrackInfo;

inline constexpr TrackInfo kCore{"core {}", 0, Shape::thread};
inline constexpr TrackInfo kR5{"R5", 1};
inline constexpr TrackInfo kInterrupt{"interrupt line {}", 8, Shape::wire};

}  // namespace faultline::cpu::track
