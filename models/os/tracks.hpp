// SPDX-License-Identifier: Apache-2.0
// Timelines of the kernel.
#pragma once

#include "models/sim/trace.hpp"

namespace faultline::os::track {

// System calls and page faults, of all threads, from entry to return: what they wait for is in them.
inline constexpr sim::TrackInfo kCalls{"kernel calls", 15};

}  // namespace faultline::os::track
