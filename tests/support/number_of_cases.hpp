// SPDX-License-Identifier: Apache-2.0
// How many cases rapidcheck tries.
#pragma once

#include <cstdlib>
#include <string>

namespace faultline::test {

// To be called before the first property of a process is checked; `max_success` in RC_PARAMS wins. `size`: up to which
// rapidcheck lets numbers and lists grow; its own choice is 100.
inline void set_number_of_cases(const std::string& cases, const std::string& size = "100") {
  const char* given = std::getenv("RC_PARAMS");
  std::string parameters = given == nullptr ? "" : given;
  if (parameters.find("max_success") != std::string::npos) return;
  parameters += " max_success=" + cases + " max_size=" + size;
  setenv("RC_PARAMS", parameters.c_str(), 1);
}

}  // namespace faultline::test
