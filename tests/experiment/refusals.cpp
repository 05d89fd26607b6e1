// SPDX-License-Identifier: Apache-2.0
// Combinations that cannot be: told once for all strategies, where the experiment says it, with what to do instead.
#include <catch2/catch.hpp>

#include "tests/experiment/reading.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::test;

namespace {

const std::string kReason = "workload.cold_share: pinned pages cannot be cold; decided also by strategy.registration ";
const std::string kInstead = "; instead: set workload.cold_share to 0, or do not pin";

}  // namespace

TEST_CASE("what several strategies cannot do is told once, with all of them, at the experiment's own setting") {
  const std::string pins = "strategy.a.strategy.registration = \"pin\"\nstrategy.b.strategy.registration = \"pin\"\n";
  CHECK(mistake(pins + "strategy.c = {}\nparameters.workload.cold_share = 0.5\n") ==
        "mine.toml:4:34: " + kReason + "(the strategies)" + kInstead +
            ", or leave these strategies out [strategies a, b]");
  // Of one alone it is told where it says so; when all are concerned there is none to be left out.
  CHECK(mistake("strategy.a.strategy.registration = \"pin\"\nparameters.workload.cold_share = 0.5\n") ==
        "mine.toml:2:34: " + kReason + "(strategy a, line 1)" + kInstead + " [strategy a]");
}

TEST_CASE("each value of an axis has a line, and all of them one advice, with skip") {
  const std::string text =
      "strategy = { a = { strategy.registration = \"pin\" }, b = { strategy.registration = \"pin\" } }\n"
      "axes.workload.cold_share = [0, 0.5, 1]\n";
  const std::string of_both = "(the strategies)";
  CHECK(mistake(text) == "mine.toml:2:32: " + kReason + of_both + kInstead +
                             ", or leave these combinations out by 'skip' [strategies a, b]\nmine.toml:2:37: " +
                             kReason + of_both + " [strategies a, b]");
  CHECK(mistake(text + "skip = [{ workload.cold_share = \"> 0\" }]\n") == "accepted");
}

TEST_CASE("where strategies alone decide the first of their lines is named, and where the command line does that") {
  const std::string cold = "workload.cold_share = 0.5, strategy.registration = \"pin\"";
  CHECK(mistake("strategy.a = { " + cold + " }\nstrategy.b = { " + cold + " }\n") ==
        "mine.toml:1:38: " + kReason + "(the strategies)" + kInstead + " [strategies a, b]");
  CHECK(mistake("strategy = { a = { strategy.registration = \"pin\" } }\n", {"workload.cold_share=0.5"}) ==
        "--set workload.cold_share=0.5: " + kReason + "(strategy a, line 1)" + kInstead + " [strategy a]");
}

TEST_CASE("of who decides beside, whoever differs is named") {
  CHECK(mistake("parameters = { workload.cold_share = 0.5, strategy.registration = \"pin\" }\n"
                "strategy = { a = { strategy.registration = \"pin\" }, b = {} }\n") ==
        "mine.toml:1:38: " + kReason + "(strategy a, line 2; experiment, line 1)" + kInstead + " [strategies a, b]");
}

TEST_CASE("a dozen strategies are named, and more counted") {
  std::string text = "parameters = { workload.cold_share = 0.5, strategy.registration = \"pin\" }\n";
  for (int i = 0; i < 14; ++i) text += "strategy.s" + std::to_string(i) + " = {}\n";
  CHECK(mistake(text).ends_with("[strategies s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11 and 2 more]"));
}
