// SPDX-License-Identifier: Apache-2.0
// Experiments written in a test, read with the fake machine's parameters.
#pragma once

#include <string>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "tests/support/fake_simulator.hpp"

namespace faultline::test {

inline const FakeSimulator kSimulator;

inline experiment::Experiment read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const Sandbox sandbox;
  return experiment::read_experiment(sandbox.write("mine.toml", text), overrides,
                                     experiment::ConfigLibrary(test_configs()), kSimulator);
}

inline std::vector<experiment::Point> points_of(const std::string& text,
                                                const std::vector<std::string>& overrides = {}) {
  return experiment::expand(read(text, overrides), kSimulator);
}

// The message that the text earns.
inline std::string mistake(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    points_of(text, overrides);
  } catch (const experiment::UserError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace faultline::test
