// SPDX-License-Identifier: Apache-2.0
// Which point of a run is recorded, and what of it.
#include <catch2/catch.hpp>

#include <sys/stat.h>

#include "src/trace_options.hpp"
#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::experiment;
using namespace faultline::test;

namespace fs = std::filesystem;

TEST_CASE("a trace is of one point, which is named by its number or its id") {
  const Sandbox sandbox;
  const Ran none = faultline_program({"run", "sizes", "--out", "o", "--trace", "t"});
  CHECK(none.code == 2);
  CHECK(none.err.find("the experiment has 6: name it with --trace-point") != std::string::npos);
  CHECK(none.err.find("fault/touch-ahead, workload.size = 4 KiB") != std::string::npos);
  CHECK_FALSE(fs::exists("t"));
  CHECK_FALSE(fs::exists("o"));

  const Ran fifth = faultline_program({"run", "sizes", "--out", "o", "--trace", "t", "--trace-point", "5"});
  CHECK(fifth.code == 0);
  CHECK(read_text("t") == "trace of 4096 B\n");
  CHECK(fifth.err.find("trace of fault/touch-ahead, workload.size = 4 KiB: t: 1 slice\n") != std::string::npos);

  // The id stands in the list, behind the number.
  const auto line = none.err.find("\n    6  ");
  REQUIRE(line != std::string::npos);
  const std::string id = none.err.substr(line + 8, 8);
  CHECK(faultline_program({"run", "sizes", "--out", "o", "--trace", "u", "--trace-point", id}).code == 0);
  CHECK(read_text("u") == "trace of 65536 B\n");

  const Ran wrong = faultline_program({"run", "sizes", "--out", "o", "--trace", "t", "--trace-point", "7"});
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("--trace-point: '7' is no point; allowed: a number from 1 to 6, or how one id begins") !=
        std::string::npos);
}

TEST_CASE("the only point needs no name") {
  const Sandbox sandbox;
  const std::string one = sandbox.write("one.toml",
                                        "question = \"q\"\nplatform = \"exanest-qfdb\"\nstrategies = [\"resident\"]\n"
                                        "parameters.workload.size = \"128 B\"\n");
  CHECK(faultline_program({"run", one, "--trace", "t"}).code == 0);
  CHECK(read_text("t") == "trace of 128 B\n");
}

TEST_CASE("a run that is at its end is recorded where it is, and its results stay") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes"}).code == 0);
  const std::string before = read_text("runs/sizes-1/results.json");
  const Ran traced = faultline_program({"run", "sizes", "--trace", "t", "--trace-point", "2"});
  CHECK(traced.code == 0);
  CHECK(traced.err.find("6 of 6 points are there already") != std::string::npos);
  CHECK(fs::exists("t"));
  CHECK(read_text("runs/sizes-1/results.json") == before);
  CHECK_FALSE(fs::exists("runs/sizes-2"));
  // What was recorded is no part of the result.
  for (const auto& file : fs::recursive_directory_iterator("runs")) {
    if (file.is_regular_file() && file.path().filename() != "meta.json") {
      CHECK(read_text(file.path()).find("1 slice") == std::string::npos);
    }
  }
}

TEST_CASE("a run whose trace is cut says why, keeps its results, and fails") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "parameters.workload.label = \"full disk\"\n");
  const Ran ran = faultline_program({"run", "mine.toml", "--out", "o", "--trace", "t"});
  CHECK(ran.code == 2);
  CHECK(ran.err.find("trace of default: ERROR: t: no space\n") != std::string::npos);
  CHECK(fs::exists("o/meta.json"));
  CHECK(faultline_program({"run", "o"}).code == 0);
}

