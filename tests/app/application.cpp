// SPDX-License-Identifier: Apache-2.0
// The whole program but for the simulator: command lines in; text, files and exit codes out.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "src/command_table.hpp"
#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::experiment;
using namespace faultline::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::recursive_directory_iterator(folder), fs::recursive_directory_iterator()));
}

}  // namespace

TEST_CASE("run prints a perftest-like table and leaves a complete run folder") {
  const Sandbox sandbox;
  const Ran ran = faultline_program({"run", "sizes"});
  CHECK(ran.code == 0);
  CHECK(ran.err == "run folder: runs/sizes-1\n");
  CHECK(ran.out == R"(How does latency grow with size?
platform exanest-qfdb, seed 1, workload.iterations = 10

* latency_mean: resident is lowest at every workload.size (64 B to 64 KiB), by a factor of 18.1 to 182 ahead of
  fault/touch-ahead
* Values within 1 % of each other count as alike; points that drew random numbers ran once, so nobody knows how far
  another seed would move them (--repetitions)

strategy           workload.size  t_min  t_typical   t_avg   BW_avg  faults  pinned
                                   [us]       [us]    [us]   [MB/s]   [/op]     [B]
-----------------------------------------------------------------------------------
resident                    64 B   0.21       0.21    0.21   304.28       0       0
resident                   4 KiB   2.23       2.23    2.23  1839.80       0       0
resident                  64 KiB  32.95      32.95   32.95  1989.17       0       0

fault/touch-ahead           64 B   0.21      30.21   38.21   304.28       1       0
fault/touch-ahead          4 KiB   2.23      32.23   40.23  1839.80       1       0
fault/touch-ahead         64 KiB  32.95     512.95  640.95  1989.17      16       0
(/op: for each transfer, both nodes together; 'faultline list metrics' explains the columns)

note: larger than a block [resident, workload.size = 64 KiB, and 1 more]
)");
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator("runs/sizes-1")) files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  CHECK(files == std::vector<std::string>{".locks", "effective.toml", "manifest.json", "meta.json", "points",
                                          "results.csv", "results.json", "results.sqlite"});
  const Json meta = Json::parse(read_text("runs/sizes-1/meta.json"));
  CHECK(meta.at("command").at(1) == "sizes");
  CHECK(meta.at("seed") == 1);
  CHECK(meta.at("points") == 6);
  CHECK(meta.at("points_complete") == 6);
  CHECK(meta.at("events") == 6 * 1001);
  CHECK(meta.at("cell_hops") == 6 * 500);
  CHECK(meta.at("simulated_ps") == 6'000'000);
  CHECK_FALSE(meta.contains("profile"));
  CHECK(faultline_program({"run", "sizes", "--quiet"}).err.empty());
  CHECK(fs::exists("runs/sizes-2/meta.json"));
}

TEST_CASE("meta.json has what was simulated and the rates, of the run and of each point") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  const Json meta = Json::parse(read_text("o/meta.json"));
  std::vector<Json> all{meta};
  all.insert(all.end(), meta.at("each_point").begin(), meta.at("each_point").end());
  REQUIRE(all.size() == 1 + 6);
  double of_points = 0;
  for (const Json& one : all) {
    const double seconds = one.at("host_seconds");
    REQUIRE(seconds > 0);
    const auto is_rate = [&](const char* rate, double total) {
      CHECK(one.at(rate).get<double>() * seconds == Approx(total).epsilon(1e-9));
    };
    is_rate("events_per_host_second", one.at("events"));
    is_rate("cell_hops_per_host_second", one.at("cell_hops"));
    is_rate("simulated_seconds_per_host_second", one.at("simulated_ps").get<double>() / 1e12);
    of_points += one.at("events").get<double>();
  }
  CHECK(of_points == 2 * meta.at("events").get<double>());
  CHECK(meta.at("each_point")[0].at("cpu_seconds") > 0);
  CHECK(meta.at("each_point")[0].at("peak_mib") > 0.1);
}

