// SPDX-License-Identifier: Apache-2.0
// The tables that a run prints: means with their intervals, matrices, verdicts, breakdowns; what is left out and told.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using namespace faultline::app;
using namespace faultline::experiment;
using namespace faultline::test;
using Json = nlohmann::json;

TEST_CASE("tables have means over the repetitions with their confidence intervals, and the files every run") {
  const Sandbox sandbox;
  const Ran ran = run_experiment(
      sandbox,
      "repetitions = 3\nparameters.workload.label = \"noisy\"\naxes.workload.size = [\"64 B\", \"4 KiB\"]\n"
      "[[report]]\nview = \"matrix\"\nmetric = \"latency_mean\"\n"
      "[[report]]\nview = \"points\"\ncolumns = [\"latency_min\", \"latency_mean\"]\n");
  CHECK(ran.code == 0);
  CHECK(ran.out.find("platform (defaults), seed 1 to 3, workload.label = noisy") != std::string::npos);
  // The values are 1 us apart: 4.303 * 1 / sqrt(3).
  CHECK(ran.out.find("workload.size     default\n"
                     "-------------------------\n"
                     "         64 B  2.20 \u00b12.48\n"
                     "        4 KiB  5.43 \u00b12.48\n") != std::string::npos);
  CHECK(ran.out.find("(means over 3 seeds; \u00b1: half of the 95 % confidence interval, by Student's t)") !=
        std::string::npos);
  const Json points = Json::parse(read_text("o/results.json"));
  REQUIRE(points.size() == 6);
  CHECK(points.at(2).at("seed") == 3);
  const auto mean = [&](std::size_t i) { return points[i].at("metrics").at("latency_mean").at("value").get<double>(); };
  CHECK(mean(2) == Approx(mean(0) + 2));
  CHECK(ran.out.find("default            64 B   0.20  2.20 \u00b12.48\n") != std::string::npos);
}

TEST_CASE("ratios of means have intervals that are propagated from both; the baseline's is 1") {
  const Sandbox sandbox;
  const Ran ran =
      run_experiment(sandbox,
                     "repetitions = 3\nparameters.workload.label = \"noisy\"\naxes.workload.size = [\"4 KiB\"]\n"
                     "strategies = [\"resident\", \"fault/touch-ahead\"]\n"
                     "[[report]]\nview = \"matrix\"\nbaseline = \"resident\"\n");
  INFO(ran.out + ran.err);
  // 43.430 +-2.484 over 5.430 +-2.484: 7.998 * sqrt((2.484 / 43.43)^2 + (2.484 / 5.43)^2).
  CHECK(ran.out.find("   1.000       7.998 \u00b13.687\n") != std::string::npos);
}

TEST_CASE("tables call values by their labels") {
  const Sandbox sandbox;
  const std::string axes =
      "axes.workload.size = [{ value = \"64 B\", label = \"a word\" }, \"4 KiB\"]\n"
      "axes.cpu.cores = [{ value = 2, label = \"few\" }]\n";
  const Ran ran = run_experiment(sandbox, axes +
                                              "[[report]]\nview = \"points\"\ncolumns = [\"latency_min\"]\n"
                                              "[[report]]\nview = \"matrix\"\nmetric = \"latency_mean\"\n"
                                              "[[report]]\nview = \"matrix\"\nrows = \"cpu.cores\"\n"
                                              "columns = \"workload.size\"\n"
                                              "[[report]]\nview = \"breakdown\"\n");
  INFO(ran.out + ran.err);
  CHECK(ran.out.find("default          a word        few   0.20\n"
                     "default           4 KiB        few   3.43\n") != std::string::npos);
  CHECK(ran.out.find("latency_mean [us], cpu.cores = few\n"
                     "workload.size  default\n"
                     "----------------------\n"
                     "       a word     0.20\n"
                     "        4 KiB     3.43\n") != std::string::npos);
  CHECK(ran.out.find("cpu.cores  a word  4 KiB\n") != std::string::npos);
  CHECK(ran.out.find("default, workload.size = a word, cpu.cores = few\n") != std::string::npos);
  const Ran verdict = run_experiment(
      sandbox, axes + "report = { view = \"verdict\", columns = \"cpu.cores\", only = \"workload.size = 64 B\" }\n");
  INFO(verdict.out);
  CHECK(verdict.out.find("faults of the device: in how many runs, workload.size = a word\nworkload.size  few\n") !=
        std::string::npos);
}

TEST_CASE("a matrix has one sheet for axes that advance with its rows") {
  const Sandbox sandbox;
  const Ran ran = run_experiment(
      sandbox,
      "zip = [[\"workload.size\", \"cpu.cores\"]]\nskip = [{ cpu.cores = 2, workload.kind = \"read\" }]\n"
      "axes.workload.size = [\"64 B\", \"4 KiB\"]\naxes.cpu.cores = [1, 2]\n"
      "axes.workload.kind = [\"write\", \"read\"]\n"
      "[[report]]\nview = \"matrix\"\nmetric = \"latency_mean\"\n");
  INFO(ran.out);
  CHECK(ran.out.find("latency_mean [us], workload.kind = write\n"
                     "workload.size  default\n"
                     "----------------------\n"
                     "         64 B     0.20\n"
                     "        4 KiB     3.43\n"
                     "\n"
                     "latency_mean [us], workload.kind = read\n"
                     "workload.size  default\n"
                     "----------------------\n"
                     "         64 B     0.20\n"
                     "        4 KiB        -\n") != std::string::npos);
}

