// SPDX-License-Identifier: Apache-2.0
// Damage to the files of a run is never believed: whatever reads them says what it says of the undamaged run, or which
// file is damaged and what to do; and the same run makes it whole again.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <random>

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

const std::vector<std::vector<std::string>> kReaders{{"status", "o", "--format", "json"},
                                                     {"query", "o", "latency_mean", "faults"},
                                                     {"query", "o", "--sql", "SELECT * FROM points"},
                                                     {"diff", "o", "whole"},
                                                     {"worker", "o", "--quiet"},
                                                     {"report", "o", "--out", "page.html"}};

const std::vector<std::string> kSame{"results.json", "results.csv", "results.sqlite", "manifest.json",
                                     "effective.toml"};

struct Told {
  int code;
  std::string out;
  std::string err;
  std::string page;
  bool operator==(const Told&) const = default;
};

// What a command says and leaves, of an undamaged folder the same each time.
Told told_by(const std::vector<std::string>& command) {
  fs::remove("page.html");
  const Ran ran = faultline_program(command);
  return {ran.code, ran.out, ran.err, read_text("page.html")};
}

// One line that begins with the file, says what is wrong with it, and what to do.
bool is_refusal(const std::string& line, const std::string& file) {
  const auto has = [&](const char* words) { return line.find(words) != std::string::npos; };
  const bool is_one_line = line.find('\n') == line.size() - 1;
  const bool says_what = has("is damaged") || has("is no database") || has("has schema version");
  return line.starts_with(file + ": ") && is_one_line && says_what && has("'faultline run");
}

// What is told of a damaged file, and that nothing is told beside: no figure of it, no page.
void check_told(const std::string& command, const std::string& file, const Told& told, const Told& undamaged) {
  const bool is_point = file.starts_with("o/points/");
  CHECK(told.page.empty());
  if (command == "status" && is_point) {
    Json expected = Json::parse(undamaged.out);
    expected["damaged"] = {file};
    expected["ended"] = expected.at("ended").get<int>() - 1;
    expected["by_status"]["complete"] = expected.at("ended");
    CHECK(told.code == 0);
    CHECK(told.err.empty());
    CHECK(Json::parse(told.out) == expected);
  } else if (command == "worker" && is_point) {
    CHECK(told.code == 0);
    CHECK(told.out.empty());
    CHECK(told.err == file + ": was damaged; its point is simulated again\n");
    CHECK(unsealed_json(read_text(file)));
  } else {
    CHECK(told.code == 2);
    CHECK(told.out.empty());
    CHECK(is_refusal(told.err, file));
  }
}

// Prints what the first run has printed, whatever was damaged.
void make_again(const std::string& printed) {
  const Ran ran = faultline_program({"run", "mine.toml", "--out", "o", "--quiet"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(ran.out == printed);
  for (const std::string& file : kSame) {
    INFO(file);
    CHECK(read_text("o/" + file) == read_text("whole/" + file));
  }
  for (const auto& point : fs::directory_iterator("whole/points"))
    CHECK(unsealed_json(read_text(fs::path("o/points") / point.path().filename())));
}

}  // namespace

TEST_CASE("damage to a file of a run is never believed and the same run makes it whole again") {
  const Sandbox sandbox;
  sandbox.write("mine.toml",
                "repetitions = 2\nparameters.workload.label = \"noisy\"\naxes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  const Ran first = faultline_program({"run", "mine.toml", "--out", "whole"});
  REQUIRE(first.code == 0);
  fs::copy("whole", "o", fs::copy_options::recursive);
  std::vector<Told> undamaged;
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
      std::size_t readers = 0;  // that have told
      for (std::size_t i = 0; i < kReaders.size(); ++i) {
        const Told told = told_by(kReaders[i]);
        INFO(file << ", byte " << at << ", bit " << bit << ", round " << round << ": faultline " << kReaders[i][0]
                  << "\n"
                  << told.err << told.out);
        // Who does not read the file says what it says of the undamaged one.
        if (!(told == undamaged[i])) {
          ++readers;
          check_told(kReaders[i][0], file, told, undamaged[i]);
        }
        sandbox.write(file, damaged);  // a worker may have made it whole
      }
      INFO(file << ", byte " << at << ", bit " << bit << ", round " << round);
      CHECK((readers > 0 || name == "results.csv"));  // which nobody reads
      make_again(first.out);
    }
  }
}
