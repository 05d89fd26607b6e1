// SPDX-License-Identifier: Apache-2.0
// What ExaNeSt's engine adds to the register map of the data path: requests to the firmware on the R5.
// The real engine's layout is not published (exanest-qfdb.md, section 1.6); this one is ours.
#pragma once

#include "models/nic/path/registers.hpp"

namespace faultline::exanest {

using namespace nic;  // the engine's parts are those of the path

namespace reg {

using namespace nic::reg;

// Messages to the R5: word 0 is the operation, then its arguments.
inline constexpr std::uint64_t kRetransmit = 1;  // RAPF or local retry: transfer, block | attempt << 32
inline constexpr std::uint64_t kResend = 5;      // as kRetransmit, of a block that may not have faulted: is not counted
constexpr bool asks_for_block(std::uint64_t operation) { return operation == kRetransmit || operation == kResend; }

}  // namespace reg

}  // namespace faultline::exanest
