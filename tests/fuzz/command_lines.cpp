// SPDX-License-Identifier: Apache-2.0
// Command lines that nobody would type: words of the program's own, some with a byte changed, in any order.
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>

#include "src/command_table.hpp"
#include "tests/fuzz/cases.hpp"
#include "tests/fuzz/mutation.hpp"
#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::test;
namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

const Words kCommands{"run",    "worker", "sensitivity", "status",   "query", "diff",    "list",
                      "report", "config", "help",        "validate", "plot",  "explain", "quiz"};

// Which words there are: files, figures and values that some options take; and what the help of each command shows of
// options.
struct Vocabulary {
  Words words;
  std::map<std::string, Words> options;
};

Vocabulary known_words() {
  Words words{"mine.toml",
              "sizes",
              "o",
              "whole",
              "no/such.toml",
              "latency_mean",
              "faults",
              "workload.size",
              "workload.size=4 KiB",
              "workload.size=",
              "=",
              "cpu.cores=99",
              "strategy=resident",
              "0",
              "1",
              "-1",
              "7",
              "99999999999999999999",
              "first-fault",
              "table",
              "json",
              "csv",
              "text",
              "resident",
              "fault/touch-ahead",
              "",
              " ",
              "-",
              "--",
              "slurm",
              "here",
              "1us..2ms",
              "..",
              "0-3",
              "1,2,3",
              "4G",
              "page.html",
              "t.perfetto",
              "SELECT * FROM points",
              "SELECT 1 FROM",
              "DROP TABLE points",
              "PRAGMA user_version = 9",
              "parameters",
              "metrics",
              "steps",
              "*",
              "\x1b[31m",
              "a\nb",
              "$(id)",
              "=1+1",
              "%n%s",
              "\xff\xfe",
              "latency"};
  const std::regex option("--[a-z][a-z-]*");
  std::map<std::string, Words> options;
  for (const std::string& command : kCommands) {
    const std::string help = faultline_program({"help", command}).out;
    for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at)
      options[command].push_back(at->str());
    words.insert(words.end(), options[command].begin(), options[command].end());
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return {words, options};
}

// Out of the sandbox, or for ever, is not to be tried.
bool is_safe(const std::string& word) {
  return word.find("..") == std::string::npos && word.find('/') != 0 && word.find("=/") == std::string::npos &&
         word.find('~') == std::string::npos;
}

// A command with what it takes first, and options of its own with values: many such lines do something. `plot` does it
// too slowly.
Words likely_line(const Vocabulary& known, Dice& dice) {
  std::string command = dice.one_of(kCommands);
  if (command == "plot") command = "query";
  Words line{command};
  if (dice.percent(90)) line.push_back(dice.one_of<std::string>({"mine.toml", "o", "whole"}));
  const Words& options = known.options.at(command);
  for (std::uint64_t n = dice.below(4); n > 0; --n) {
    if (!options.empty()) line.push_back(dice.one_of(options));
    const std::string& value = dice.one_of(known.words);
    if (dice.percent(60) && is_safe(value)) line.push_back(value);
  }
  return line;
}

Words any_line(const Vocabulary& known, Dice& dice) {
  if (dice.percent(50)) return likely_line(known, dice);
  const Words& words = known.words;
  Words line;
  if (!dice.percent(5)) line.push_back(dice.one_of(kCommands));
  for (std::uint64_t n = dice.below(7); n > 0; --n) {
    std::string word = dice.one_of(words);
    if (dice.percent(10)) change_byte(word, dice);
    if (dice.percent(10)) word += '=' + dice.one_of(words);
    std::erase(word, '\0');
    if (is_safe(word) || word == "1us..2ms" || word == "..") line.push_back(word);
  }
  return line;
}

std::string complaint_about(const Words& line) {
  const Ran ran = faultline_program(line);
  const auto wrong = [&](const char* what) {
    std::string text = fmt::format("{}\nexit code {} of faultline", what, ran.code);
    for (const std::string& word : line) text += " '" + printable(word) + "'";
    return text + '\n' + printable(ran.err) + '\n' + printable(ran.out.substr(0, 2000));
  };
  if (ran.code < 0 || ran.code > 2) return wrong("an exit code that is none of 0, 1, 2");
  if (!is_clean(ran.err) || !is_clean(ran.out)) return wrong("control characters, or no UTF-8");
  // `plot` is a program of its own, which tells its reasons by itself.
  const bool answers_elsewhere = !line.empty() && line.front() == "plot";
  if (ran.code == 2 && ran.err.empty() && !answers_elsewhere) return wrong("nothing says what is wrong");
  return {};
}

}  // namespace

TEST_CASE("fuzz: any command line ends, with 0, 1 or 2, and a reason") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "axes.workload.size = [\"64 B\", \"4 KiB\"]\nstrategies = [\"resident\"]\n");
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "whole"}).code == 0);
  const Vocabulary known = known_words();
  REQUIRE(known.words.size() > 60);
  try_cases("fuzz: any command line ends, with 0, 1 or 2, and a reason", 300, [&](Dice& dice, std::uint64_t number) {
    if (number % 50 == 0 && fs::exists("runs")) fs::remove_all("runs");
    if (!fs::exists("o/manifest.json")) {
      fs::remove_all("o");
      fs::copy("whole", "o", fs::copy_options::recursive);
    }
    return complaint_about(any_line(known, dice));
  });
}