TEST_CASE("a mean is of the repetitions that have one; how many, and what went wrong with the others, is told") {
  const Sandbox sandbox;
  const Ran ran = run_experiment(sandbox,
                                 "repetitions = 3\nparameters.workload.label = \"fails at 2\"\n"
                                 "[[report]]\nview = \"points\"\ncolumns = [\"latency_mean\"]\n");
  CHECK(ran.code == 3);
  CHECK(ran.out.find("default   3.43 !!1\n") != std::string::npos);
  CHECK(ran.out.find("(!!: so many points have no result, and are in no mean: default: 1 of 3)\n") !=
        std::string::npos);
  CHECK(ran.out.find("ERROR: exception: the queue is longer than itself [default, seed 2]") != std::string::npos);
}

TEST_CASE("failed transfers are marked beside each latency and goodput, and counted below") {
  const Sandbox sandbox;
  const Ran ran = run_experiment(
      sandbox,
      "repetitions = 3\nparameters.workload.label = \"loses\"\nstrategies = [\"resident\", \"fault/touch-ahead\"]\n"
      "axes.workload.size = [\"64 B\", \"4 KiB\"]\n"
      "[[report]]\nview = \"points\"\ncolumns = [\"latency_mean\", \"faults\", \"goodput\"]\n"
      "[[report]]\nview = \"matrix\"\nbaseline = \"resident\"\n"
      "[[report]]\nview = \"matrix\"\nmetric = \"faults\"\n"
      "[[report]]\nview = \"matrix\"\nbaseline = \"fault/touch-ahead\"\n"
      "[[report]]\nview = \"breakdown\"\n");
  INFO(ran.out);
  CHECK(ran.out.find("resident                   4 KiB   3.43          0  1194.12\n") != std::string::npos);
  CHECK(ran.out.find("fault/touch-ahead          4 KiB  41.43 !7   0.010  1194.12 !7\n") != std::string::npos);
  // Of a ratio what either is not of.
  CHECK(ran.out.find("        4 KiB     1.000          12.078 !7\n") != std::string::npos);
  CHECK(ran.out.find("        4 KiB         0                  1\n") != std::string::npos);
  CHECK(ran.out.find("        4 KiB  0.083 !7           1.000 !7\n") != std::string::npos);
  CHECK(ran.out.find("\nresident, workload.size = 4 KiB\n") != std::string::npos);
  CHECK(ran.out.find("\nfault/touch-ahead, workload.size = 4 KiB (!: 7 of 300 transfers failed; no step has them)\n") !=
        std::string::npos);
  CHECK(ran.out.find("(!: so many transfers failed, and are in no latency and no goodput: fault/touch-ahead, "
                     "workload.size = 64 B: 7 of 300; fault/touch-ahead, workload.size = 4 KiB:\n 7 of 300)\n") !=
        std::string::npos);
}

TEST_CASE("steps of repetitions are means over all seeds, of those without the step, too") {
  const Sandbox sandbox;
  const Ran ran =
      run_experiment(sandbox, "repetitions = 4\nparameters.workload.label = \"noisy\"\nreport = \"breakdown\"\n");
  INFO(ran.out);
  // Two of four seeds have a fault of 8 us, the first has none.
  // Of 0, 8, 0, 8 us: 3.182 * 4.619 / sqrt(4).
  CHECK(ran.out.find("post   library         1.000       1.000") != std::string::npos);
  CHECK(ran.out.find("fault  os       4.000 \u00b17.350       5.000") != std::string::npos);
  CHECK(ran.out.find("wire   link            3.277       8.277") != std::string::npos);
}

TEST_CASE("a matrix shows what advances with its rows where two points would stand in one place") {
  const Sandbox sandbox;
  const Ran ran =
      run_experiment(sandbox,
                     "zip = [[\"workload.size\", \"cpu.cores\"]]\naxes.workload.size = [\"64 B\", \"64 B\"]\n"
                     "axes.cpu.cores = [1, 2]\n[[report]]\nview = \"matrix\"\nmetric = \"latency_mean\"\n");
  CHECK(ran.out.find("latency_mean [us], cpu.cores = 1\n") != std::string::npos);
  CHECK(ran.out.find("latency_mean [us], cpu.cores = 2\n") != std::string::npos);
}

