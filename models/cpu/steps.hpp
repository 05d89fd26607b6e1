// SPDX-License-Identifier: Apache-2.0
// What cores and interrupt controller tell of a node.
#pragma once

#include "models/sim/trace.hpp"

namespace faultline::cpu::step {

using sim::Scope;
using sim::StepInfo;

inline constexpr StepInfo kInterruptRaised{.name = "interrupt_raised", .scope = Scope::node};  // a line has gone high
inline constexpr StepInfo kInterruptTaken{.name = "interrupt_taken",
                                          .scope = Scope::node};  // a handler's first instruction

}  // namespace faultline::cpu::step