TEST_CASE("profiling prints host time by part and by process on standard error and changes no result") {
  const Sandbox sandbox;
  const Ran plain = faultline_program({"run", "sizes", "--out", "plain"});
  const Ran profiled = faultline_program({"run", "sizes", "--out", "profiled", "--profile"});
  CHECK(profiled.code == 0);
  CHECK(profiled.out == plain.out);
  for (const char* file : {"results.json", "results.csv", "results.sqlite", "effective.toml"}) {
    CHECK(read_text(fs::path("profiled") / file) == read_text(fs::path("plain") / file));
  }
  // Six points of 3 and 1 ms.
  INFO(profiled.err);
  CHECK(profiled.err.find("sim::Part     5400    600      18.00   75.0") != std::string::npos);
  CHECK(profiled.err.find("event loop       0      6       6.00   25.0") != std::string::npos);
  CHECK(profiled.err.find("all           5400    606      24.00  100.0") != std::string::npos);
  CHECK(profiled.err.find("\nfault/touch-ahead, workload.size = 64 KiB") != std::string::npos);
  const Json profile = Json::parse(read_text("profiled/meta.json")).at("profile");
  REQUIRE(profile.size() == 2);
  CHECK(profile[0] == Json{{"part", "sim::Part"}, {"events", 5400}, {"calls", 600}, {"host_seconds", 0.018}});
  CHECK(faultline_program({"list", "--profile"}).code == 2);
}

TEST_CASE("json is one array of points with strategy, parameters and metrics with units") {
  const Sandbox sandbox;
  const Ran ran = faultline_program({"run", "sizes", "--format", "json", "--out", "o"});
  CHECK(ran.code == 0);
  CHECK(ran.out == read_text("o/results.json"));
  const Json points = Json::parse(ran.out);
  REQUIRE(points.size() == 6);
  const Json& point = points.at(4);
  CHECK(point.at("strategy") == "fault/touch-ahead");
  CHECK(point.at("seed") == 1);
  CHECK(point.at("parameters").at("workload.size") == "4 KiB");
  CHECK(point.at("parameters").at("workload.iterations") == "10");
  CHECK_FALSE(point.at("parameters").contains("cpu.cores"));
  CHECK(point.at("metrics").at("faults") == Json{{"value", 1.0}, {"unit", "1"}, {"description", "faults"}});
  CHECK(point.at("breakdown").size() == 2);
  CHECK(point.at("status") == "complete");
}

TEST_CASE("csv has a plain number in every quantity's cell") {
  const Sandbox sandbox;
  const Ran ran = faultline_program({"run", "sizes", "--format", "csv", "--set", "workload.size=4 KiB"});
  CHECK(ran.out.substr(0, ran.out.find("\n", ran.out.find("\n") + 1)) ==
        "strategy,workload.size [B],seed,latency_min [us],latency_typical [us],latency_mean [us],goodput [MB/s],faults,"
        "pinned_bytes_peak [B],status,error\n"
        "resident,4096,1,2.2263333333333333,2.2263333333333333,2.2263333333333333,1839.7963767030992,0,0,complete,");
}

