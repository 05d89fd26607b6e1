// SPDX-License-Identifier: Apache-2.0
// Reading experiment, platform and strategy files: what they mean, and word for word what is said about
// every kind of mistake.
#include <catch2/catch.hpp>

#include "src/experiment/effective.hpp"
#include "src/experiment/expansion.hpp"
#include "tests/experiment/reading.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::test;

namespace {

std::string value(const Point& point, const std::string& name) {
  return configure(point, kSimulator)->parameters().find(name)->get();
}

}  // namespace

TEST_CASE("every strategy meets every combination of the axes, the last axis fastest") {
  const auto points = points_of(R"(
strategies = ["resident", "fault/touch-ahead"]
[axes]
workload.size = ["64 B", "4 KiB"]
"workload.cold_share" = [0, "50 %"]
)");
  std::vector<std::string> labels;
  for (const Point& point : points) labels.push_back(point.label());
  CHECK(labels == std::vector<std::string>{"resident, workload.size = 64 B, workload.cold_share = 0",
                                           "resident, workload.size = 64 B, workload.cold_share = 0.5",
                                           "resident, workload.size = 4 KiB, workload.cold_share = 0",
                                           "resident, workload.size = 4 KiB, workload.cold_share = 0.5",
                                           "fault/touch-ahead, workload.size = 64 B, workload.cold_share = 0",
                                           "fault/touch-ahead, workload.size = 64 B, workload.cold_share = 0.5",
                                           "fault/touch-ahead, workload.size = 4 KiB, workload.cold_share = 0",
                                           "fault/touch-ahead, workload.size = 4 KiB, workload.cold_share = 0.5"});
}

TEST_CASE("the later layer wins: default, platform, parameters, strategy, axis, --set") {
  const std::string common = "platform = \"exanest-qfdb\"\nstrategies = [\"s\"]\n";
  const auto latency = [&](const std::string& text, const std::vector<std::string>& set = {}) {
    return value(points_of(text, set).front(), "network.internal_latency");
  };
  const std::string parameters = "parameters.network.internal_latency = \"1 ns\"\n";
  const std::string strategy = "strategy.s.network.internal_latency = \"2 ns\"\n";
  const std::string axis = "axes.network.internal_latency = [\"3 ns\"]\n";
  CHECK(latency("") == "120 ns");
  CHECK(latency("platform = \"exanest-qfdb\"\n") == "145 ns");
  CHECK(latency("platform = \"exanest-qfdb\"\n" + parameters) == "1 ns");
  CHECK(latency(common + parameters + strategy) == "2 ns");
  CHECK(latency(common + parameters + strategy + axis) == "3 ns");
  CHECK(latency(common + parameters + strategy + axis, {"network.internal_latency=4 ns"}) == "4 ns");
}

TEST_CASE("an axis that --set names leaves one point, shown with its value") {
  const auto points = points_of("axes.workload.size = [\"64 B\", \"4 KiB\"]\n", {"workload.size=\"1 KiB\""});
  REQUIRE(points.size() == 1);
  CHECK(points.front().label() == "default, workload.size = 1 KiB");
}

TEST_CASE("the workload is a parameter of its own name, and the seed is the file's") {
  const Experiment experiment = read("workload = \"read\"\nseed = 7\n");
  CHECK(experiment.seed == 7);
  CHECK(value(expand(experiment, kSimulator).front(), "workload.kind") == "read");
}

TEST_CASE("paths are relative to the file that mentions them, and line ends of either kind are read") {
  const Sandbox sandbox;
  sandbox.write("there/mine/s.toml", "[parameters]\r\nstrategy.registration = \"pin\"\r\n");
  const std::string path = sandbox.write("there/exp.toml", "strategies = [\"mine/s.toml\"]\r\n");
  const auto points = expand(read_experiment(path, {}, ConfigLibrary(test_configs()), kSimulator), kSimulator);
  CHECK(points.front().strategy == "s");
  CHECK(value(points.front(), "strategy.registration") == "pin");
}

