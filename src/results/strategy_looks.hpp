// SPDX-License-Identifier: Apache-2.0
// How figures and the page of a run draw a strategy, so that a colour means the same strategy wherever one looks.
#pragma once

#include <vector>

#include "src/experiment/experiment.hpp"

namespace faultline::results {

// Of each strategy a number; python/faultline/looks.json says which colour, marker and dashes that is. Those that ship
// have the same one in every run, the others what these leave free. All of a run are different: their colours up to 24
// strategies, colours and markers together up to 576.
std::vector<unsigned> looks_of(const std::vector<experiment::Strategy>& strategies);

}  // namespace faultline::results
