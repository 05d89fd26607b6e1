// SPDX-License-Identifier: Apache-2.0
// Labels of values in what is made of a run: beside the values in its files and its database, in their place in
// answers.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "src/experiment/diagnostics.hpp"
#include "src/results/query.hpp"
#include "src/results/results_writer.hpp"
#include "tests/results/made_run.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::results;
using namespace faultline::test;
using Json = nlohmann::ordered_json;

namespace {

const std::string kNamedSizes =
    "strategies = [\"resident\", \"fault/touch-ahead\"]\naxes.cpu.cores = [1]\n"
    "axes.workload.size = [{ value = \"64 B\", label = \"a, word\" }, \"4 KiB\"]\n";

std::vector<std::string> pairs_of(SqlDatabase& database, const std::string& query) {
  std::vector<std::string> rows;
  for (SqlStatement statement(database, query); statement.step();)
    rows.push_back(statement.text(0) + "|" + (statement.is_null(1) ? "NULL" : statement.text(1)));
  return rows;
}

}  // namespace

TEST_CASE("results.json has the labels beside the values") {
  const Sandbox sandbox;
  const MadeRun run(sandbox, kNamedSizes);
  const Json points = Json::parse(results_json(run.points, run.outcomes));
  CHECK(points[0].at("parameters").at("workload.size") == "64 B");
  CHECK(points[0].at("labels") == Json({{"workload.size", "a, word"}}));
  CHECK_FALSE(points[1].contains("labels"));
}

TEST_CASE("results.csv has a column of labels behind an axis that has any, and no other") {
  const Sandbox sandbox;
  const MadeRun run(sandbox, kNamedSizes);
  const std::string csv = results_csv(run.points, run.outcomes, kFakeSimulator);
  CHECK(csv.starts_with("strategy,cpu.cores,workload.size [B],workload.size label,seed,"));
  CHECK(csv.find("\nresident,1,64,\"a, word\",1,") != std::string::npos);
  CHECK(csv.find("\nresident,1,4096,,1,") != std::string::npos);
}

TEST_CASE("the database has labels of values, and points that are named by them") {
  const Sandbox sandbox;
  MadeRun(sandbox, kNamedSizes).write();
  Run run("o");
  CHECK(
      pairs_of(run.database(), "SELECT value, label FROM axis_values WHERE key = 'workload.size' ORDER BY position") ==
      std::vector<std::string>{"64 B|a, word", "4 KiB|NULL"});
  CHECK(run.label(1) == "resident, cpu.cores = 1, workload.size = a, word");
}

TEST_CASE("an answer is in values with their labels, and a condition takes either") {
  const Sandbox sandbox;
  MadeRun(sandbox, kNamedSizes).write();
  Run run("o");
  const RunColumn size = run.column("workload.size");
  CHECK(size.texts[0] == "64 B");
  CHECK(size.shown(0) == "a, word");
  CHECK(size.shown(1) == "4 KiB");
  CHECK(run.points_where({"workload.size=a, word"}) == run.points_where({"workload.size=64 B"}));
  CHECK(run.points_where({"workload.size>a, word"}) == std::vector<std::size_t>{1, 3});
  try {
    run.points_where({"workload.size=5 KiB"});
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(error.what() == std::string("--where: no point of o has workload.size=5 KiB; there are 'a, word', 4 KiB"));
  }
}