TEST_CASE("mistakes in an experiment are told with place, key, value, what is allowed and the nearest name") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"qestion = \"x\"\n",
       "mine.toml:1:1: qestion: no such key; allowed: question, platform, workload, strategies, parameters, axes, "
       "zip, sample, skip, strategy, report, seed, repetitions, slurm, program; did you mean 'question'?"},
      {"[parameters]\nworkload.iteration = 3\n",
       "mine.toml:2:10: workload.iteration: no such parameter; did you mean 'workload.iterations'?"},
      {"parameters.iterations = 3\n",
       "mine.toml:1:12: iterations: no such parameter; did you mean 'workload.iterations'?"},
      {"parameters.workload.iterations = \"many\"\n",
       "mine.toml:1:34: workload.iterations: 'many' is not a whole number; allowed: 1 to 10000"},
      {"parameters.workload.iterations = 0\n",
       "mine.toml:1:34: workload.iterations: 0 is out of range; allowed: 1 to 10000"},
      {"parameters.workload.size = 64\n", "mine.toml:1:28: workload.size: 64 has no unit; allowed: 1 B to 4 MiB"},
      {"parameters.workload.size = \"64\"\n",
       "mine.toml:1:28: workload.size: '64' has no unit (one of GiB, MiB, KiB, GB, MB, kB, B); allowed: 1 B to 4 MiB"},
      {"parameters.workload.size = \"8 MiB\"\n",
       "mine.toml:1:28: workload.size: '8 MiB' is out of range; allowed: 1 B to 4 MiB"},
      {"parameters.strategy.registration = \"tuch\"\n",
       "mine.toml:1:36: strategy.registration: 'tuch' is not one of the choices; allowed: nothing, touch, pin, ideal; "
       "did "
       "you mean 'touch'?"},
      {"parameters.cpu.cores = [1, 2]\n",
       "mine.toml:1:24: cpu.cores: a list is not a value; allowed: 1 to 8; lists belong under [axes]"},
      {"parameters.cpu.cores = 2020-01-01\n",
       "mine.toml:1:24: cpu.cores: a date or time is not a value; allowed: 1 to 8"},
      {"parameters.cpu.coers = [1]\n", "mine.toml:1:16: cpu.coers: no such parameter; did you mean 'cpu.cores'?"},
      {"parameters.workload.size = {}\n",
       "mine.toml:1:28: workload.size: a table is not a value; allowed: 1 B to 4 MiB"},
      {"[parameters.strategy.registration]\n",
       "mine.toml:1:1: strategy.registration: a table is not a value; allowed: nothing, touch, pin, ideal"},
      {"strategies = [\"s\"]\n[strategy.s]\nstrategy.registration = {}\n",
       "mine.toml:3:25: strategy.registration: a table is not a value; allowed: nothing, touch, pin, ideal"},
      {"[parameters.wrokload]\n", "mine.toml:1:13: wrokload: no such parameter"},
      {"parameters.workload.size = { value = [1] }\n",
       "mine.toml:1:38: workload.size: a list is not a value; allowed: 1 B to 4 MiB; lists belong under [axes]"},
      {"axes.cpu.cores = [1, [2]]\n",
       "mine.toml:1:22: cpu.cores: a list is not a value; allowed: 1 to 8; lists belong under [axes]"},
      {"axes.cpu.cores = [2020-01-01]\n", "mine.toml:1:19: cpu.cores: a date or time is not a value; allowed: 1 to 8"},
      {"axes.cpu = [{}]\n", "mine.toml:1:6: cpu: no such parameter"},
      {"axes.cpu.cores = [{}]\n", "mine.toml:1:19: cpu.cores: a table is not a value; allowed: 1 to 8"},
      {"sample.count = 3\nsample.axes.cpu.cores = [1, [2]]\n",
       "mine.toml:2:29: cpu.cores: a list is not a value; allowed: 1 to 8; lists belong under [axes]"},
      {"axes.cpu.cores = { from = [1], to = 4, steps = 2 }\n",
       "mine.toml:1:27: cpu.cores: a list is not a value; allowed: 1 to 8; lists belong under [axes]"},
      {"workload = \"read\"\nparameters.workload.kind = \"write\"\n",
       "mine.toml:2:28: workload.kind: says again what 'workload' says at mine.toml:1:12"},
      {"parameters.workload.size = \"99999999999999999999 B\"\n",
       "mine.toml:1:28: workload.size: '99999999999999999999 B' is too large; allowed: 1 B to 4 MiB"},
      {"parameters = 3\n", "mine.toml:1:14: parameters: 3 is not a table of parameters"},
      {"[parameters]\ncpu.cores = 2\n\"cpu.cores\" = 3\n",
       "mine.toml:3:1: cpu.cores: is set twice; first at mine.toml:2:5"},
      {"platform = \"exanest-qfbd\"\n",
       "mine.toml:1:12: platform: no platform 'exanest-qfbd'; allowed: exanest-qfdb, or a path ending in .toml; did "
       "you mean "
       "'exanest-qfdb'?"},
      {"platform = \"no/such.toml\"\n", "mine.toml:1:12: platform: no such file: no/such.toml"},
      {"platform = 3\n", "mine.toml:1:12: platform: 3 is not text; allowed: text in quotes"},
      {"strategies = [\"residnet\"]\n",
       "mine.toml:1:15: strategies: no strategy 'residnet'; allowed: fault/touch-a-page, fault/touch-ahead, resident, "
       "or a path "
       "ending in .toml; did you mean 'resident'?"},
      {"strategies = [\"resident\", \"resident\"]\n",
       "mine.toml:1:27: strategies: 'resident' is named twice; first at mine.toml:1:15"},
      {"strategies = []\n", "mine.toml:1:14: strategies: is empty; allowed: at least one, or no such key"},
      {"strategies = \"resident\"\n",
       "mine.toml:1:14: strategies: the text 'resident' is not a list; allowed: [\"...\", \"...\"]"},
      {"axes.cpu.cores = []\n", "mine.toml:1:18: cpu.cores: the axis is empty; allowed: at least one value"},
      {"axes.cpu.cores = 3\n",
       "mine.toml:1:18: cpu.cores: 3 is not a list; allowed: a list of values, a range { from = ..., to = ..., steps = "
       "N }, "
       "{ from, to, step }, or { from, to, scale = \"log2\" or \"log10\" }, or one value under [parameters]"},
      {"axes.workload.size = [\"4 KiB\", \"4096 B\"]\n",
       "mine.toml:1:32: workload.size: '4 KiB' is on the axis twice; first at mine.toml:1:23"},
      {"[axes]\ncpu.cores = [1]\n\"cpu.cores\" = [2]\n",
       "mine.toml:3:1: cpu.cores: is an axis twice; first at mine.toml:2:5"},
      {"axes.cpu.cors = [1]\n", "mine.toml:1:10: cpu.cors: no such parameter; did you mean 'cpu.cores'?"},
      {"slurm = 3\n", "mine.toml:1:9: slurm: 3 is not a table; allowed: [slurm]"},
      {"slurm.partitoin = \"x\"\n",
       "mine.toml:1:7: slurm.partitoin: no such key; allowed: partition, time, memory, tasks, cpus, sbatch; did you "
       "mean "
       "'partition'?"},
      {"slurm.time = \"2 h\"\n",
       "mine.toml:1:14: slurm.time: '2 h' is no time for Slurm; allowed: MINUTES, MINUTES:SECONDS, "
       "HOURS:MINUTES:SECONDS, "
       "DAYS-HOURS, DAYS-HOURS:MINUTES or DAYS-HOURS:MINUTES:SECONDS, such as 2:00:00"},
      {"slurm.memory = \"4 GiB\"\n",
       "mine.toml:1:16: slurm.memory: '4 GiB' is no memory for Slurm; allowed: a whole number and K, M, G or T (times "
       "1024), such as 4G"},
      {"slurm.tasks = 0\n", "mine.toml:1:15: slurm.tasks: 0; allowed: a whole number from 1 to 1000000"},
      {"seed = -1\n", "mine.toml:1:8: seed: -1; allowed: a whole number from 0 to 9007199254740991"},
      {"report = \"matriks\"\n",
       "mine.toml:1:10: report.view: no view 'matriks'; allowed: points, matrix, verdict, breakdown; did you mean "
       "'matrix'?"},
      {"report = \"matrix\"\n",
       "mine.toml:1:10: report: a matrix of points needs an axis for its rows; allowed: give one under [axes]"},
      {"report = { view = \"points\", columns = [\"fault\"] }\n",
       "mine.toml:1:40: report.columns: no metric 'fault'; allowed: latency_min, latency_typical, latency_mean, "
       "latency_p99, "
       "goodput, faults, pinned_bytes_peak; did you mean 'faults'?"},
      {"report = { view = \"breakdown\", metric = \"x\" }\n",
       "mine.toml:1:32: report.metric: no such key; allowed: view"},
      {"axes.workload.size = [\"64 B\"]\nreport = { view = \"verdict\", only = \"64 B\" }\n",
       "mine.toml:2:37: report.only: the text '64 B' is no condition; allowed: \"AXIS = VALUE\", or \"strategy = "
       "NAME\""},
      {"axes.workload.size = [\"64 B\"]\nreport = { view = \"verdict\", only = \"workload.sise = 64 B\" }\n",
       "mine.toml:2:37: report.only: no axis 'workload.sise'; allowed: strategy, workload.size; did you mean "
       "'workload.size'?"},
      {"axes.workload.size = [\"64 B\"]\nreport = { view = \"verdict\", only = \"workload.size = 64 KiB\" }\n",
       "mine.toml:2:37: report.only: workload.size has no value '64 KiB'; allowed: 64 B"},
      {"axes.workload.size = [\"64 B\"]\nreport = { view = \"verdict\", only = \"workload.size = 64\" }\n",
       "mine.toml:2:37: report.only: workload.size has no value '64'; allowed: 64 B"},
      {"workload = \"wirte\"\n",
       "mine.toml:1:12: workload.kind: 'wirte' is not one of the choices; allowed: write, read; did you mean 'write'?"},
      {"parameters = { workload.cold_share = 0.5, strategy.registration = \"pin\" }\n",
       "mine.toml:1:38: workload.cold_share: pinned pages cannot be cold; decided also by strategy.registration "
       "(experiment, line 1); instead: set workload.cold_share to 0, or do not pin [strategy default]"},
      {"question = \"no end\n", "mine.toml:1:19: not TOML: "},
      {"seed = 1\nseed = 2\n", "mine.toml:2:"},
  }));
  INFO(text);
  const std::string told = mistake(text);
  // The TOML library's own words are its business: the place is ours.
  if (message.ends_with(":")) {
    CHECK(told.starts_with(message));
  } else if (message.find("not TOML") != std::string::npos) {
    CHECK(told.substr(0, told.find("not TOML")) == message.substr(0, message.find("not TOML")));
  } else {
    CHECK(told == message);
  }
}