TEST_CASE("tables: a matrix of one metric and the stacked breakdown") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", R"(strategies = ["resident", "fault/touch-ahead"]
axes.workload.size = ["64 B", "4 KiB"]
report = ["matrix", "breakdown"]
)");
  const Ran ran = faultline_program({"run", "mine.toml"});
  CHECK(ran.code == 0);
  CHECK(ran.out.find(R"(latency_mean [us]
workload.size  resident  fault/touch-ahead
------------------------------------------
         64 B      0.20              38.20
        4 KiB      3.43              41.43
)") != std::string::npos);
  CHECK(ran.out.find(R"(resident, workload.size = 4 KiB
step  where     time  cumulative  share  samples  |--------------------------------------|
                [us]        [us]    [%]
------------------------------------------------------------------------------------------
post  library  1.000       1.000   23.4      100  #########
wire  link     3.277       4.277   76.6      100           ###############################
)") != std::string::npos);
}

TEST_CASE("tables: a verdict on the points that have one value, and none where that was set away") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", R"(strategies = ["resident", "fault/touch-ahead"]
axes.workload.size = ["64 B", "4 KiB"]
report = { view = "verdict", columns = "workload.size", rows = "strategy", only = "workload.size = 4 KiB" }
)");
  const Ran ran = faultline_program({"run", "mine.toml", "--out", "o"});
  CHECK(ran.code == 0);
  CHECK(ran.out.find(R"(faults of the device: in how many runs, workload.size = 4 KiB
         strategy  4 KiB
------------------------
         resident    n/a
fault/touch-ahead    n/a
)") != std::string::npos);
  CHECK(read_text("o/effective.toml").find("only = \"workload.size = 4 KiB\"\n") != std::string::npos);
  const Ran other = faultline_program({"run", "mine.toml", "--set", "workload.size=64 B"});
  CHECK(other.code == 0);
  CHECK(other.out.find("faults of the device") == std::string::npos);
  CHECK(other.out.find("(no table of workload.size = 4 KiB: no point has it; there are 64 B)\n") != std::string::npos);
  // The run's own experiment has no such table, and is read again.
  CHECK(read_text("runs/mine-1/effective.toml").find("report = []\n") != std::string::npos);
  CHECK(faultline_program({"run", "runs/mine-1"}).code == 0);
}

TEST_CASE("tables: that several have no points is told once an axis") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", R"(strategies = ["resident", "fault/touch-ahead"]
axes.workload.size = ["64 B", "4 KiB", "8 KiB"]
skip = [{ strategy = "fault/touch-ahead" }]
[[report]]
view = "verdict"
columns = "workload.size"
rows = "strategy"
only = "workload.size = 4 KiB"
[[report]]
view = "verdict"
columns = "workload.size"
rows = "strategy"
only = "workload.size = 8192 B"
[[report]]
view = "verdict"
rows = "workload.size"
only = "strategy = fault/touch-ahead"
)");
  const Ran ran = faultline_program({"run", "mine.toml", "--set", "workload.size=64 B"});
  INFO(ran.out + ran.err);
  CHECK(ran.code == 0);
  CHECK(ran.out.find("(no table of workload.size = 4 KiB, 8 KiB: no point has it; there are 64 B)\n"
                     "(no table of strategy = fault/touch-ahead: no point has it; there are resident)\n") !=
        std::string::npos);
}

TEST_CASE("the head names what differs from the platform, also where it is the default") {
  const Sandbox sandbox;
  // The platform has 145 ns and one core, the defaults are 120 ns and four.
  sandbox.write("p.toml",
                "based_on = \"exanest-qfdb\"\n[parameters]\ncpu.cores = { value = 1, standing = \"setting\" }\n");
  const auto head = [&](const std::string& text) {
    const Ran ran = run_experiment(sandbox, "platform = \"p.toml\"\n" + text);
    INFO(ran.out + ran.err);
    CHECK(ran.code == 0);
    return ran.out.substr(0, ran.out.find('\n'));
  };
  CHECK(head("") == "platform p.toml, seed 1");
  CHECK(head("parameters.network.internal_latency = \"120 ns\"\n") ==
        "platform p.toml, seed 1, network.internal_latency = 120 ns");
  CHECK(head("parameters.cpu.cores = 4\nparameters.workload.size = \"64 B\"\n") ==
        "platform p.toml, seed 1, workload.size = 64 B, cpu.cores = 4");
  // What one of several strategies sets is told by its name, and what is an axis by its column.
  CHECK(head("parameters.cpu.cores = 4\nstrategies = [\"a\", \"b\"]\nstrategy.a.cpu.cores = 2\n"
             "strategy.b.workload.size = \"64 B\"\n") == "platform p.toml, seed 1");
  CHECK(head("axes.cpu.cores = [4]\n") == "platform p.toml, seed 1");
  CHECK(head("strategies = [\"a\", \"b\"]\nstrategy.a.cpu.cores = 4\nstrategy.b.cpu.cores = 4\n") ==
        "platform p.toml, seed 1, cpu.cores = 4");
}

TEST_CASE("a narrow terminal gets fewer columns and is told which") {
  const Sandbox sandbox;
  const Ran ran = faultline_program({"run", "sizes"}, 80);
  std::istringstream lines(ran.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("note:") == std::string::npos) CHECK(line.size() <= 80);
  }
  CHECK(ran.out.find("(left out: all 0: pinned; the run folder has them)") != std::string::npos);
  CHECK(faultline_program({"run", "sizes"}, 72).out.find("(left out: all 0: pinned; too wide: t_min, t_typical; the") !=
        std::string::npos);
}
