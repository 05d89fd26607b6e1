// SPDX-License-Identifier: Apache-2.0
// --repetitions: as many seeds a combination as the command line asks for, in a new folder or one that has some.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const std::string kNoisy =
    "seed = 5\nparameters.workload.label = \"noisy\"\naxes.workload.size = [\"64 B\", \"4 KiB\"]\nreport = "
    "\"points\"\n";

std::size_t kept_points(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder / "points"), fs::directory_iterator{}));
}

std::string with_repetitions(unsigned count) { return "repetitions = " + std::to_string(count) + "\n" + kNoisy; }

bool has_the_files_of(const fs::path& folder, const fs::path& other) {
  for (const char* file : {"results.json", "results.csv", "results.sqlite", "manifest.json", "effective.toml"}) {
    if (read_text(folder / file) != read_text(other / file)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("the option --repetitions does what the experiment's own key does, and wins over it") {
  const Sandbox sandbox;
  sandbox.write("one/mine.toml", with_repetitions(3));
  sandbox.write("two/mine.toml", kNoisy);
  sandbox.write("three/mine.toml", with_repetitions(2));
  const Ran own = faultline_program({"run", "one/mine.toml", "--out", "one/o"});
  REQUIRE(own.code == 0);
  CHECK(own.out.find("seed 5 to 7") != std::string::npos);
  for (const std::string folder : {"two", "three"}) {
    const Ran asked = faultline_program({"run", folder + "/mine.toml", "--repetitions", "3", "--out", folder + "/o"});
    CHECK(asked.out == own.out);
    CHECK(Json::parse(read_text(folder + "/o/results.json")).size() == 6);
    for (const char* file : {"results.json", "results.csv"})
      CHECK(read_text(folder + "/o/" + file) == read_text(std::string("one/o/") + file));
  }
}

TEST_CASE("more repetitions in a folder simulate what it lacks, and leave the files of a run that had them at once") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", kNoisy);
  REQUIRE(faultline_program({"run", "mine.toml", "--repetitions", "3", "--out", "whole"}).code == 0);
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "o"}).code == 0);
  const Ran more = faultline_program({"run", "mine.toml", "--repetitions", "3", "--out", "o"});
  CHECK(more.code == 0);
  CHECK(more.err ==
        "o had other points; what is the same is used, its tables are replaced\n2 of 6 points are there already\nrun "
        "folder: o\n");
  CHECK(has_the_files_of("o", "whole"));
  // By the folder alone, and fewer again: what is there stays.
  const Ran by_name = faultline_program({"run", "o", "--repetitions", "4"});
  CHECK(by_name.err.find("6 of 8 points are there already\n") != std::string::npos);
  CHECK(kept_points("o") == 8);
  const Ran fewer = faultline_program({"run", "o", "--repetitions", "1"});
  CHECK(fewer.err.find("2 of 2 points are there already\n") != std::string::npos);
  CHECK(Json::parse(read_text("o/results.json")).size() == 2);
  CHECK(kept_points("o") == 8);
  CHECK(read_text("o/effective.toml").find("repetitions") == std::string::npos);
  // A run that goes on without the option has what the folder says.
  const Ran again = faultline_program({"run", "o"});
  CHECK(again.err.find("2 of 2 points are there already\n") != std::string::npos);
}

TEST_CASE("whatever plans points takes --repetitions") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", kNoisy);
  CHECK(faultline_program({"run", "mine.toml", "--repetitions", "3", "--dry-run"}).out.find("6 points:\n") !=
        std::string::npos);
  CHECK(faultline_program({"config", "mine.toml", "--repetitions", "3"})
            .out.starts_with("# point 1 of 6: default, workload.size = 64 B, seed 5\n"));
  const auto planned = [](const char* repetitions) {
    const std::string out =
        faultline_program({"sensitivity", "mine.toml", "--repetitions", repetitions, "--dry-run"}).out;
    const std::size_t at = out.find(" points:\n");
    REQUIRE(at != std::string::npos);
    return std::stoul(out.substr(out.rfind('\n', at) == std::string::npos ? 0 : out.rfind('\n', at) + 1));
  };
  CHECK(planned("3") == 3 * planned("1"));
}

TEST_CASE("a number of repetitions that is none is refused, as are seeds beyond the greatest") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", kNoisy);
  const std::string allowed = "'; allowed: a whole number from 1 to 10000\n";
  for (const char* wrong : {"0", "-1", "10001", "three", "1.5", ""}) {
    const Ran ran = faultline_program({"run", "mine.toml", std::string("--repetitions=") + wrong, "--out", "o"});
    INFO(ran.err);
    CHECK(ran.code == 2);
    CHECK((ran.err == "--repetitions: '" + (wrong + allowed) || *wrong == '\0'));
    CHECK_FALSE(fs::exists("o"));
  }
  const Ran beyond =
      faultline_program({"run", "mine.toml", "--repetitions", "2", "--seed", "9007199254740991", "--out", "o"});
  CHECK(beyond.code == 2);
  CHECK(beyond.err.find("allowed: up to 9007199254740991") != std::string::npos);
  CHECK(faultline_program({"run", "mine.toml", "--repetitions", "10", "--max-points", "19", "--out", "o"})
            .err.find("more than 19 points") != std::string::npos);
}
