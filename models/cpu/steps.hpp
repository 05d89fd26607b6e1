// SPDX-License-Identifier: Apache-2.0
// What cores and interrupt controller tell of a node.
#pragma once

#include "models/sim/trace.hpp"

namespace faultline::cpu {

namespace worker {

inline constexpr sim::WorkerInfo kInterrupts{"interrupts", 6};

}  // namespace worker

namespace step {

using sim::Scope;
using sim::StepInfo;

inline constexpr StepInfo kInterruptRaised{.name = "interrupt_raised",
                                           .scope = Scope::node,
                                           .phase = {.worker = worker::kInterrupts},
                                           .told = "An interrupt line goes high."};
inline constexpr StepInfo kInterruptTaken{.name = "interrupt_taken",
                                          .scope = Scope::node,
                                          .phase = {.worker = worker::kInterrupts},
                                          .told = "A core executes the first instruction of the interrupt's handler."};

}  // namespace step

}  // namespace faultline::cpu
