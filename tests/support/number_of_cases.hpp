// SPDX-License-Identifier: Apache-2.0
// How many cases rapidcheck tries.
#pragma once

#include <cstdlib>
#include <string>

namespace faultline::test {

// Of a loop of its own: so many times as many, nightly.
inline unsigned number_of_cases(unsigned cases) {
  const char* times = std::getenv("FAULTLINE_CASES_TIMES");
  return cases * (times == nullptr ? 1 : static_cast<unsigned>(std::stoul(times)));
}

// To be called before the first property of a process is checked; `max_success` in RC_PARAMS wins. `size`: up to which
// rapidcheck lets numbers and lists grow; its own choice is 100. FAULTLINE_CASES_TIMES: so many times as many, nightly.
// `seed`: the same cases each time, unless it is nightly or RC_PARAMS says otherwise; 0: others each time.
inline void set_number_of_cases(unsigned cases, unsigned size = 100, unsigned seed = 0) {
  const char* given = std::getenv("RC_PARAMS");
  const char* times = std::getenv("FAULTLINE_CASES_TIMES");
  std::string parameters = given == nullptr ? "" : given;
  if (parameters.find("max_success") != std::string::npos) return;
  const unsigned long long all = (times == nullptr ? 1 : std::stoull(times)) * cases;
  parameters += " max_success=" + std::to_string(all) + " max_size=" + std::to_string(size);
  if (seed != 0 && times == nullptr && parameters.find("seed=") == std::string::npos) {
    parameters += " seed=" + std::to_string(seed);
  }
  setenv("RC_PARAMS", parameters.c_str(), 1);
}

}  // namespace faultline::test
