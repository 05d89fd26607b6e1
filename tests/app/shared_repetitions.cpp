// SPDX-License-Identifier: Apache-2.0
// Repetitions of points that draw nothing: one run stands for all of them, and is told as one.
#include <catch2/catch.hpp>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

// Two combinations of three seeds each, of which one draws.
const std::string kHalf =
    "repetitions = 3\naxes.workload.label = [\"exact\", \"noisy\"]\nparameters.workload.size = \"4 KiB\"\n";
const std::string kTold = "1 of 2 combinations draw no random number: one run of each stands for all 3 repetitions";

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::string results_of(const std::string& folder) {
  return read_text(fs::path(folder) / "results.json") + read_text(fs::path(folder) / "results.csv");
}

}  // namespace

TEST_CASE("of a point that draws nothing one repetition runs, and that is told once") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", kHalf);
  const Ran ran = faultline_program({"run", "mine.toml", "--out", "o", "-j", GENERATE("1", "4")});
  INFO(ran.err);
  CHECK(ran.code == 0);
  CHECK(files_in("o/points") == 4);
  CHECK(ran.out.find("(" + kTold + ")") != std::string::npos);
  CHECK(ran.out.find("of fewer") == std::string::npos);
  const Json meta = Json::parse(read_text("o/meta.json"));
  CHECK(meta.at("points_complete") == 6);
  CHECK(meta.at("points_shared") == 2);
  CHECK(meta.at("each_point").size() == 4);
  const Json results = Json::parse(read_text("o/results.json"));
  REQUIRE(results.size() == 6);
  for (const Json& point : results)
    CHECK(point.at("draws") == (point.at("parameters").at("workload.label") != "exact"));
  const Ran status = faultline_program({"status", "o"});
  CHECK(status.out.find("6 points: 6 complete, 0 to do") != std::string::npos);
  CHECK(status.out.find(kTold + "\n") != std::string::npos);
  // Nothing is left to do, and a run that lost a file goes on.
  CHECK(faultline_program({"run", "mine.toml", "--out", "o"}).err.find("6 of 6 points are there already\n") == 0);
}

TEST_CASE("points that draw nothing have no interval, and no difference of theirs is significant or not") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", kHalf);
  sandbox.write("other.toml", kHalf + "parameters.network.internal_latency = \"130 ns\"\n");
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "a"}).code == 0);
  REQUIRE(faultline_program({"run", "other.toml", "--out", "b"}).code == 0);
  const auto ask = [](const std::string& sql) { return faultline_program({"query", "a", "--sql", sql}).out; };
  CHECK(ask("SELECT draws, measured FROM combinations").find("0         1") != std::string::npos);
  const Ran csv = faultline_program({"diff", "a", "b", "latency_mean", "--format", "csv"});
  CHECK(csv.out.find(",1,") != std::string::npos);
  CHECK(csv.out.find(",exact,") != std::string::npos);
  const Ran diff = faultline_program({"diff", "a", "b", "latency_mean"});
  CHECK(diff.out.find("(exact: ") != std::string::npos);
  const Json json = Json::parse(faultline_program({"diff", "a", "b", "latency_mean", "--format", "json"}).out);
  const Json& exact = json.at("metrics").at(0);
  CHECK(exact.at("a").at("exact") == true);
  CHECK(exact.at("a").at("seeds") == 1);
  CHECK(exact.at("a").at("half_width").is_null());
  CHECK(exact.at("beyond_noise").is_null());
  const Json rows = Json::parse(faultline_program({"query", "a", "latency_mean", "--format", "json"}).out);
  CHECK(rows.at(0).at("points") == 1);
  CHECK(rows.at(0).at("half_width").is_null());
  CHECK(rows.at(1).at("points") == 3);
  CHECK(rows.at(1).at("half_width") > 0);
}

TEST_CASE("status counts what a later repetition stands for where the first is lost") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "repetitions = 3\nparameters.workload.label = \"exact\"\n");
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "o"}).code == 0);
  runs::Folder folder = runs::Folder::look_at("o");
  std::vector<experiment::Point> points(3);
  const Json manifest = Json::parse(read_text("o/manifest.json"));
  for (std::size_t i = 0; i < points.size(); ++i) points[i].id = manifest.at("points").at(i).at("id");
  runs::PointStore store(folder, points);
  store.keep(1, *result_in(folder, points[0].id).outcome);
  runs::PointOutcome lost;
  lost.status = runs::PointStatus::host_failed;
  store.keep(0, lost);
  CHECK(faultline_program({"status", "o"})
            .out.find("\n1 of 1 combinations draw no random number: one run of each stands for all 3") !=
        std::string::npos);
}

TEST_CASE("shared results are the same bytes by workers, after an end in the midst, and with a lost file") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", kHalf);
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "alone"}).code == 0);
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "o", "--prepare"}).code == 0);
  CHECK(faultline_program({"worker", "o", "-j", "3"}).err.ends_with(": 4 points simulated\n"));
  CHECK(faultline_program({"worker", "o"}).err.ends_with(": 0 points simulated\n"));
  CHECK(faultline_program({"run", "o"}).err.find("6 of 6 points are there already\n") == 0);
  CHECK(results_of("o") == results_of("alone"));
  const Json points = Json::parse(read_text("o/manifest.json")).at("points");
  const auto file = [&](std::size_t i) {
    return fs::path("o/points") / (points.at(i).at("id").get<std::string>() + ".json");
  };
  REQUIRE(fs::exists(file(0)));
  fs::remove(file(0));
  const Ran again = faultline_program({"run", "o"});
  CHECK(again.err.find("3 of 6 points are there already\n") == 0);
  CHECK(files_in("o/points") == 4);
  CHECK(results_of("o") == results_of("alone"));
}
