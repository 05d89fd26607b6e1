// SPDX-License-Identifier: Apache-2.0
// What the engine shows beside its data path.
#pragma once

#include <array>

#include "models/sim/instruments.hpp"

namespace faultline::exanest {

inline constexpr sim::BusyPart kFirmwareBusy{
    .metric = "utilisation_r5",
    .description =
        "share of the measured time for which the R5 ran firmware: that of the busiest node at which transfers begin "
        "or end",
    .called = "the R5"};

// Parameters that decide how long a transfer may be tried in vain; and those whose limit, once reached, ends a transfer
// with an error.
inline constexpr std::array kKeysOfDelay{"exanest.block_timeout", "exanest.retry_limit"};
inline constexpr std::array kKeysOfFailure{"exanest.refault_limit", "exanest.retry_limit"};

}  // namespace faultline::exanest