TEST_CASE("options of traces are refused with what is allowed") {
  const Sandbox sandbox;
  const auto message = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "sizes", "--out", "o"});
    const Ran ran = faultline_program(more);
    CHECK(ran.code == 2);
    CHECK_FALSE(fs::exists("o"));
    return ran.err;
  };
  using Catch::Contains;
  CHECK_THAT(message({"--trace-nodes", "1"}), Contains("--trace-nodes: needs --trace FILE or --vcd FILE"));
  CHECK_THAT(message({"--vcd", "v", "--trace-transfers", "1"}), Contains("--trace-transfers: needs --trace FILE"));
  CHECK_THAT(message({"--trace", "t", "--dry-run"}), Contains("--dry-run records nothing"));
  CHECK_THAT(message({"--trace", ""}), Contains("--trace: needs a file"));
  CHECK_THAT(message({"--trace", "no/such/t", "--trace-point", "1"}),
             Contains("--trace: no/such/t: cannot be written: No such file or directory"));
  for (const char* bad : {"", "a", "1,", "3-1", "1-", "-1", "1..2"}) {
    CAPTURE(bad);
    CHECK_THAT(message({"--trace", "t", "--trace-nodes", bad}),
               Contains("allowed: whole numbers and ranges of them, such as 0,4-7"));
  }
  CHECK_THAT(message({"--trace", "t", "--trace-transfers", "2,0"}),
             Contains("--trace-transfers: '2,0': there is no transfer 0; they are counted from 1"));
  for (const char* bad : {"", "1us", "..", "1..2us", "2us..1us"}) {
    CAPTURE(bad);
    CHECK_THAT(message({"--trace", "t", "--trace-time", bad}), Contains("allowed: FROM..TO"));
  }
  for (const char* bad : {"", "1 KiB", "many", "2000 GiB"}) {
    CAPTURE(bad);
    CHECK_THAT(message({"--trace", "t", "--trace-limit", bad}), Contains("allowed: 64 KiB to 1024 GiB"));
  }
}

TEST_CASE("filters are read as they are written") {
  const auto ranges = number_ranges("trace-nodes", "0, 4-7");
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].first == 0);
  CHECK(ranges[0].last == 0);
  CHECK(ranges[1].first == 4);
  CHECK(ranges[1].last == 7);
  trace::TraceFilter filter;
  set_window(filter, "10 us..2ms");
  CHECK(filter.from == 10us);
  CHECK(filter.to == 2ms);
  trace::TraceFilter open;
  set_window(open, "10us..");
  CHECK(open.from == 10us);
  CHECK(open.to == sim::kNever);
  CHECK(trace_limit("1 MiB") == 1 << 20);
  CHECK(vcd_file("waves") == "waves.vcd");
  CHECK(vcd_file("waves.vcd") == "waves.vcd");
}

TEST_CASE("a trace goes into a regular file, and a name without .vcd gets one") {
  const Sandbox sandbox;
  REQUIRE(mkfifo("pipe", 0600) == 0);
  sandbox.write("one.toml", "parameters.workload.size = \"128 B\"\n");
  for (const std::string file : {"pipe", "/dev/null", "."}) {
    for (const char* option : {"--trace", "--vcd"}) {
      INFO(option << " " << file);
      const Ran ran = faultline_program({"run", "one.toml", "--out", "o", option, file});
      CHECK(ran.code == 2);
      CHECK(ran.err.find(file == "." && option == std::string("--trace") ? "is a folder" : "is no regular file") !=
            std::string::npos);
      CHECK_FALSE(fs::exists("o"));
    }
  }
  CHECK_FALSE(fs::exists("pipe.vcd"));
  CHECK(faultline_program({"run", "one.toml", "--out", "o", "--vcd", "waves"})
            .err.find("--vcd waves: written to waves.vcd\n") != std::string::npos);
}

TEST_CASE("a trace is written over nothing but a trace") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", "\nquestion = \"mine\"\n");
  for (const char* option : {"--trace", "--vcd"}) {
    sandbox.write("notes.vcd", "notes");
    const std::string file = option == std::string("--trace") ? "mine.toml" : "notes.vcd";
    const Ran ran = faultline_program({"run", "mine.toml", "--out", "o", option, file});
    CHECK(ran.code == 2);
    CHECK(ran.err.find(file + ": " + option + ": is there and is no ") == 0);
    CHECK_FALSE(fs::exists("o"));
  }
  CHECK(read_text("mine.toml") == "\nquestion = \"mine\"\n");
  sandbox.write("old", std::string("\n!P\x01h", 5));
  CHECK(faultline_program({"run", "mine.toml", "--out", "o", "--trace", "old"}).code == 0);
}