TEST_CASE("the same bytes for any number of jobs and from any folder, and again from the effective configuration") {
  std::vector<std::string> results;
  for (const char* jobs : {"1", "2", "5"}) {
    const Sandbox sandbox;
    REQUIRE(
        faultline_program({"run", (test_configs() / "experiments" / "sizes.toml").string(), "-j", jobs, "--out", "o"})
            .code == 0);
    results.push_back(read_text("o/results.json"));
    fs::create_directories("deep/er");
    fs::current_path("deep/er");
    REQUIRE(faultline_program({"run", "../../o/effective.toml", "--out", "again"}).code == 0);
    CHECK(read_text("again/results.json") == results.back());
    CHECK(read_text("again/results.csv") == read_text("../../o/results.csv"));
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
  const Sandbox sandbox;
  faultline_program({"run", "sizes", "--seed", "2", "--out", "o"});
  CHECK(read_text("o/results.json") != results[0]);
}

TEST_CASE("bad input is refused with exit code 2 before anything is written") {
  const Sandbox sandbox;
  sandbox.write("full/x", "");
  sandbox.write("mine.toml", "");
  const auto [arguments, message] = GENERATE(table<std::vector<std::string>, std::string>({
      {{"rnu"},
       "no command 'rnu'; allowed: run, worker, sensitivity, plot, status, query, diff, report, list, explain, quiz, "
       "config, validate, help; did you mean "
       "'run'?\n"},
      {{"run"},
       "'faultline run' needs an experiment: a file or a name from 'faultline list experiments'; see 'faultline help "
       "run'\n"},
      {{"run", "a", "b"}, "'b': 'faultline run' takes at most 1 argument; see 'faultline help run'\n"},
      {{"run", "size"}, "no experiment 'size'; allowed: a file, or one that ships: sizes; did you mean 'sizes'?\n"},
      {{"run", "no/such.toml"}, "no/such.toml: no such file\n"},
      {{"run", "full"}, "full: holds no run: it has no manifest.json\n"},
      {{"run", "sizes", "--formt", "json"},
       "--formt: no such option of 'faultline run'; allowed: --configs, --dry-run, --format, --help, --jobs, "
       "--max-points, --on, --out, "
       "--prepare, --profile, --quiet, --repetitions, --replace, --seed, --set, --slurm-cpus, --slurm-memory, "
       "--slurm-partition, "
       "--slurm-sbatch, --slurm-tasks, --slurm-time, --timeout, --trace, --trace-limit, "
       "--trace-nodes, --trace-point, --trace-time, --trace-transfers, --vcd, "
       "--verbose, --version; did you mean '--format'?\n"},
      {{"list", "--jobs", "2"},
       "--jobs: no such option of 'faultline list'; allowed: --configs, --format, --help, --quiet, --verbose, "
       "--version\n"},
      {{"run", "sizes", "--format", "jsn"}, "--format: 'jsn'; allowed: table, json, csv; did you mean 'json'?\n"},
      {{"run", "sizes", "--jobs", "0"}, "--jobs: '0'; allowed: a whole number from 1 to 4096\n"},
      {{"run", "sizes", "--seed", "-1"}, "--seed: '-1'; allowed: a whole number from 0 to 9007199254740991\n"},
      {{"run", "sizes", "--seed", "9007199254740992"},
       "--seed: '9007199254740992'; allowed: a whole number from 0 to 9007199254740991\n"},
      {{"run", "sizes", "--out", "a\x1b[31m"},
       "'a\\u001B[31m' has control characters, or is no UTF-8; allowed: arguments of printable UTF-8\n"},
      {{"run", "sizes", "--out",
        "a\x9b"
        "31m"},
       "'a\\x9B31m' has control characters, or is no UTF-8; allowed: arguments of printable UTF-8\n"},
      {{"run", "sizes", "--out", "full"},
       "full: --out: already holds something that is no run; name a new or an empty folder, or a run's\n"},
      {{"run", "sizes", "--out", "mine.toml"}, "mine.toml: --out: is a file, not a folder\n"},
      {{"run", "sizes", "--out", "mine.toml/o"}, "mine.toml/o: --out: cannot be made: Not a directory\n"},
      {{"run", "sizes", "--set", "workload.sice=3 B"},
       "--set workload.sice=3 B: workload.sice: no such parameter; did you mean 'workload.size'?\n"},
      {{"list", "platform"},
       "list: nothing is called 'platform'; allowed: platforms, strategies, workloads, experiments, parameters, "
       "metrics, steps; did you "
       "mean 'platforms'?\n"},
      {{"help", "rum"},
       "no command 'rum'; allowed: run, worker, sensitivity, plot, status, query, diff, report, list, explain, quiz, "
       "config, validate, help; did you mean "
       "'run'?\n"},
      {{"validate", "nowhere.toml"}, "nowhere.toml: no such file\n"},
      {{"worker", "full"},
       "full: holds no run: it has no manifest.json. 'faultline run' makes a run folder; where that was on another "
       "machine, the folder must be on a file system that this one shares\n"},
      {{"worker", "none"}, "none: no such folder\n"},
      {{"worker"}, "'faultline worker' needs a run folder, such as runs/NAME-1; see 'faultline help worker'\n"},
      {{"run", "sizes", "--prepare", "--jobs", "2"}, "--prepare and --jobs: --prepare simulates nothing\n"},
      {{"run", "sizes", "--quiet", "--verbose"}, "--quiet and --verbose: choose one\n"},
  }));
  const std::size_t before = files_in(".");
  const Ran ran = faultline_program(arguments);
  CHECK(ran.code == 2);
  CHECK(ran.out.empty());
  CHECK(ran.err == message);
  CHECK(files_in(".") == before);
}

TEST_CASE("the exit code tells whose fault it is, and what is complete is kept") {
  const Sandbox sandbox;
  const auto [label, code, message] = GENERATE(table<std::string, int, std::string>({
      {"wrong data", 1, ""},
      {"full", 2, "--set workload.label=full"},
      {"no memory", 2, "the host has no memory left"},
      {"bug", 3,
       "faultline: a bug of the simulator, please report it: resident, workload.size = 64 B: exception: the queue"},
      {"killed", 2, "killed: the host ran out of memory"},
  }));
  const Ran ran =
      faultline_program({"run", "sizes", "--format", "json", "--out", "o", "--set", "workload.label=" + label});
  CHECK(ran.code == code);
  if (label == "full") {
    CHECK(ran.err.find(
              "sizes.toml:5:23: workload.size: node 1 has no memory left [strategies resident, fault/touch-ahead]\n") !=
          std::string::npos);
  } else {
    CHECK(ran.err.find(message) != std::string::npos);
  }
  CHECK(Json::parse(ran.out).size() == 6);
  CHECK(Json::parse(read_text("o/results.json")).size() == 6);
}

TEST_CASE("points that time out are told, under --quiet, too, and have no events") {
  const Sandbox sandbox;
  const Ran ran = faultline_program({"run", "sizes", "--out", "o", "--quiet", "--timeout", "1", "-j", "6", "--format",
                                     "csv", "--set", "workload.label=slow"});
  CHECK(ran.code == 2);
  CHECK(ran.err == "faultline: resident, workload.size = 64 B: took longer than 1 s (--timeout) (and 5 more points)\n");
  const Json point = Json::parse(read_text("o/results.json"))[0];
  CHECK(point.at("status") == "timed out");
  CHECK(point.at("events").is_null());
  CHECK(point.at("simulated_time").at("value").is_null());
}

TEST_CASE("what the kernel refuses to a program is a result: a cell, a remark, a status, and exit code 0") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", R"(strategies = ["resident"]
parameters.workload.label = "refused"
axes.workload.size = ["64 B", "4 KiB", "16 KiB"]
report = ["matrix", "points"]
)");
  const Ran ran = faultline_program({"run", "mine.toml", "--out", "o"});
  CHECK(ran.code == 0);
  CHECK(ran.out.find("        4 KiB   refused\n") != std::string::npos);
  CHECK(ran.out.find("refused: node 0 may not lock so much [resident, workload.size = 4 KiB, and 1 more]\n") !=
        std::string::npos);
  const Json results = Json::parse(read_text("o/results.json"));
  CHECK_FALSE(results[0].contains("refused"));
  CHECK(results[1]["refused"] == "node 0 may not lock so much");
  CHECK(read_text("o/results.csv").find("resident,4096,1,,,,,,,refused,node 0 may not lock so much\n") !=
        std::string::npos);
}

