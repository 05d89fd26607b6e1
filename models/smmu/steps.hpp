// SPDX-License-Identifier: Apache-2.0
// What the SMMU tells of a node.
#pragma once

#include "models/sim/trace.hpp"

namespace faultline::smmu {

namespace worker {

inline constexpr sim::WorkerInfo kSmmu{"SMMU", 7};

}  // namespace worker

namespace step {

// A page's accesses have missed, and the walk, or a permission, says no.
inline constexpr sim::StepInfo kAccessFaulted{
    .name = "access_faulted",
    .scope = sim::Scope::node,
    .mark = sim::Mark::told_as_fault,
    .phase = {.worker = worker::kSmmu},
    .told = "The SMMU has walked the page table for an access and may not let the access through."};

}  // namespace step

}  // namespace faultline::smmu
