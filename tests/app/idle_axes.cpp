// SPDX-License-Identifier: Apache-2.0
// Axes along which nothing changes are told below the tables.
#include <catch2/catch.hpp>

#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::test;

namespace {

bool is_told(const std::string& text, const std::string& axis) {
  const Sandbox sandbox;
  const Ran ran = run_experiment(sandbox, text);
  INFO(ran.out + ran.err);
  REQUIRE(ran.out.find("t_avg") != std::string::npos);
  return ran.out.find("(" + axis + " changed no metric)\n") != std::string::npos;
}

// The machine of the tests looks at the size, and not at its cores.
const std::string kCores = "axes.cpu.cores = [1, 2]\n";
const std::string kSizes = "axes.workload.size = [\"64 B\", \"4 KiB\"]\n";

}  // namespace

TEST_CASE("an axis that changes no metric at any value of the others is told") {
  CHECK(is_told(kCores, "cpu.cores"));
  CHECK(is_told(kSizes + kCores, "cpu.cores"));
  CHECK_FALSE(is_told(kSizes + kCores, "workload.size"));
  CHECK(is_told("repetitions = 2\nparameters.workload.label = \"noisy\"\n" + kCores, "cpu.cores"));
}

TEST_CASE("an axis that does something with one strategy is not told") {
  const std::string strategies = "strategies = [\"resident\", \"fault/touch-ahead\"]\n";
  const std::string pages = "axes.strategy.touch_ahead_pages = [1, 2]\n";
  CHECK_FALSE(is_told(strategies + pages, "strategy.touch_ahead_pages"));
  CHECK(is_told("strategies = [\"resident\", \"fault/touch-a-page\"]\n" + pages, "strategy.touch_ahead_pages"));
}

TEST_CASE("axes that advance together are one") {
  CHECK_FALSE(is_told("zip = [[\"workload.size\", \"cpu.cores\"]]\n" + kSizes + kCores, "cpu.cores"));
  CHECK(is_told("zip = [[\"cpu.cores\", \"strategy.touch_ahead_pages\"]]\n" + kCores +
                    "axes.strategy.touch_ahead_pages = [1, 2]\n",
                "cpu.cores and strategy.touch_ahead_pages"));
}

TEST_CASE("nothing is told of an axis of one value, or where a point has failed") {
  CHECK_FALSE(is_told("axes.cpu.cores = [1]\n", "cpu.cores"));
  CHECK_FALSE(is_told("repetitions = 2\nparameters.workload.label = \"fails at 2\"\n" + kCores, "cpu.cores"));
}
