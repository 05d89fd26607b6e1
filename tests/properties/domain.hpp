// SPDX-License-Identifier: Apache-2.0
// The parameters that a domain varies, by flag, and the values that each may get.
#pragma once

#include <string>
#include <vector>

#include "tests/properties/case.hpp"

namespace faultline::test {

struct Knob {
  std::string key;
  std::vector<sim::ParameterValue> values;  // the narrowest first: it is taken most often
};

const std::vector<Knob>& buffer_knobs();
const std::vector<Knob>& translation_knobs();
const std::vector<Knob>& rate_knobs();
const std::vector<Knob>& latency_knobs();
// Instead of rates and latencies, and all of them at a time.
const std::vector<Knob>& tie_knobs();
const std::vector<Knob>& software_knobs();
const std::vector<Knob>& loss_knobs();

}  // namespace faultline::test
