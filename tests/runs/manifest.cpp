// SPDX-License-Identifier: Apache-2.0
// The list of a run's points, written and read back.
#include <catch2/catch.hpp>

#include "src/experiment/diagnostics.hpp"
#include "src/experiment/point.hpp"
#include "src/runs/manifest.hpp"
#include "src/runs/seal.hpp"
#include "tests/support/fake_simulator.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::runs;
using namespace faultline::test;

namespace {

std::string complaint_about(const std::string& text) {
  const Sandbox sandbox;
  sandbox.write("manifest.json", text);
  try {
    read_manifest(Folder::look_at("."));
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

  const Manifest read = read_manifest(Folder::look_at("."));
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
  const std::string damaged =
      "./manifest.json: is damaged; 'faultline run' of the same experiment with --out . writes it again";
  const auto sealed_text = [](const char* json) { return sealed_json(nlohmann::ordered_json::parse(json), 1); };
  const std::string whole =
      sealed_text(R"({"format": 2, "experiment": "mine", "points": [{"id": "a", "point": "b"}]})");
  CHECK(complaint_about(whole).empty());
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    INFO(flipped);
    CHECK(complaint_about(flipped) == damaged);
    CHECK(complaint_about(whole.substr(0, bit / 8)) == damaged);
  }
  CHECK(complaint_about("[]") == damaged);
  CHECK(complaint_about(sealed_text(R"({"format": 2, "experiment": "mine", "points": ["a"]})")) == damaged);
  CHECK(complaint_about(sealed_text(R"({"format": 2, "experiment": "mine", "points": [], "command": 7})")) == damaged);
  CHECK(complaint_about(R"({"format": 1, "experiment": "of a program of before there were seals"})") ==
        ".: holds a run of another version of the program (its format is 1, not 2)");
  CHECK(complaint_about(sealed_text(R"({"format": "two"})")) ==
        ".: holds a run of another version of the program (its format is \"two\", not 2)");
  CHECK(complaint_about(R"({"name": "of something else"})") ==
        ".: holds no run: its manifest.json is not one of a run");
  std::string deep = R"({"format": )";
  for (int i = 0; i < 1'000'000; ++i) deep += "[";
  for (int i = 0; i < 1'000'000; ++i) deep += "]";
  CHECK(complaint_about(deep + "}") == ".: holds a run of another version of the program (its format is [[]], not 2)");
  const Sandbox sandbox;
  CHECK_FALSE(find_manifest(Folder::look_at(".")));
  sandbox.write("manifest.json", whole.substr(0, 40));
  CHECK_FALSE(find_manifest(Folder::look_at(".")));
  sandbox.write("manifest.json", whole);
  CHECK(find_manifest(Folder::look_at("."))->command == "run");
}
