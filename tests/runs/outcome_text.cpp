// SPDX-License-Identifier: Apache-2.0
// What tables and files say of points without a result, or with one that is wrong.
#include <catch2/catch.hpp>

#include "src/runs/point_runner.hpp"

using namespace faultline::runs;

TEST_CASE("a point that failed, was refused or is wrong says so in the same words everywhere") {
  PointOutcome outcome;
  CHECK(status_text(outcome) == "not run");
  CHECK(reason_text(outcome).empty());

  outcome.status = PointStatus::timed_out;
  outcome.error = "it took longer than 1 s";
  CHECK(status_text(outcome) == "timed out");
  CHECK(reason_text(outcome) == "it took longer than 1 s");

  outcome = {};
  outcome.status = PointStatus::complete;
  outcome.result.failed_checks = {"it differs", "it leaks"};
  CHECK(status_text(outcome) == "check failed");
  CHECK(reason_text(outcome) == "it differs; it leaks");

  outcome.result.refused = "by a limit";
  CHECK(status_text(outcome) == "refused");
  CHECK(reason_text(outcome) == "by a limit");
}
