// SPDX-License-Identifier: Apache-2.0
// What is said of values that are legal and beyond what is plausible: of network.internal_latency 10 ns to 1 us.
#include <catch2/catch.hpp>

#include "src/experiment/remarks.hpp"
#include "tests/experiment/reading.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::test;

namespace {

using Texts = std::vector<std::string>;

Texts remarks(const std::string& text, const Texts& overrides = {}) {
  return implausible_values(read("strategies = [\"resident\"]\n" + text, overrides), kSimulator);
}

const std::string kKey = "network.internal_latency";
const std::string kRange = " is beyond what is plausible for this machine, 10 ns to 1 us";

}  // namespace

TEST_CASE("both ends of what is plausible are plausible, and what lies one step beyond them is told") {
  CHECK(remarks("parameters." + kKey + " = \"10 ns\"\n").empty());
  CHECK(remarks("parameters." + kKey + " = \"1 us\"\n").empty());
  CHECK(remarks("parameters." + kKey + " = \"9999 ps\"\n") ==
        Texts{"remark: " + kKey + " = 9.999 ns (set by experiment, line 2)" + kRange});
}

TEST_CASE("axes, strategies and --set are looked at, each parameter once") {
  CHECK(remarks("axes." + kKey + " = [\"1 ns\", \"20 ns\", \"2 ns\", \"3 ns\", \"4 ns\"]\n") ==
        Texts{"remark: " + kKey + " = 1 ns, 2 ns, 3 ns and 1 more (set by axis, line 2)" + kRange});
  CHECK(remarks("", {kKey + "=3 ns"}) == Texts{"remark: " + kKey + " = 3 ns (set by --set)" + kRange});
  CHECK(implausible_values(read("strategies = [\"s\"]\nstrategy.s." + kKey + " = \"2 ns\"\n"), kSimulator).size() == 1);
}

TEST_CASE("values that others are set above are no point's, and each place is told by itself") {
  const std::string of_strategy = "strategy.s." + kKey + " = \"2 ns\"\n";
  const auto told = [&](const std::string& text, const Texts& overrides = {}) {
    return implausible_values(read("strategies = [\"s\"]\n" + text, overrides), kSimulator);
  };
  CHECK(remarks("parameters." + kKey + " = \"1 ns\"\n", {kKey + "=20 ns"}).empty());
  CHECK(told(of_strategy, {kKey + "=20 ns"}).empty());
  CHECK(told("axes." + kKey + " = [\"20 ns\", \"30 ns\"]\n" + of_strategy).empty());
  CHECK(told("parameters." + kKey + " = \"1 ns\"\n" + of_strategy).size() == 1);
  CHECK(told(of_strategy, {kKey + "=3 ns"}) == Texts{"remark: " + kKey + " = 3 ns (set by --set)" + kRange});
  // Of two based on each other the last decides.
  CHECK(told(of_strategy + "strategy.s.based_on = \"t\"\nstrategy.t." + kKey + " = \"1 ns\"\n").size() == 1);
  // A strategy that leaves it alone has the experiment's.
  CHECK(implausible_values(
            read("strategies = [\"s\", \"resident\"]\nparameters." + kKey + " = \"1 ns\"\n" + of_strategy), kSimulator)
            .size() == 2);
}

TEST_CASE("what a platform says of its machine is not looked at, nor what nobody has a range for") {
  const Sandbox sandbox;
  sandbox.write("other.toml",
                "[parameters]\n" + kKey + " = { value = \"2 ns\", standing = \"published\", source = \"x\" }\n");
  const auto path =
      sandbox.write("mine.toml", "platform = \"other.toml\"\nstrategies = [\"resident\"]\nparameters.cpu.cores = 8\n");
  CHECK(implausible_values(read_experiment(path, {}, ConfigLibrary(test_configs()), kSimulator), kSimulator).empty());
}
