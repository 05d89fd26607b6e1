// SPDX-License-Identifier: Apache-2.0
// Runs that go on where they ended, and what keeps them from it. By kill -9: tests/scripts/resume.sh.
#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "src/runs/seal.hpp"
#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::experiment;
using namespace faultline::runs;
using namespace faultline::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const std::string kAll = "6 of 6 points are there already\n";

std::vector<fs::path> points_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder / "points")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("a run goes on where it was, and its files are those of one that nobody disturbed") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "whole"}).code == 0);
  fs::copy("whole", "part", fs::copy_options::recursive);
  for (const char* file : {"results.json", "results.csv", "results.sqlite", "meta.json"})
    fs::remove(fs::path("part") / file);
  const auto points = points_in("part");
  REQUIRE(points.size() == 6);
  fs::remove(points[1]);
  fs::remove(points[4]);
  sandbox.write("part/points/.half.json.part", "{");  // what it was writing

  const Ran ran = faultline_program({"run", "sizes", "--out", "part"});
  CHECK(ran.code == 0);
  CHECK(ran.err == "4 of 6 points are there already\nrun folder: part\n");
  for (const char* file : {"results.json", "results.csv", "results.sqlite", "manifest.json", "effective.toml"}) {
    CHECK(read_text(fs::path("part") / file) == read_text(fs::path("whole") / file));
  }
  CHECK(points_in("part").size() == 6);
}

TEST_CASE("a complete run is shown again, nothing is simulated, and its figures stay; a profile is of a run") {
  const Sandbox sandbox;
  const Ran first = faultline_program({"run", "sizes", "--out", "o"});
  const std::string meta = read_text("o/meta.json");
  const Ran again = faultline_program({"run", "sizes", "--out", "o"});
  CHECK(again.out == first.out);
  CHECK(again.err == kAll + "run folder: o\n");
  CHECK(read_text("o/meta.json") == meta);
  // What has been damaged or removed since is there again.
  const std::string json = read_text("o/results.json");
  const std::string csv = read_text("o/results.csv");
  sandbox.write("o/results.json", json.substr(0, 500));
  fs::remove("o/results.csv");
  CHECK(faultline_program({"run", "sizes", "--out", "o"}).err == again.err);
  CHECK(read_text("o/results.json") == json);
  CHECK(read_text("o/results.csv") == csv);
  CHECK(read_text("o/meta.json") == meta);
  const Ran profiled = faultline_program({"run", "sizes", "--out", "o", "--profile"});
  CHECK(profiled.err.find("already") == std::string::npos);
  CHECK(Json::parse(read_text("o/meta.json")).contains("profile"));
}

TEST_CASE("of a changed experiment the points that have changed are simulated") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "axes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "o"}).code == 0);
  sandbox.write("mine.toml", "axes.workload.size = [\"4 KiB\", \"64 KiB\", \"64 B\"]\n");
  const std::string had = "o had other points; what is the same is used, its tables are replaced\n";
  CHECK(faultline_program({"run", "mine.toml", "--out", "o"}).err ==
        had + "2 of 3 points are there already\nrun folder: o\n");
  const Json results = Json::parse(read_text("o/results.json"));
  REQUIRE(results.size() == 3);
  CHECK(results[0].at("parameters").at("workload.size") == "4 KiB");
  // More seeds, too.
  sandbox.write("mine.toml", "repetitions = 2\naxes.workload.size = [\"4 KiB\", \"64 KiB\", \"64 B\"]\n");
  CHECK(faultline_program({"run", "mine.toml", "--out", "o"}).err ==
        had + "3 of 6 points are there already\nrun folder: o\n");
  // Another seed, or another value of any parameter, is another point: nothing is left of the run that was there.
  for (const std::vector<std::string>& other : {std::vector<std::string>{"--seed", "7"}, {"--set", "cpu.cores=2"}}) {
    std::vector<std::string> words{"run", "mine.toml", "--out", "o"};
    words.insert(words.end(), other.begin(), other.end());
    const Ran refused = faultline_program(words);
    CHECK(refused.code == 2);
    CHECK(refused.err ==
          "o: the run in it has none of these points, and its tables would be lost; name another folder with --out, or "
          "replace them with --replace\n");
    words.push_back("--replace");
    CHECK(faultline_program(words).err == had + "run folder: o\n");
  }
}