TEST_CASE("a report of the points with one value names it in any of its spellings") {
  const auto only = [](const std::string& condition) {
    return read(
               "axes.workload.size = [\"64 B\", \"4096 B\"]\naxes.workload.cold_share = [\"50 %\"]\n"
               "report = { view = \"verdict\", only = \"" +
               condition + "\" }\n")
        .reports.front()
        .only_value;
  };
  CHECK(only("workload.size = 4 KiB") == "4 KiB");
  CHECK(only("workload.size = 4096 B") == "4 KiB");
  CHECK(only("workload.size=4096B") == "4 KiB");
  CHECK(only("workload.cold_share = 50 %") == "0.5");
  CHECK(only("workload.cold_share = 0.50") == "0.5");
  CHECK(only("strategy = default") == "default");
}

TEST_CASE("a group of parameters may be empty") {
  CHECK(points_of("[parameters]\n").size() == 1);
  CHECK(points_of("[parameters.workload]\n# size = \"4 KiB\"\n").size() == 1);
}

TEST_CASE("all mistakes of all files come at once, in the order of the text") {
  const Sandbox sandbox;
  sandbox.write("p.toml",
                "[parameters]\nnetwork.internal_rate = \"16 Gb/s\"\nnetwork.internal_latency = { value = \"2 us\", "
                "standing = \"assumed\", "
                "source = \"x\" }\n");
  sandbox.write("s.toml", "[parameters]\nstrategy.registratin = \"pin\"\n");
  sandbox.write("mine.toml", R"(platform = "p.toml"
strategies = ["s.toml"]
axes.cpu.cores = [9, 0]
parameters.workload.size = 1
)");
  std::string told;
  try {
    read_experiment("mine.toml", {"cpu.cores=many", "nonsense"}, ConfigLibrary(test_configs()), kSimulator);
  } catch (const UserError& error) {
    told = error.what();
  }
  CHECK(told ==
        "p.toml:2:25: network.internal_rate: does not say where it is from; allowed: { value = ..., standing = "
        "\"published\", \"derived\", \"fitted\", \"assumed\" or \"setting\", source = \"...\" }\n"
        "p.toml:3:38: network.internal_latency: '2 us' is out of range; allowed: 1 ns to 1 us\n"
        "--set nonsense: is not an assignment; allowed: --set KEY=VALUE\n"
        "mine.toml:3:19: cpu.cores: 9 is out of range; allowed: 1 to 8\n"
        "mine.toml:3:22: cpu.cores: 0 is out of range; allowed: 1 to 8\n"
        "mine.toml:4:28: workload.size: 1 has no unit; allowed: 1 B to 4 MiB\n"
        "s.toml:2:10: strategy.registratin: no such parameter; did you mean 'strategy.registration'?\n"
        "--set cpu.cores=many: cpu.cores: 'many' is not a whole number; allowed: 1 to 8");
}

