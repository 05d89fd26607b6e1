// SPDX-License-Identifier: Apache-2.0
// Timelines of the network.
#pragma once

#include "models/sim/trace.hpp"

namespace faultline::network::track {

// By the port by which cells leave.
inline constexpr sim::TrackInfo kLink{"link to {}", 7, sim::Shape::link};

}  // namespace faultline::network::track