TEST_CASE("config says what a strategy is based on, and who of them has set each value") {
  const Sandbox sandbox;
  sandbox.write(
      "mine.toml",
      "platform = \"p.toml\"\nstrategy.s = { based_on = \"fault/touch-ahead\", strategy.registration = \"pin\" }\n");
  sandbox.write("p.toml", "based_on = \"exanest-qfdb\"\n");
  const Ran ran = faultline_program({"config", "mine.toml", "--changed"});
  INFO(ran.out + ran.err);
  CHECK(
      ran.out.starts_with("# point 1 of 1: s\n# the platform p.toml is based on exanest-qfdb\n"
                          "# the strategy s is based on fault/touch-ahead\n"));
  CHECK(ran.out.find("strategy.registration = \"pin\"") != std::string::npos);
  CHECK(ran.out.find("set by strategy s, line 2\n") != std::string::npos);
  CHECK(ran.out.find("set by strategy fault/touch-ahead, line 5\n") != std::string::npos);
  const Json json = Json::parse(faultline_program({"config", "mine.toml", "--format", "json"}).out);
  CHECK(json[0].at("based_on") == Json::parse("[\"fault/touch-ahead\"]"));
}

TEST_CASE("config simulates nothing and says who set what") {
  const Sandbox sandbox;
  const Ran ran = faultline_program({"config", "sizes", "--changed", "--set", "workload.label=crash"});
  CHECK(ran.code == 0);
  CHECK(ran.out.find("# point 1 of 6: resident, workload.size = 64 B\n") == 0);
  CHECK(ran.out.find("set by platform exanest-qfdb, line 4 (published: a paper)") != std::string::npos);
  CHECK(ran.err == "the first of 6 points; --all prints every one\n");
  CHECK(Json::parse(faultline_program({"config", "sizes", "--all", "--format", "json"}).out).size() == 6);
  CHECK(files_in(".") == 0);
}