TEST_CASE("a platform's number needs a standing and, unless it is a setting, a source") {
  const auto told = [](const std::string& entry) {
    const Sandbox sandbox;
    sandbox.write("p.toml", "[parameters]\ncpu.cores = " + entry + "\n");
    Diagnostics diagnostics;
    read_preset(ConfigKind::platform, "p.toml", "p", diagnostics);
    return diagnostics.text();
  };
  CHECK(told("{ value = 2, standing = \"setting\" }").empty());
  CHECK(told("{ value = 2, standing = \"derived\", source = \"x\" }").empty());
  CHECK(told("{ value = 2, standing = \"derived\" }") ==
        "p.toml:2:13: cpu.cores: has no source; allowed: source = \"...\", or standing = \"setting\"");
  CHECK(told("{ value = 2, standing = \"publishd\", source = \"x\" }") ==
        "p.toml:2:13: cpu.cores: standing 'publishd'; allowed: published, derived, fitted, assumed, setting; did you "
        "mean "
        "'published'?");
  CHECK(told("{ value = 2, standing = \"setting\", sorce = \"x\" }") ==
        "p.toml:2:48: cpu.cores.sorce: no such key; allowed: value, standing, source; did you mean 'source'?");
}

TEST_CASE("a platform takes from its base what it does not say itself") {
  const Sandbox sandbox;
  const ConfigLibrary library(test_configs());
  sandbox.write("mine.toml", "platform = \"p.toml\"\n");
  const auto told = [&](const std::string& platform) -> std::string {
    sandbox.write("p.toml", platform);
    try {
      const auto points = expand(read_experiment("mine.toml", {}, library, kSimulator), kSimulator);
      return value(points.front(), "network.internal_latency") + ", " + value(points.front(), "network.internal_rate");
    } catch (const UserError& error) {
      return error.what();
    }
  };
  const std::string own = "[parameters]\nnetwork.internal_rate = { value = \"8 Gb/s\", standing = \"setting\" }\n";
  CHECK(told(own) == "120 ns, 8 Gb/s");
  CHECK(told("based_on = \"exanest-qfdb\"\n" + own) == "145 ns, 8 Gb/s");
  CHECK(told("based_on = \"exanest-qfdb\"\n") == "145 ns, 16 Gb/s");
  CHECK(told("based_on = \"exanest-qfbd\"\n") ==
        "p.toml:1:12: based_on: no platform 'exanest-qfbd'; allowed: exanest-qfdb, or a path ending in .toml; did you "
        "mean 'exanest-qfdb'?");
  CHECK(told("based_on = 3\n") == "p.toml:1:12: based_on: 3 is not text; allowed: text in quotes");
  CHECK(told("based_on = \"\"\n") ==
        "p.toml:1:12: based_on: is empty; allowed: a name, a path ending in .toml, or no such key");
  CHECK(told("base = \"exanest-qfdb\"\n") ==
        "p.toml:1:1: base: no such key; allowed: description, based_on, parameters");
  sandbox.write("q.toml", "based_on = \"exanest-qfdb\"\n");
  CHECK(told("based_on = \"q.toml\"\n" + own) == "145 ns, 8 Gb/s");
  sandbox.write("q.toml", "based_on = \"p.toml\"\n");
  CHECK(told("based_on = \"q.toml\"\n") ==
        "p.toml:1:12: based_on: a platform that is based on itself: 'p.toml' on 'q.toml' on 'p.toml'");
}

