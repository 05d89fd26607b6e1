// SPDX-License-Identifier: Apache-2.0
// The list of a run's points, written and read back.
#include <catch2/catch.hpp>

#include "src/experiment/diagnostics.hpp"
#include "src/experiment/program_id.hpp"
#include "src/runs/manifest.hpp"
#include "tests/support/fake_simulator.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::test;

namespace {

std::string complaint_about(const std::string& text) {
  const Sandbox sandbox;
  sandbox.write("manifest.json", text);
  try {
    read_manifest(RunFolder::look_at("."));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a manifest says whose run it is, which values are the platform's, and lists the points") {
  const Sandbox sandbox;
  Experiment experiment;
  experiment.name = "mine";
  experiment.platform = "board";
  experiment.command = "sensitivity";
  for (const char* key : {"a.own", "a.changed", "a.overridden"}) {
    experiment.platform_settings.emplace_back().key = key;
  }
  experiment.parameters.emplace_back().key = "a.changed";
  experiment.overrides.emplace_back().key = "a.overridden";
  std::vector<Point> points(2);
  points[0].id = "first";
  points[0].strategy = "pin";
  points[1].id = "second";
  points[1].strategy = "odd \"\xff\" one";  // no UTF-8
  sandbox.write("manifest.json", to_text(manifest_of(experiment, points)));

  const Manifest read = read_manifest(RunFolder::look_at("."));
  CHECK(read.build == program_id());
  CHECK(read.experiment == "mine");
  CHECK(read.platform == "board");
  CHECK(read.command == "sensitivity");
  CHECK(read.platform_parameters == std::set<std::string>{"a.own"});
  REQUIRE(read.points.size() == 2);
  CHECK(read.points[0].id == "first");
  CHECK(read.points[0].label == "pin");
  CHECK(read.points[1].label == "odd \"\xef\xbf\xbd\" one");
}

TEST_CASE("what is no manifest is refused with what it is") {
  const std::string damaged = ".: its manifest.json is damaged; 'faultline run' with --out writes it again";
  const std::string whole = R"({"format": 1, "experiment": "mine", "points": [{"id": "a", "point": "b"}]})";
  CHECK(complaint_about(whole).empty());
  CHECK(complaint_about(whole.substr(0, 40)) == damaged);
  CHECK(complaint_about("[]") == damaged);
  CHECK(complaint_about(R"({"format": 1, "experiment": "mine"})") == damaged);
  CHECK(complaint_about(R"({"format": 1, "experiment": "mine", "points": [{"id": "a"}]})") == damaged);
  CHECK(complaint_about(R"({"format": 1, "experiment": "mine", "points": ["a"]})") == damaged);
  CHECK(complaint_about(R"({"format": 1, "experiment": "mine", "points": [], "command": 7})") == damaged);
  CHECK(complaint_about(R"({"format": "two"})") ==
        ".: holds a run of another version of the program (its format is \"two\", not 1)");
  const Sandbox sandbox;
  CHECK_FALSE(find_manifest(RunFolder::look_at(".")));
  sandbox.write("manifest.json", whole.substr(0, 40));
  CHECK_FALSE(find_manifest(RunFolder::look_at(".")));
  sandbox.write("manifest.json", whole);
  CHECK(find_manifest(RunFolder::look_at("."))->command == "run");
}
