// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace faultline::runs {

struct Printed {
  int code = 0;  // 128 and the signal's number where a signal has ended it
  std::string out;
  std::string err;
};

// The first word is looked for in PATH, unless it is a path. Nothing when it is not there. Throws UserError when it
// cannot be started otherwise.
// Takes what it prints; Ctrl-C does not reach it.
std::optional<Printed> run_program(const std::vector<std::string>& words);
// In place of this program: it has our input, our output and the user's Ctrl-C. `environment`: "NAME=value", all of it.
// Its code, as above.
std::optional<int> run_attached(const std::vector<std::string>& words, const std::vector<std::string>& environment);

}  // namespace faultline::runs
