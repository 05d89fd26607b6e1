// SPDX-License-Identifier: Apache-2.0
// What the parts of an audit (Vm::audit) share.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "models/os/vm/frame_table.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

// By slot: how many entries and pages of shared memory refer to it.
using SlotReferences = sim::HashMap<SwapSlot, std::uint32_t>;

[[noreturn]] inline void broken(const std::string& what) {
  throw std::logic_error("the memory manager's books are wrong: " + what);
}

}  // namespace faultline::os
