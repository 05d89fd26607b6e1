// SPDX-License-Identifier: Apache-2.0
// The program on the simulator of the tests: a command line in; text and an exit code out.
#pragma once

#include <string>
#include <vector>

#include "src/application.hpp"
#include "tests/support/fake_simulator.hpp"

namespace faultline::test {

struct Ran {
  int code;
  std::string out;
  std::string err;
};

inline Ran faultline_program(std::vector<std::string> arguments, std::size_t width = 160) {
  std::ostringstream out, err;
  if (arguments.empty() || arguments[0] != "help")
    arguments.insert(arguments.end(), {"--configs", test_configs().string()});
  const int code = app::run_application(arguments, FakeSimulator{}, app::Console{out, err, false, width});
  return {code, out.str(), err.str()};
}

// Runs an experiment of the test's own, in the folder "o", whatever ran there before.
inline Ran run_experiment(const Sandbox& sandbox, const std::string& text) {
  return faultline_program({"run", sandbox.write("mine.toml", text), "--out", "o", "--replace"});
}

}  // namespace faultline::test