TEST_CASE("another experiment does not get a run's folder, finished or not, unless it is told to") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "axes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  sandbox.write("other.toml", "axes.workload.size = [\"64 B\", \"4 KiB\"]\n");  // the same points
  sandbox.write("there/mine.toml", "axes.workload.size = [\"1 B\"]\n");         // the same name
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "o"}).code == 0);
  const auto contents = [] {
    std::string all;
    for (const auto& entry : fs::recursive_directory_iterator("o"))
      all += entry.path().string() + (entry.is_regular_file() ? read_text(entry.path()) : "");
    return all;
  };
  const std::string end =
      ", and its tables would be lost; name another folder with --out, or replace them with --replace\n";
  const std::string damaged = "{\"form";
  for (const bool finished : {true, false}) {
    if (!finished) fs::remove("o/meta.json");
    const std::string before = contents();
    const Ran other = faultline_program({"run", "other.toml", "--out", "o"});
    CHECK(other.code == 2);
    CHECK(other.err == "o: the run in it is of the experiment 'mine'" + end);
    CHECK(faultline_program({"run", "there/mine.toml", "--out", "o"}).err ==
          "o: the run in it has none of these points" + end);
    CHECK(faultline_program({"run", "other.toml", "--out", "o", "--prepare"}).code == 2);
    CHECK(contents() == before);
  }
  // Where the manifest is damaged the points are what is known.
  const std::string manifest = read_text("o/manifest.json");
  sandbox.write("o/manifest.json", damaged);
  CHECK(faultline_program({"run", "there/mine.toml", "--out", "o"}).err ==
        "o: the run in it has none of these points" + end);
  CHECK(read_text("o/manifest.json") == damaged);
  CHECK(faultline_program({"run", "mine.toml", "--out", "o", "--quiet"}).code == 0);
  CHECK(read_text("o/manifest.json") == manifest);

  CHECK(faultline_program({"run", "other.toml", "--out", "o", "--replace"}).code == 0);
  CHECK(read_text("o/manifest.json").find("\"other\"") != std::string::npos);
  CHECK(faultline_program({"run", "other.toml", "--replace"}).err.starts_with("--replace: needs --out FOLDER"));
  CHECK_FALSE(fs::exists("runs"));
  // Points that were replaced do not count, though their files are there.
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "o", "--replace"}).code == 0);
  REQUIRE(faultline_program({"run", "there/mine.toml", "--out", "o", "--replace"}).code == 0);
  CHECK(faultline_program({"run", "mine.toml", "--out", "o"}).err == "o: the run in it has none of these points" + end);
}

TEST_CASE("a run of another build of the program goes on with the same points, and is kept from other ones") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "axes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  sandbox.write("there/mine.toml", "axes.workload.size = [\"1 B\"]\n");
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "o"}).code == 0);
  auto manifest = *unsealed_json(read_text("o/manifest.json"));
  manifest["build"] = "0123";
  for (auto& point : manifest["points"]) point["id"] = "0123" + point["id"].get<std::string>();
  sandbox.write("o/manifest.json", sealed_json(manifest, 1));
  CHECK(faultline_program({"run", "there/mine.toml", "--out", "o"}).code == 2);
  CHECK(faultline_program({"run", "mine.toml", "--out", "o"}).code == 0);
}

