// SPDX-License-Identifier: Apache-2.0
// Runs another program to its end and takes what it prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace faultline::app {

struct Printed {
  int code = 0;  // 128 and the signal's number where a signal has ended it
  std::string out;
  std::string err;
};

// The first word is looked for in PATH. Nothing when it is not there. Throws std::runtime_error when the host has no
// process left. Ctrl-C does not reach it.
std::optional<Printed> run_program(const std::vector<std::string>& words);

}  // namespace faultline::app