TEST_CASE("every command has help with examples, and the version names the build") {
  const std::string general = faultline_program({"help"}).out;
  for (const std::string& command : command_names()) {
    CHECK(general.find("\n  faultline " + command) != std::string::npos);
    const Ran ran = faultline_program({"help", command});
    CHECK(ran.code == 0);
    CHECK(ran.out.find("\n  faultline " + command) != std::string::npos);
    CHECK(ran.out.find("Options:") != std::string::npos);
    if (command != "help") CHECK(faultline_program({command, "--help"}).out == ran.out);
  }
  CHECK(general.find("\n  faultline run EXPERIMENT       simulate every point") != std::string::npos);
  CHECK(general.find("\n  faultline sensitivity EXPERIMENT\n                                 which of") !=
        std::string::npos);
  CHECK(faultline_program({"--help"}).out == faultline_program({"help"}).out);
  CHECK(faultline_program({"--version"}).out.starts_with("faultline 0."));
}

TEST_CASE("every command of the table is done by somebody, who refuses what is not there") {
  const Sandbox sandbox;
  for (const CommandRow& row : command_rows()) {
    std::vector<std::string> arguments{row.name};
    arguments.resize(1 + std::max<std::size_t>(1, row.least_arguments), "none");
    const Ran ran = faultline_program(arguments);
    INFO(row.name << ": " << ran.err);
    CHECK(ran.code == 2);
  }
}

TEST_CASE("Ctrl-C leaves a readable run folder and exit code 130") {
  const Sandbox sandbox;
  // A fresh process, as the terminal would have it; points wait until the signal is there.
  class Slow : public FakeSimulator {
   public:
    std::unique_ptr<Machine> machine() const override {
      class SlowMachine : public FakeMachine {
       public:
        workloads::PointResult run(std::uint64_t seed, const workloads::Watch& watch) override {
          // The second one of whatever order.
          if (fs::exists("first")) {
            std::ofstream("started") << "1";
            std::this_thread::sleep_for(std::chrono::hours(1));
          }
          std::ofstream("first") << "1";
          return FakeMachine::run(seed, watch);
        }
      };
      return std::make_unique<SlowMachine>();
    }
  };
  const pid_t child = fork();
  if (child == 0) {
    std::ofstream out("out"), err("err");
    const int code = run_application({"run", "sizes", "-j", "1", "--out", "o", "--configs", test_configs().string()},
                                     Slow{}, Console{out, err, false, 160});
    out.flush();
    err.flush();
    _exit(code);
  }
  for (int i = 0; i < 600 && !fs::exists("started"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(read_text("err") ==
        "interrupted: 1 of 6 points are complete and kept; the same command goes on from there\nrun folder: o\n");
  CHECK(Json::parse(read_text("o/results.json")).size() == 1);
  CHECK(Json::parse(read_text("o/meta.json")).at("interrupted") == true);
}