TEST_CASE("without --out an unfinished run of the same points goes on, and a finished one is left alone") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes"}).err == "run folder: runs/sizes-1\n");
  REQUIRE(faultline_program({"run", "sizes"}).err == "run folder: runs/sizes-2\n");
  CHECK(faultline_program({"run", "sizes", "--quiet"}).code == 0);
  fs::remove_all("runs/sizes-3");
  // Killed when all points were there, and the tables were not.
  fs::remove("runs/sizes-2/meta.json");
  CHECK(faultline_program({"run", "sizes"}).err == kAll + "run folder: runs/sizes-2\n");
  fs::remove(points_in("runs/sizes-2")[3]);
  CHECK(faultline_program({"run", "sizes", "--seed", "2"}).err == "run folder: runs/sizes-3\n");
  fs::remove_all("runs/sizes-3");
  CHECK(faultline_program({"run", "sizes"}).err == "5 of 6 points are there already\nrun folder: runs/sizes-2\n");
  CHECK(faultline_program({"run", "sizes"}).err == "run folder: runs/sizes-3\n");
}

TEST_CASE("each result is read once when a run goes on, and a worker that finds nothing to do looks at it once") {
  const Sandbox sandbox;
  std::string sizes;
  for (int i = 1; i <= 40; ++i) sizes += (i == 1 ? "\"" : ", \"") + std::to_string(64 * i) + " B\"";
  const std::string file = sandbox.write("mine.toml", "axes.workload.size = [" + sizes + "]\n");
  REQUIRE(faultline_program({"run", file, "--out", "o", "--quiet"}).code == 0);
  for (const fs::path& point : points_in("o")) {  // large, so that what else is read counts for little
    auto json = *unsealed_json(read_text(point));
    json["result"]["notes"] = {std::string(200'000, 'n')};
    sandbox.write(point, sealed_json(json, -1));
  }
  fs::remove("o/results.sqlite");  // it has none of that
  REQUIRE(faultline_program({"run", file, "--out", "o", "--quiet"}).code == 0);
  // Bytes that this process has read so far (proc(5): rchar).
  const auto bytes_read = [] {
    std::string name;
    double count = 0;
    std::ifstream("/proc/self/io") >> name >> count;
    REQUIRE(name == "rchar:");
    return count;
  };
  const auto of_a_command = [&](const std::vector<std::string>& words) {
    const double before = bytes_read();
    CHECK(faultline_program(words).code == 0);
    return (bytes_read() - before) / (40 * 200'000);
  };
  // A run that is at its end compares its tables as well: results.json is as large as all points, the database, too.
  CHECK(of_a_command({"run", file, "--out", "o", "--quiet"}) == Approx(3).margin(0.4));
  fs::remove("o/meta.json");
  CHECK(of_a_command({"run", file, "--out", "o", "--quiet", "--prepare"}) == Approx(1).margin(0.2));
  CHECK(of_a_command({"worker", "o", "--quiet"}) == Approx(1).margin(0.2));
}

TEST_CASE("effective.toml is simulated as it was written, or not at all") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "axes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "o"}).code == 0);
  const std::string written = read_text("o/effective.toml");
  const auto run = [](const std::string& file) {
    return faultline_program({"run", file, "--out", "p", "--quiet", "--replace"});
  };
  CHECK(run("o/effective.toml").code == 0);
  CHECK(run(sandbox.write("copy.toml", written)).code == 0);
  std::string changed = written;
  changed.replace(changed.find("\"4 KiB\""), 7, "\"8 KiB\"");
  const std::string end =
      ": is damaged, or was changed since 'faultline run' wrote it; a copy with another name, without the line "
      "'# checksum ...', is an experiment like any\n";
  const std::string without_seal = changed.substr(0, changed.rfind("# checksum "));
  for (const std::string& text : {changed, without_seal, written.substr(0, written.size() - 1)}) {
    sandbox.write("o/effective.toml", text);
    for (const char* command : {"run", "config", "sensitivity"}) {
      const Ran refused = faultline_program({command, "o/effective.toml"});
      CHECK(refused.code == 2);
      CHECK(refused.err == "o/effective.toml" + end);
    }
  }
  CHECK(run(sandbox.write("copy.toml", changed)).err == "copy.toml" + end);
  CHECK(run(sandbox.write("copy.toml", without_seal)).code == 0);
}

TEST_CASE("a damaged note of a Slurm job does not let a second one be submitted") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "axes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "o", "--prepare"}).code == 0);
  sandbox.write("o/slurm.json", sealed_json({{"job", "12"}, {"tasks", 1}}, -1).replace(9, 1, "7"));
  const Ran ran = faultline_program({"run", "o", "--on", "slurm"});
  CHECK(ran.code == 2);
  CHECK(ran.err.starts_with("o/slurm.json: is damaged: which Slurm job is at work in this folder is not known"));
}

TEST_CASE("a result that is damaged, not this point's, or that the host is to blame for, is simulated again") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  const std::string results = read_text("o/results.json");
  const auto points = points_in("o");
  sandbox.write(points[0], "");
  sandbox.write(points[1], "{\"status\": \"complete\"}");
  nlohmann::ordered_json failed = *unsealed_json(read_text(points[2]));
  failed["status"] = "host failed";
  sandbox.write(points[2], sealed_json(failed, -1));
  fs::copy_file(points[4], points[3], fs::copy_options::overwrite_existing);
  const std::string told = faultline_program({"run", "sizes", "--out", "o"}).err;
  CHECK(told.starts_with("2 of 6 points are there already\n"));
  for (const int i : {0, 1, 3})
    CHECK(told.find(points[i].string() + ": was damaged; its point is simulated again\n") != std::string::npos);
  CHECK(told.find(points[2].string()) == std::string::npos);
  CHECK(read_text("o/results.json") == results);
}

