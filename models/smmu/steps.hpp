// SPDX-License-Identifier: Apache-2.0
// What the SMMU tells of a node.
#pragma once

#include "models/sim/trace.hpp"

namespace faultline::smmu::step {

// A page's accesses have missed, and the walk, or a permission, says no.
inline constexpr sim::StepInfo kAccessFaulted{
    .name = "access_faulted", .scope = sim::Scope::node, .mark = sim::Mark::told_as_fault};

}  // namespace faultline::smmu::step
