// SPDX-License-Identifier: Apache-2.0
// Whose a run folder is: one run's at a time, of one version, and what somebody else has put there stays.
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::runs;
using namespace faultline::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

TEST_CASE("a folder is not prepared for other points while it has tables") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  const std::string results = read_text("o/results.json");
  const Ran refused = faultline_program({"run", "sizes", "--out", "o", "--seed", "2", "--prepare"});
  CHECK(refused.code == 2);
  CHECK(refused.err.starts_with("o: the run in it has none of these points"));
  const Ran fewer = faultline_program({"run", "sizes", "--out", "o", "--set", "workload.size=\"64 B\"", "--prepare"});
  CHECK(fewer.code == 2);
  CHECK(fewer.err ==
        "o: --prepare: has other points, whose tables would be lost; name another folder with --out, or replace them "
        "with --replace\n");
  CHECK(read_text("o/results.json") == results);
  CHECK(faultline_program({"run", "sizes", "--out", "o", "--prepare"}).code == 0);
  CHECK(read_text("o/results.json") == results);
}

TEST_CASE("two runs are not at work in one folder") {
  const Sandbox sandbox;
  const auto ours = [](const Folder&) { return true; };
  const Folder held = Folder::open("", "sizes", ours);
  CHECK(held.path() == "runs/sizes-1");
  CHECK(faultline_program({"run", "sizes"}).err == "run folder: runs/sizes-2\n");
  fs::copy("runs/sizes-2/manifest.json", "runs/sizes-1/manifest.json");
  const Ran refused = faultline_program({"run", "sizes", "--out", "runs/sizes-1"});
  CHECK(refused.code == 2);
  CHECK(refused.err == "runs/sizes-1: another run is at work in it\n");
}

TEST_CASE("a run goes on though the point of one that was killed has not let go of the folder yet") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  std::optional<NamedLocks> killed = NamedLocks::in("o/.locks");
  REQUIRE(killed->take(Folder::kRun));
  const pid_t point = fork();
  if (point == 0) {  // has its parent's descriptor, and with it the lock
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    _exit(0);
  }
  killed.reset();
  CHECK(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  REQUIRE(waitpid(point, nullptr, 0) == point);
}

TEST_CASE("a folder of another version is not touched; a list of points that is damaged is written again") {
  const Sandbox sandbox;
  fs::create_directory("o");
  sandbox.write("o/manifest.json", "{\"format\": 99}");
  const Ran other = faultline_program({"run", "sizes", "--out", "o"});
  CHECK(other.code == 2);
  CHECK(other.err ==
        "o: --out: holds a run of another version of the program (its format is not 2); name a new folder\n");
  CHECK(read_text("o/manifest.json") == "{\"format\": 99}");
  for (const char* command : {"status", "report"}) {
    CHECK(faultline_program({command, "o"}).err ==
          "o: holds a run of another version of the program (its format is 99, not 2)\n");
  }

  REQUIRE(faultline_program({"run", "sizes", "--out", "mine"}).code == 0);
  const std::string list = read_text("mine/manifest.json");
  sandbox.write("mine/manifest.json", "{\"form");
  CHECK(faultline_program({"run", "sizes", "--out", "mine", "--quiet"}).code == 0);
  CHECK(read_text("mine/manifest.json") == list);
  // Without --out an older one is left alone.
  fs::create_directories("runs/sizes-7");
  sandbox.write("runs/sizes-7/manifest.json", "{\"format\": 99}");
  CHECK(faultline_program({"run", "sizes"}).err == "run folder: runs/sizes-8\n");
}

TEST_CASE("somebody else's files are neither taken for a run's nor removed") {
  const Sandbox sandbox;
  fs::create_directory("o");
  sandbox.write("o/film.iso.part", "half a film");
  CHECK(faultline_program({"run", "sizes", "--out", "o"}).code == 2);
  CHECK(fs::exists("o/film.iso.part"));
  REQUIRE(faultline_program({"run", "sizes", "--out", "mine"}).code == 0);
  sandbox.write("mine/film.iso.part", "half a film");
  REQUIRE(faultline_program({"run", "sizes", "--out", "mine", "--seed", "2", "--replace"}).code == 0);
  CHECK(fs::exists("mine/film.iso.part"));
}

TEST_CASE("where results cannot be kept the run stops, shows what it has, and says why") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  fs::remove_all("o/points");
  sandbox.write("o/points", "in the way");
  const Ran ran = faultline_program({"run", "sizes", "--out", "o", "-j", "1"});
  CHECK(ran.code == 2);
  CHECK(ran.out.find("* latency_mean: ") == std::string::npos);  // of one point nobody is first
  CHECK(ran.out.find("  not run ") != std::string::npos);
  CHECK(ran.err.find("cannot be written: Not a directory") != std::string::npos);
  CHECK(Json::parse(read_text("o/results.json")).size() == 1);
}

TEST_CASE("a run whose folder is removed meanwhile stops, and makes none anew") {
  const Sandbox sandbox;
  sandbox.write("mine.toml",
                "parameters.workload.label = \"removes the run\"\naxes.workload.size = [\"1 B\", \"2 B\"]\n");
  const std::string told =
      "o: its manifest.json is gone: somebody has removed the run folder, or moved it; the points end here\n";
  const Ran ran = faultline_program({"run", "mine.toml", "--out", "o", "-j", "1"});
  CHECK(ran.code == 2);
  CHECK(ran.err == told);
  CHECK_FALSE(fs::exists("o"));
  // Nor does the last point's end make one.
  const Ran last = faultline_program({"run", "mine.toml", "--out", "o", "-j", "1", "--set", "workload.size=1 B"});
  CHECK(last.code == 2);
  CHECK_FALSE(fs::exists("o"));
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "o", "--prepare"}).code == 0);
  const Ran worker = faultline_program({"worker", "o"});
  CHECK(worker.code == 2);
  CHECK(worker.err == told);
  CHECK_FALSE(fs::exists("o"));
}