TEST_CASE("a file of a complete run that is missing is written again from its points") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  for (const char* file : {"o/effective.toml", "o/results.json", "o/results.csv", "o/results.sqlite", "o/meta.json"}) {
    INFO(file);
    const std::string before = read_text(file);
    fs::remove(file);
    const Ran ran = faultline_program({"run", "sizes", "--out", "o"});
    CHECK(ran.code == 0);
    CHECK(ran.err.find("6 of 6 points are there already") != std::string::npos);
    if (std::string(file) != "o/meta.json") CHECK(read_text(file) == before);
    CHECK(fs::exists(file));
  }
}

TEST_CASE("a run that goes on by its folder's name is that which the folder was made for") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  const std::string results = read_text("o/results.json");
  sandbox.write("o/effective.toml", "");
  const Ran ran = faultline_program({"run", "o"});
  CHECK(ran.code == 2);
  CHECK(
      ran.err ==
      "o/effective.toml: is damaged, or was changed; 'faultline run' of its experiment with --out o writes it again\n");
  // Whole, and another run's.
  REQUIRE(faultline_program({"run", "sizes", "--out", "other", "--seed", "7"}).code == 0);
  fs::copy_file("other/effective.toml", "o/effective.toml", fs::copy_options::overwrite_existing);
  CHECK(
      faultline_program({"run", "o"}).err.find("o: its effective.toml does not give the points of its manifest.json") ==
      0);
  CHECK(read_text("o/results.json") == results);
}

TEST_CASE("a dry run knows of a point that it has to end how far that was") {
  class Long : public FakeSimulator {
   public:
    std::unique_ptr<Machine> machine() const override {
      class LongMachine : public FakeMachine {
       public:
        workloads::PointResult run(std::uint64_t, const workloads::Watch& watch) override {
          workloads::Totals totals;
          totals.seconds_in_all = 60;
          watch.heartbeat(totals);
          std::this_thread::sleep_for(std::chrono::hours(1));
          return {};
        }
      };
      return std::make_unique<LongMachine>();
    }
  };
  const Sandbox sandbox;
  sandbox.write("one.toml", "strategies = [\"resident\"]\n");
  std::ostringstream out, err;
  CHECK(run_application({"run", "one.toml", "--dry-run", "--configs", test_configs().string()}, Long{},
                        Console{out, err, false, 160}) == 0);
  INFO(out.str());
  CHECK(out.str().find(": about 1:00 and about ") != std::string::npos);
  CHECK(out.str().find("\n(1 of them ended after 5 s: what they take is estimated by how far they were)\n") !=
        std::string::npos);
}

