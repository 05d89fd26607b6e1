// SPDX-License-Identifier: Apache-2.0
// Other programs: what they print, how they end, what they inherit.
#include <catch2/catch.hpp>

#include "src/experiment/diagnostics.hpp"
#include "src/runs/other_program.hpp"
#include "tests/support/sandbox.hpp"

using namespace faultline::experiment;
using namespace faultline::runs;
using namespace faultline::test;

TEST_CASE("what another program prints is taken, with its exit code") {
  const auto printed = run_program({"sh", "-c", "read line && echo $line; echo out; echo err >&2; exit 3"});
  REQUIRE(printed);
  CHECK(printed->code == 3);
  CHECK(printed->out == "out\n");
  CHECK(printed->err == "err\n");
  CHECK(run_program({"sh", "-c", "kill -9 $$"})->code == 128 + 9);
}

TEST_CASE("a program in our place has the environment that it is given, and nothing else") {
  CHECK(run_attached({"/bin/sh", "-c", "exit $CODE"}, {"CODE=7"}) == 7);
  CHECK(run_attached({"/bin/sh", "-c", "test -z \"$HOME\""}, {}) == 0);
  CHECK(run_attached({"/bin/sh", "-c", "kill -15 $$"}, {}) == 128 + 15);
}

TEST_CASE("a program that is not there is nothing, one that is no program says so") {
  const Sandbox sandbox;
  CHECK_FALSE(run_program({"no-such-program-anywhere"}));
  CHECK_FALSE(run_attached({"./none"}, {}));
  sandbox.write("text", "no program");
  CHECK_THROWS_AS(run_attached({"./text"}, {}), UserError);
  CHECK_THROWS_WITH(run_program({"./text"}), "./text: cannot be started: Permission denied");
}
