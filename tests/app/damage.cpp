// SPDX-License-Identifier: Apache-2.0
// Damage to the files of a run is never believed: whatever reads them says what it says of the undamaged run, or which
// file is damaged and what to do; and the same run makes it whole again.
#include <catch2/catch.hpp>

#include <random>

#include "tests/app/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::experiment;
using namespace faultline::runs;
using namespace faultline::test;
namespace fs = std::filesystem;

namespace {

const std::vector<std::vector<std::string>> kReaders{{"status", "o", "--format", "json"},
                                                     {"query", "o", "latency_mean", "faults"},
                                                     {"query", "o", "--sql", "SELECT * FROM points"},
                                                     {"diff", "o", "whole"},
                                                     {"worker", "o", "--quiet"},
                                                     {"report", "o", "--out", "page.html"}};

const std::vector<std::string> kSame{"results.json", "results.csv", "results.sqlite", "manifest.json",
                                     "effective.toml"};

// What a command says and leaves, of an undamaged folder the same each time.
std::string told_by(const std::vector<std::string>& command) {
  fs::remove("page.html");
  const Ran ran = faultline_program(command);
  return std::to_string(ran.code) + "\n" + ran.out + read_text("page.html");
}

void make_again() {
  const Ran ran = faultline_program({"run", "mine.toml", "--out", "o", "--quiet"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  for (const std::string& file : kSame) {
    INFO(file);
    CHECK(read_text("o/" + file) == read_text("whole/" + file));
  }
  for (const auto& point : fs::directory_iterator("whole/points"))
    CHECK(read_text(fs::path("o/points") / point.path().filename()).size() > 100);
}

}  // namespace

TEST_CASE("damage to a file of a run is never believed and the same run makes it whole again") {
  const Sandbox sandbox;
  sandbox.write("mine.toml",
                "repetitions = 2\nparameters.workload.label = \"noisy\"\naxes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "whole"}).code == 0);
  fs::copy("whole", "o", fs::copy_options::recursive);
  std::vector<std::string> undamaged;
  for (const auto& command : kReaders) undamaged.push_back(told_by(command));
  fs::remove_all("o/logs");

  std::vector<std::string> files = kSame;
  files.push_back("meta.json");
  files.push_back("points/" + fs::directory_iterator("whole/points")->path().filename().string());
  std::mt19937 dice(20);  // NOLINT: the same damage each time
  for (const std::string& name : files) {
    const std::string file = "o/" + name;
    for (int round = 0; round < 12; ++round) {
      const std::string whole = read_text(file);
      std::string damaged = whole;
      const std::size_t at = dice() % whole.size();
      const unsigned bit = dice() % 8;
      const std::size_t digit = whole.find_first_of("0123456789", at);
      if (round % 4 == 0) {
        damaged.resize(at);
      } else if (round % 4 == 1 && digit != std::string::npos) {
        damaged[digit] = whole[digit] == '7' ? '3' : '7';
      } else {
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      }
      sandbox.write(file, damaged);
      for (std::size_t i = 0; i < kReaders.size(); ++i) {
        INFO(file << ", byte " << at << ", bit " << bit << ", round " << round << ": faultline " << kReaders[i][0]);
        fs::remove("page.html");
        const Ran ran = faultline_program(kReaders[i]);
        const bool is_told = (ran.out + ran.err).find(file + ": ") != std::string::npos ||
                             ran.out.find('"' + file + '"') != std::string::npos;
        CHECK((is_told || std::to_string(ran.code) + "\n" + ran.out + read_text("page.html") == undamaged[i]));
        CHECK(ran.code != 3);
        sandbox.write(file, damaged);  // a worker may have made it whole
      }
      make_again();
    }
  }
}
