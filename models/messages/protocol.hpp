// SPDX-License-Identifier: Apache-2.0
// What initiator and target tell each other about a transfer. Each message: what it is, the target's buffer by number,
// and of which part it is; or what is to be moved.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "models/os/error.hpp"
#include "models/os/vm/vm.hpp"

namespace faultline::messages {

enum Kind : std::uint64_t {
  kPrepare = 1,  // to the target: a transfer is to begin
  kRelease = 2,  // to the target: the part has ended, let go of it
  kReady = 3,    // to the initiator: the part is prepared
  kLater = 4,    // to the initiator: the part finds no room before others have gone
  kLetGo = 5,    // to the initiator: all parts are let go of
  kMove = 6,     // to the target: pages that the initiator gives back, and takes (carry_out)
  kMoved = 7,    // to the initiator: that is done
};

// Throws where there is an error: a registration has failed for good, with what was done to a buffer.
using Check = std::function<void(os::Error, std::string_view what, const os::Vm&)>;

}  // namespace faultline::messages