TEST_CASE("a dry run says what would be simulated and how long that may take, and leaves nothing") {
  const Sandbox sandbox;
  const Ran ran = faultline_program({"run", "sizes", "--dry-run", "-j", "2"});
  CHECK(ran.code == 0);
  CHECK(ran.out.find("6 points:\n  resident, workload.size = 64 B\n  resident, workload.size = 4 KiB\n") !=
        std::string::npos);
  CHECK(ran.out.find("workload.iterations = 10 ") != std::string::npos);
  CHECK(ran.out.find("\n5 of them took 0.0") != std::string::npos);
  CHECK(ran.out.find("\nall of them, 2 at a time: about 0:00 and about ") != std::string::npos);
  CHECK(fs::is_empty("."));
  sandbox.write("many.toml", "repetitions = 20\n");
  CHECK(faultline_program({"run", "many.toml", "--dry-run"}).out.find("  ... and 8 more (--verbose prints all)\n") !=
        std::string::npos);
  sandbox.write("bad.toml", "parameters.workload.label = \"bug\"\n");
  const Ran bad = faultline_program({"run", "bad.toml", "--dry-run"});
  CHECK(bad.code == 2);
  CHECK(bad.err == "a point failed: exception: the queue is longer than itself\n");
}

TEST_CASE("status says how far a run is, what failed and why, and whether somebody is at work") {
  const Sandbox sandbox;
  sandbox.write(
      "mine.toml",
      "repetitions = 3\nparameters.workload.label = \"fails at 2\"\naxes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "o"}).code == 3);
  for (const fs::path& point : points_in("o")) {
    if (read_text(point).find("\"status\":\"complete\"") == std::string::npos) continue;
    fs::remove(point);
    break;
  }
  const std::string failed = "exception: the queue is longer than itself\n";
  CHECK(faultline_program({"status", "o"}).out ==
        "o: 6 points: 2 bug, 3 complete, 1 to do; no run is at work in it\n"
        "default, workload.size = 64 B, seed 2: " +
            failed + "default, workload.size = 4 KiB, seed 2: " + failed);
  const Json json = Json::parse(faultline_program({"status", "o", "--format", "json"}).out);
  CHECK(json.at("points") == 6);
  CHECK(json.at("by_status").at("complete") == 3);
  {
    const Folder held = Folder::open("o", "", [](const Folder&) { return true; });
    CHECK(faultline_program({"status", "o"}).out.find("a run is at work in it\n") != std::string::npos);
  }
  CHECK(faultline_program({"status", "."}).err == ".: holds no run: it has no manifest.json\n");
  sandbox.write("other/manifest.json", "{\"format\": 99}");
  const std::string other = "other: holds a run of another version of the program (its format is 99, not 2)\n";
  CHECK(faultline_program({"status", "other"}).err == other);
  CHECK(faultline_program({"run", "other"}).err == other);
  sandbox.write("other/manifest.json", "{\"name\": \"of something else\"}");
  CHECK(faultline_program({"run", "other"}).err == "other: holds no run: its manifest.json is not one of a run\n");
  // A pipe in a result's place is none, and is not waited for.
  const fs::path first = points_in("o")[0];
  fs::remove(first);
  REQUIRE(mkfifo(first.c_str(), 0600) == 0);
  CHECK(faultline_program({"status", "o"}).out.find(" 2 to do;") != std::string::npos);
  CHECK(faultline_program({"status", "none"}).err == "none: no such folder\n");
  CHECK(faultline_program({"status"}).err.find("'faultline status' needs a run folder") != std::string::npos);
}
