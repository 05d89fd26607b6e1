// SPDX-License-Identifier: Apache-2.0
// Files that nobody would write: each is refused with its place and reason, soon, and without much memory.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>

#include "src/experiment/input_limits.hpp"
#include "src/experiment/slurm_settings.hpp"
#include "tests/experiment/reading.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::test;

namespace {

std::string times(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

// One line for each number from 0 on, with the number in the place of '#'.
std::string numbered(std::size_t count, const std::string& line) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i)
    all += line.substr(0, line.find('#')) + std::to_string(i) + line.substr(line.find('#') + 1);
  return all;
}

std::size_t lines_of(const std::string& text) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string refusal_of(const std::filesystem::path& path) {
  try {
    read_toml(path);
  } catch (const UserError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a key has as many parts as input_limits.hpp says, and no more, wherever it stands") {
  const std::string sixteen = "a" + times(kMostKeyParts - 1, ".a");
  const std::string seventeen = sixteen + ".a";
  const auto verdict = [](const std::string& text) { return mistake("question = \"x\"\n" + text).substr(0, 56); };
  const std::string refused = ": a key has more than 16 parts; allowed: as many";
  CHECK(verdict("[" + sixteen + "]\n").find(refused) == std::string::npos);
  CHECK(verdict("[" + seventeen + "]\n") == "mine.toml:2:33" + refused.substr(0, 42));
  CHECK(verdict(sixteen + " = 1\n").find(refused) == std::string::npos);
  CHECK(verdict(seventeen + " = 1\n") == "mine.toml:2:32" + refused.substr(0, 42));
  CHECK(verdict("parameters = {" + seventeen + " = 1}\n").starts_with("mine.toml:2:46: a key has"));
  CHECK(verdict("x = [{ \"a.b\"" + times(16, " . 'c.d'") + " = 1}]\n").find(": a key has") != std::string::npos);
  // Not to be hidden behind quotes, and what is in quotes, in a comment or a number is no key.
  CHECK(verdict("x = {y = \"\"\"z\"\"\"\"\", " + seventeen + " = 1}\n").find(": a key has") != std::string::npos);
  CHECK(verdict("x = {y = '''z'''', " + seventeen + " = 1}\n").find(": a key has") != std::string::npos);
  CHECK(verdict("x = {y = \"\\\"\", " + seventeen + " = 1}\n").find(": a key has") != std::string::npos);
  CHECK(verdict("x = {y = '\\', " + seventeen + " = 1}\n").find(": a key has") != std::string::npos);
  CHECK(mistake("question = \"" + times(99, ".") + "\"\n") == "accepted");
  CHECK(mistake("question = '" + times(99, ".") + "'\n") == "accepted");
  CHECK(mistake("question = \"\"\"\n" + times(99, ".") + "\n\"'\"\"\"\n") == "accepted");
  CHECK(mistake("question = '''\n" + times(99, ".") + "\n'''\n") == "accepted");
  CHECK(mistake("# " + times(99, ".") + "\n") == "accepted");
  CHECK(mistake("axes.workload.cold_share = [" + times(40, "0.5, ") + "]\n").find("is on the axis twice") !=
        std::string::npos);
}

TEST_CASE("keys, tables and lists without end are refused, as is what would be nested too deeply by both") {
  CHECK(mistake("a" + times(23'000, ".a") + " = 1\n") ==
        "mine.toml:1:32: a key has more than 16 parts; allowed: as many");
  CHECK(mistake("a = " + times(100'000, "[")).find("not TOML") != std::string::npos);
  CHECK(mistake("a = " + times(31, "[") + times(31, "]")).find("nested") == std::string::npos);
  CHECK(mistake("a = " + times(33, "[") + times(33, "]")) == "mine.toml:1:37: is nested more than 32 deep");
  CHECK(mistake("a = " + times(200, "{a.a.a.a.a.a.a.a = ") + "1" + times(200, "}")).find("nested more than 32") !=
        std::string::npos);
}

TEST_CASE("texts for Slurm of any length are judged, and their messages are short") {
  const std::string digits(100'000, '1');
  CHECK(why_no_slurm_time(digits).empty());
  CHECK(why_no_slurm_time("1-" + digits + ":0:0").empty());
  CHECK_FALSE(why_no_slurm_time(digits + ":").empty());
  CHECK(why_no_slurm_memory(digits + "G").empty());
  CHECK_FALSE(why_no_slurm_memory(digits).empty());
  for (const char* good : {"1", "10:00", "2:00:00", "1-0", "1-02:30", "1-02:30:59"})
    CHECK(why_no_slurm_time(good).empty());
  for (const char* bad :
       {"", "0", "0:00", ":1", "1:", "1::1", "1:1:1:1", "1-", "-1", "1-1-1", "1:1-1", "1h", " 1", "1-1:1:1:1"})
    CHECK_FALSE(why_no_slurm_time(bad).empty());
  for (const char* good : {"1K", "4G", "10M", "100T"}) CHECK(why_no_slurm_memory(good).empty());
  for (const char* bad : {"", "G", "0G", "04G", "4", "4GB", "4g", "-4G", "4 G"})
    CHECK_FALSE(why_no_slurm_memory(bad).empty());
  const std::string message = mistake("slurm.memory = \"" + digits + "\"\n");
  CHECK(message.starts_with("mine.toml:1:16: slurm.memory: '11"));
  CHECK(message.size() <= kMostMessageBytes + 40);
  CHECK(message.ends_with(
      "1' is no memory for Slurm; allowed: a whole number and K, M, G or T (times 1024), such as 4G"));
}

TEST_CASE("of very many mistakes the first are told, and how many more there are, in a second") {
  const auto [line, first, more] = GENERATE(table<std::string, std::string, std::string>(
      {{"wrong#key = 1\n", "mine.toml:1:1: wrong0key: no such key", "and 19950 more"},
       {"parameters.wrong.key# = 1\n", "mine.toml:1:18: wrong.key0: no such parameter", "and 19950 more"},
       {"strategy.s.wrong.key# = 1\n", "mine.toml:1:18: wrong.key0: no such parameter", "and 19950 more"},
       {"axes.wrong.key# = [1]\n", "mine.toml:1:12: axes: are more than 1000", "and 951 more"},
       {"strategy.s#.wrong = 1\n", "mine.toml:1:1: strategy: are more than 1000", ""},
       {"[[skip]]\nwrong# = 1\n", "mine.toml:2:1: skip: 'wrong0' is no axis", "and 19950 more"},
       {"[[report]]\nview = \"wrong#\"\n", "mine.toml:2:8: report.view: no view 'wrong0'", "and 19950 more"}}));
  const auto start = std::chrono::steady_clock::now();
  const std::string told = mistake(numbered(20'000, line));
  const auto took = std::chrono::steady_clock::now() - start;
  INFO(told.substr(0, 2000));
  CHECK(told.starts_with(first));
  CHECK(told.ends_with(more));
  CHECK(lines_of(told) <= kMostMistakes + 1);
  CHECK(took < std::chrono::seconds(30));  // a second, unless the host is busy
}

TEST_CASE("as many mistakes as are told leave none to be counted") {
  CHECK(lines_of(mistake(numbered(kMostMistakes, "wrong# = 1\n"))) == kMostMistakes);
  CHECK(mistake(numbered(kMostMistakes + 1, "wrong# = 1\n")).ends_with("\nand 1 more"));
}

TEST_CASE("more points than there is memory for are refused before there are any") {
  CHECK(mistake("axes.workload.size = { from = \"1 B\", to = \"900 kB\", step = \"1 B\" }\n"
                "axes.network.internal_latency = { from = \"1 ns\", to = \"1 us\", step = \"1 ps\" }\n"
                "axes.workload.cold_share = { from = 0, to = 1, steps = 1000000 }\n")
            .find("make more than 1000000 points") != std::string::npos);
  CHECK(mistake("axes.workload.cold_share = { from = 0, to = 1, steps = 1000001 }\n")
            .find("allowed: a whole number from 2 to 1000000") != std::string::npos);
  CHECK(mistake("axes.workload.cold_share = [" + times(1'000'001, "0,") + "]\n") ==
        "mine.toml:1:28: has more than 1000000 values");
}

TEST_CASE("what is no regular file of a sensible size is not read") {
  const Sandbox sandbox;
  REQUIRE(mkfifo("pipe.toml", 0600) == 0);
  std::filesystem::create_symlink("/dev/zero", "zero.toml");
  std::filesystem::create_symlink("loop.toml", "loop.toml");
  std::filesystem::create_symlink("nothing.toml", "dangling.toml");
  std::filesystem::create_directory("folder.toml");
  sandbox.write("large.toml", "");
  std::filesystem::resize_file("large.toml", kMostInputBytes + 1);
  sandbox.write("largest.toml", "#" + std::string(kMostInputBytes - 1, ' '));
  CHECK(refusal_of("pipe.toml") == "pipe.toml: is no regular file");
  CHECK(refusal_of("zero.toml") == "zero.toml: is no regular file");
  CHECK(refusal_of("loop.toml") == "loop.toml: cannot be read: Too many levels of symbolic links");
  CHECK(refusal_of("dangling.toml") == "dangling.toml: no such file");
  CHECK(refusal_of("folder.toml") == "folder.toml: is a folder, not a file");
  CHECK(refusal_of("large.toml") == "large.toml: has more than 16 MiB, too much for a file of this kind");
  CHECK(refusal_of("largest.toml") == "accepted");

  SECTION("as an experiment") {
    const ConfigLibrary library(test_configs());
    for (const char* file : {"pipe.toml", "zero.toml", "loop.toml", "dangling.toml", "folder.toml", "large.toml"}) {
      CHECK_THROWS_WITH(library.resolve_experiment(file), refusal_of(file));
    }
  }
  SECTION("as a platform or a strategy") {
    for (const char* file : {"pipe.toml", "zero.toml", "loop.toml", "dangling.toml", "folder.toml", "large.toml"}) {
      const std::string path = (sandbox.folder() / file).string();
      const std::string why = refusal_of(file).substr(std::string(file).size() + 2);
      CHECK(mistake("platform = \"" + path + "\"\n") == "mine.toml:1:12: platform: " + why + ": " + path);
      CHECK(mistake("strategies = [\"" + path + "\"]\n") == "mine.toml:1:15: strategies: " + why + ": " + path);
    }
  }
}

TEST_CASE("a control character in a key or a text is refused, shown as TOML writes it") {
  CHECK(mistake("question = \"red: \\u001b[31m\"\n") ==
        "mine.toml:1:12: 'red: \\u001B[31m' has control characters; allowed: text without them");
  CHECK(mistake("[strategy.\"a\\nb\"]\n").find("'a\\u000Ab' has control characters") != std::string::npos);
  CHECK(mistake("strategy.\"a\\u009bb\".cpu.cores = 1\n").find("'a\\u009Bb' has control characters") !=
        std::string::npos);
  CHECK(mistake("parameters.workload.label = \"\\u0000\"\n").find("'\\u0000' has control") != std::string::npos);
  CHECK(mistake("question = \"\"\"\r\ntwo lines,\r\n\tmy friend \xc3\xbc\xc2\xa0\"\"\"\r\n") == "accepted");
}

TEST_CASE("what is shown on a terminal has no control characters, as UTF-8 or as single bytes") {
  CHECK(printable("gr\xc3\xb6\xc3\x9f"
                  "e \xe2\x82\xac \xf0\x9f\x98\x80\xc2\xa0|\t\n") ==
        "gr\xc3\xb6\xc3\x9f"
        "e \xe2\x82\xac \xf0\x9f\x98\x80\xc2\xa0|\t\n");
  CHECK(printable("\x1b[31m\x7f\n", /*one_line=*/true) == "\\u001B[31m\\u007F\\u000A");
  CHECK(printable("\xc2\x80\xc2\x9b"
                  "31m\xc2\x9f") == "\\u0080\\u009B31m\\u009F");
  CHECK(printable("\x9b"
                  "31m\x80\xff") == "\\x9B31m\\x80\\xFF");
  // No way around: a character that is cut, in too many bytes, a surrogate, or beyond the last.
  CHECK(printable("\xc3|\xe2\x82") == "\\xC3|\\xE2\\x82");
  CHECK(printable("\xc1\x9b|\xe0\x82\x9b|\xf0\x80\x82\x9b") == "\\xC1\\x9B|\\xE0\\x82\\x9B|\\xF0\\x80\\x82\\x9B");
  CHECK(printable("\xed\xa0\x80|\xf4\x90\x80\x80|\xf5") == "\\xED\\xA0\\x80|\\xF4\\x90\\x80\\x80|\\xF5");
}

TEST_CASE("what is told of a long text is short") {
  const std::string told = mistake("question = \"" + times(1'000'000, "a") + "\\u001b\"\n");
  CHECK(told.starts_with("mine.toml:1:12: 'aaa"));
  CHECK(told.ends_with("a\\u001B' has control characters; allowed: text without them"));
  CHECK(told.find(" more bytes] ") != std::string::npos);
  CHECK(told.size() < kMostMessageBytes + 100);
}

TEST_CASE("a file that says nothing of its size is refused where it is too large, not cut") {
  // Of each page that differs from the next in what may be done with it the kernel writes some 700 bytes.
  constexpr std::size_t kPages = 40'000;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* pages = mmap(nullptr, kPages * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  for (std::size_t i = 0; i < kPages; i += 2) mprotect(static_cast<char*>(pages) + i * page, page, PROT_NONE);
  CHECK(std::filesystem::file_size("/proc/self/smaps") == 0);
  CHECK(refusal_of("/proc/self/smaps") == "/proc/self/smaps: has more than 16 MiB, too much for a file of this kind");
  munmap(pages, kPages * page);
}

TEST_CASE("seeds are whole numbers up to 2^53 - 1, with those of the repetitions") {
  CHECK(points_of("seed = 9007199254740991\n").front().seed == kMostSeed);
  CHECK(mistake("seed = 9007199254740992\n") ==
        "mine.toml:1:8: seed: 9007199254740992; allowed: a whole number from 0 to 9007199254740991");
  CHECK(mistake("seed = 9007199254740990\nrepetitions = 2\n") == "accepted");
  CHECK(mistake("seed = 9007199254740990\nrepetitions = 3\n") ==
        "mine.toml: seed = 9007199254740990, and 2 after it (repetitions); allowed: up to 9007199254740991");
  CHECK(mistake("sample.count = 2\nsample.seed = 9007199254740992\nsample.axes.cpu.cores = [1, 2]\n")
            .find("sample.seed: 9007199254740992; allowed") != std::string::npos);
}
