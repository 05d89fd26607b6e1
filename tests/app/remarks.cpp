// SPDX-License-Identifier: Apache-2.0
// Where a person reads that a value is beyond what is plausible.
#include <catch2/catch.hpp>

#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::test;

TEST_CASE("run, config and sensitivity tell what is hardly plausible before anything else, and --quiet keeps it back") {
  const Sandbox sandbox;
  const std::string remark =
      "remark: network.internal_latency = 2 ns (set by --set) is beyond what is plausible for this machine, 10 ns to 1 "
      "us\n";
  for (const char* command : {"run", "config", "sensitivity"}) {
    INFO(command);
    std::vector<std::string> arguments{command, "sizes", "--set", "network.internal_latency=2 ns"};
    const Ran told = faultline_program(arguments);
    CHECK(told.code == 0);
    CHECK(told.err.starts_with(remark));
    arguments.emplace_back("--quiet");
    CHECK(faultline_program(arguments).err.find("remark") == std::string::npos);
  }
}
