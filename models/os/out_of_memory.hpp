// SPDX-License-Identifier: Apache-2.0
// What people are told when a node's memory is used up.
#pragma once

#include <string>
#include <vector>

#include "models/os/vm/vm.hpp"
#include "models/sim/failure.hpp"

namespace faultline::os {

// `what`: who got none, as a sentence without its end; `keys`: the parameters that decide how much is asked for and how
// much there is. A pool of huge pages is named if there is one, and first where it has most of the memory.
sim::RunFailure out_of_memory(const Vm& vm, std::string what, std::vector<std::string> keys);

}  // namespace faultline::os