TEST_CASE("the effective configuration is read back to the same points") {
  const Sandbox sandbox;
  sandbox.write("mine.toml", R"(question = "odd \"quotes\" and \\ slashes"
platform = "exanest-qfdb"
strategies = ["resident", "own", "fault/touch-ahead"]
seed = 3
parameters.workload.label = "a\nb"
strategy.own = { description = "mine", strategy.registration = "pin", strategy.touch_ahead_pages = 7 }
axes.workload.size = ["64 B", "4096 B"]
report = [{ view = "matrix", metric = "faults" }, { view = "points", columns = ["faults"] }, "breakdown"]
)");
  const ConfigLibrary library(test_configs());
  const Experiment first =
      read_experiment("mine.toml", {"strategy.touch_ahead_pages=9", "workload.size=64 B"}, library, kSimulator);
  const std::string text = effective_experiment(first, kSimulator);
  INFO(text);
  sandbox.write("again.toml", text);
  // No configs: it must stand alone.
  const Experiment second = read_experiment("again.toml", {}, ConfigLibrary(std::filesystem::path()), kSimulator);
  const auto a = expand(first, kSimulator);
  const auto b = expand(second, kSimulator);
  REQUIRE(a.size() == 3);
  REQUIRE(b.size() == 3);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].label() == b[i].label());
    const auto machine = configure(a[i], kSimulator);
    for (const auto& p : machine->parameters().all()) CHECK(p.get() == value(b[i], p.name));
  }
  CHECK(second.question == first.question);
  CHECK(second.seed == 3);
  CHECK(second.reports.size() == 3);
  CHECK(second.strategies[1].description == "mine");
}

