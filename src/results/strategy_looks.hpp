// SPDX-License-Identifier: Apache-2.0
// How figures and the page of a run draw a strategy, so that a colour means the same strategy wherever one looks.
#pragma once

#include <vector>

#include "src/experiment/experiment.hpp"

namespace faultline::app {

// Of each strategy a number: modulo 8 its colour and marker, divided by 8 the dashes of its line. Those that ship have
// the same one in every run, the others what these leave free. All of a run are different; a figure has three
// dashes, so that lines from 24 on look like others.
std::vector<unsigned> looks_of(const std::vector<Strategy>& strategies);

}  // namespace faultline::app
