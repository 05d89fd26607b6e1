// SPDX-License-Identifier: Apache-2.0
// Which steps a transfer can meet, by the NIC that it is for.
#pragma once

#include <array>

#include "models/drivers/exanest/steps.hpp"

namespace faultline::platform {

// What each NIC that nodes can have tells of transfers. Another one is added here.
inline constexpr std::array kLives{exanest::kTransferLife};

}  // namespace faultline::platform