TEST_CASE("the effective configuration says who set what") {
  const auto point =
      points_of("platform = \"exanest-qfdb\"\nstrategies = [\"fault/touch-ahead\"]\nparameters.cpu.cores = 2\n",
                {"workload.size=64 B"})
          .front();
  CHECK(effective_point(point, kSimulator, true) ==
        "network.internal_rate = \"16 Gb/s\"                         # default 10 Gb/s; set by platform "
        "exanest-qfdb, line 4 (published: a paper)\n"
        "network.internal_latency = \"145 ns\"                       # default 120 ns; set by platform "
        "exanest-qfdb, line 5 (assumed: no source)\n"
        "cpu.cores = 2                                             # default 4; set by experiment, line 3\n"
        "workload.size = \"64 B\"                                    # default 4 KiB; set by --set\n"
        "strategy.on_destination_fault = \"terminate\"               # default stall; set by strategy "
        "fault/touch-ahead, line 4\n"
        "strategy.resolve = \"touch-ahead\"                          # default touch-a-page; set by strategy "
        "fault/touch-ahead, line 5\n");
}

TEST_CASE("what Slurm is asked for is no part of a point, and stands in the effective experiment") {
  const Sandbox sandbox;
  const std::string slurm =
      "partition = \"long\"\ntime = \"1-12:30\"\nmemory = \"900M\"\ntasks = 4\ncpus = 2\n"
      "sbatch = [\"--account=us\", \"--exclusive\"]\n";
  const ConfigLibrary library(test_configs());
  const auto with = read_experiment(sandbox.write("with.toml", "[slurm]\n" + slurm), {}, library, kSimulator);
  const auto without = read_experiment(sandbox.write("without.toml", ""), {}, library, kSimulator);
  CHECK(expand(with, kSimulator).front().id == expand(without, kSimulator).front().id);
  CHECK(effective_experiment(with, kSimulator).ends_with("\n[slurm]\n" + slurm));
  CHECK(effective_experiment(without, kSimulator).find("[slurm]") == std::string::npos);
  SlurmSettings above;
  above.partition = "short";
  above.sbatch = {"--nice"};
  const SlurmSettings both = over(with.slurm, above);
  CHECK(both.partition == "short");
  CHECK(both.time == "1-12:30");
  CHECK(both.cpus == 2);
  CHECK(both.sbatch == std::vector<std::string>{"--account=us", "--exclusive", "--nice"});
  for (const char* time : {"90", "90:30", "2:00:00", "1-0", "1-0:30", "1-0:30:15"})
    CHECK(why_no_slurm_time(time) == "");
  for (const char* time : {"", "0", "0:00", "1h", "1:2:3:4", "-5"}) CHECK(why_no_slurm_time(time) != "");
}
