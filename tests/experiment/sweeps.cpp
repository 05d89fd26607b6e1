// SPDX-License-Identifier: Apache-2.0
// Where points lie: ranges, axes that advance together, samples, conditions, repetitions; and what is said about
// mistakes.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <set>

#include "models/sim/units.hpp"
#include "src/experiment/effective.hpp"
#include "src/experiment/expansion.hpp"
#include "tests/experiment/reading.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::test;

namespace {

using Texts = std::vector<std::string>;

// What the points have on an axis, in their order.
Texts values(const std::string& text, std::size_t axis = 0, const Texts& overrides = {}) {
  Texts found;
  for (const Point& point : points_of(text, overrides)) found.push_back(point.axes.at(axis).text);
  return found;
}

Texts labels(const std::string& text, const Texts& overrides = {}) {
  Texts found;
  for (const Point& point : points_of(text, overrides)) found.push_back(point.label());
  return found;
}

double us(const std::string& text) { return static_cast<double>(sim::parse_time(text).count()) / 1e6; }

}  // namespace

TEST_CASE("a linear range has as many values as it says, or as its step allows, both ends included") {
  CHECK(values("axes.cpu.cores = { from = 1, to = 7, steps = 4 }") == Texts{"1", "3", "5", "7"});
  CHECK(values("axes.cpu.cores = { from = 1, to = 8, step = 3 }") == Texts{"1", "4", "7"});
  CHECK(values("axes.workload.cold_share = { from = 0, to = 1, step = 0.1 }") ==
        Texts{"0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1"});
  CHECK(values("axes.workload.cold_share = { from = \"0 %\", to = \"100 %\", step = \"50 %\" }") ==
        Texts{"0", "0.5", "1"});
  CHECK(values("axes.network.internal_latency = { from = \"50 ns\", to = \"200 ns\", steps = 3 }") ==
        Texts{"50 ns", "125 ns", "200 ns"});
  CHECK(values("axes.workload.size = { from = \"1 KiB\", to = \"4 KiB\", step = \"1 KiB\" }") ==
        Texts{"1 KiB", "2 KiB", "3 KiB", "4 KiB"});
  // A difference need not be a legal value.
  CHECK(values("axes.network.internal_latency = { from = \"1 ns\", to = \"2 ns\", step = \"500 ps\" }").size() == 3);
  // Whole numbers that fall together are one.
  CHECK(values("axes.cpu.cores = { from = 1, to = 3, steps = 9 }") == Texts{"1", "2", "3"});
}

TEST_CASE("a logarithmic range has every power, or as many values as it says") {
  CHECK(values("axes.workload.size = { from = \"64 B\", to = \"1 KiB\", scale = \"log2\" }") ==
        Texts{"64 B", "128 B", "256 B", "512 B", "1 KiB"});
  CHECK(values("axes.workload.iterations = { from = 1, to = 5000, scale = \"log10\" }") ==
        Texts{"1", "10", "100", "1000"});
  // Three digits, as one would write them; the ends are exact.
  CHECK(values("axes.workload.iterations = { from = 7, to = 9999, scale = \"log10\", steps = 4 }") ==
        Texts{"7", "79", "888", "9999"});
  // Ratios that give whole numbers do.
  CHECK(values("axes.workload.size = { from = \"4 KiB\", to = \"64 KiB\", scale = \"log2\", steps = 5 }") ==
        Texts{"4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB"});
  CHECK(values("axes.workload.cold_share = { from = 0.07, to = 0.7, scale = \"log10\" }") == Texts{"0.07", "0.7"});
  CHECK(values("axes.workload.cold_share = { from = 1e-310, to = 1, steps = 2 }").size() == 2);
  CHECK(values("axes.network.internal_rate = { from = \"1 Gb/s\", to = \"100 Gb/s\", scale = \"log10\", steps = 3 }") ==
        Texts{"1 Gb/s", "10 Gb/s", "100 Gb/s"});
}

TEST_CASE("a range is one axis among others, and --set leaves one value of it") {
  const std::string text =
      "axes.cpu.cores = { from = 1, to = 2, steps = 2 }\naxes.workload.kind = [\"read\", \"write\"]";
  CHECK(labels(text) ==
        Texts{"default, cpu.cores = 1, workload.kind = read", "default, cpu.cores = 1, workload.kind = write",
              "default, cpu.cores = 2, workload.kind = read", "default, cpu.cores = 2, workload.kind = write"});
  CHECK(values(text, 0, {"cpu.cores=4"}) == Texts{"4", "4"});
}

TEST_CASE("of axes that advance together those lead that tell their values apart") {
  const auto leading = [](const std::string& text) {
    const Experiment experiment = read(text);
    std::string names;
    const std::vector<bool> leads = leading_axes(experiment.axes);
    for (std::size_t i = 0; i < leads.size(); ++i) names += leads[i] ? experiment.axes[i].key + " " : "";
    return names;
  };
  CHECK(leading("axes.cpu.cores = [1, 2]\naxes.workload.size = [\"64 B\"]") == "cpu.cores workload.size ");
  const std::string zip =
      "zip = [[\"cpu.cores\", \"workload.iterations\"]]\naxes.workload.size = [\"64 B\", \"1 KiB\"]\n";
  CHECK(leading(zip + "axes.cpu.cores = [1, 2, 3]\naxes.workload.iterations = [9, 9, 5]") ==
        "workload.size cpu.cores ");
  CHECK(leading(zip + "axes.cpu.cores = [1, 1, 2]\naxes.workload.iterations = [9, 8, 5]") ==
        "workload.size workload.iterations ");
  CHECK(leading(zip + "axes.cpu.cores = [1, 2]\naxes.workload.iterations = [9, 8]") == "workload.size cpu.cores ");
  // None of them alone.
  CHECK(leading(zip + "axes.cpu.cores = [1, 1, 2]\naxes.workload.iterations = [8, 9, 9]") ==
        "workload.size cpu.cores workload.iterations ");
}

TEST_CASE("axes that are zipped advance together, in the place of their first") {
  const std::string text = R"(
zip = [["cpu.cores", "workload.iterations"]]
[axes]
cpu.cores = [1, 2]
workload.kind = ["read", "write"]
workload.iterations = [10, 20]
)";
  CHECK(labels(text) == Texts{"default, cpu.cores = 1, workload.kind = read, workload.iterations = 10",
                              "default, cpu.cores = 1, workload.kind = write, workload.iterations = 10",
                              "default, cpu.cores = 2, workload.kind = read, workload.iterations = 20",
                              "default, cpu.cores = 2, workload.kind = write, workload.iterations = 20"});
  // All of them are set, or none.
  CHECK(labels(text, {"workload.iterations=30", "cpu.cores=8"}) ==
        Texts{"default, cpu.cores = 8, workload.kind = read, workload.iterations = 30",
              "default, cpu.cores = 8, workload.kind = write, workload.iterations = 30"});
  CHECK(mistake(text, {"cpu.cores=8"}) ==
        "--set cpu.cores=8: cpu.cores: advances together with workload.iterations (zip), whose values are not set: "
        "--set workload.iterations=VALUE as well");
  const std::string three = "zip = [[\"cpu.cores\", \"workload.iterations\", \"workload.size\"]]\n";
  const std::string axes =
      "axes.cpu.cores = [1, 2]\naxes.workload.iterations = [1, 2]\naxes.workload.size = [\"1 B\", \"2 B\"]\n";
  CHECK(mistake(three + axes, {"cpu.cores=8"})
            .ends_with("--set workload.iterations=VALUE --set workload.size=VALUE as well"));
  // A value may come twice on such an axis.
  CHECK(values("zip = [[\"cpu.cores\", \"workload.iterations\"]]\naxes.cpu.cores = [1, 1]\n"
               "axes.workload.iterations = [1, 2]") == Texts{"1", "1"});
}

TEST_CASE("a Latin hypercube has one value in each part of each axis, whatever the other axes") {
  const std::string latency = "network.internal_latency = { from = \"1 ns\", to = \"1 us\", scale = \"log10\" }\n";
  const std::string text = "[sample]\ncount = 30\n[sample.axes]\n" + latency + "cpu.cores = { from = 1, to = 6 }\n" +
                           "strategy.registration = [\"nothing\", \"touch\", \"pin\"]\n";
  const Texts drawn = values(text);
  REQUIRE(drawn.size() == 30);
  std::set<int> thirtieths;
  for (const std::string& value : drawn) {
    thirtieths.insert(static_cast<int>(std::log10(us(value) * 1000) / 3 * 30 - 1e-9));
  }
  CHECK(thirtieths.size() >= 29);  // a value may be rounded over an edge
  const Texts cores = values(text, 1);
  for (const char* number : {"1", "2", "3", "4", "5", "6"}) CHECK(std::count(cores.begin(), cores.end(), number) == 5);
  const Texts prepared = values(text, 2);
  for (const char* choice : {"nothing", "touch", "pin"})
    CHECK(std::count(prepared.begin(), prepared.end(), choice) == 10);
  CHECK(values("[sample]\ncount = 30\n[sample.axes]\n" + latency) == drawn);
  CHECK(values(text) == drawn);
  CHECK(values("sample.seed = 2\n" + std::string("sample.count = 30\n[sample.axes]\n") + latency) != drawn);
}

TEST_CASE("of axes that are sampled one may be set, and the others keep what was drawn") {
  const std::string text =
      "sample.count = 5\n[sample.axes]\nworkload.iterations = { from = 1, to = 90 }\ncpu.cores = [1, 2]\n";
  CHECK(values(text, 0, {"cpu.cores=8"}) == values(text, 0));
  CHECK(values(text, 1, {"cpu.cores=8"}) == Texts{"8", "8", "8", "8", "8"});
  CHECK(labels(text, {"cpu.cores=8", "workload.iterations=3"}) ==
        Texts{"default, workload.iterations = 3, cpu.cores = 8"});
}

TEST_CASE("of one axis that is drawn alone no value comes twice") {
  CHECK(values("[sample]\ncount = 30\n[sample.axes]\ncpu.cores = { from = 2, to = 4 }\n").size() == 3);
}

TEST_CASE("no point is simulated twice, whatever is drawn or set") {
  const std::string sample =
      "[sample]\ncount = 20\n[sample.axes]\ncpu.cores = [1, 2]\nworkload.kind = [\"read\", \"write\"]\n";
  CHECK(points_of(sample).size() == 4);
  const std::string zipped =
      "zip = [[\"cpu.cores\", \"workload.iterations\"]]\naxes.cpu.cores = [1, 2]\n"
      "axes.workload.iterations = [1, 2]\n";
  CHECK(points_of(zipped, {"cpu.cores=3", "workload.iterations=4"}).size() == 1);
  // Another strategy is another point, though it may set the same.
  CHECK(points_of("strategies = [\"a\", \"b\"]\nstrategy.a.cpu.cores = 2\nstrategy.b.cpu.cores = 2\n").size() == 2);
}

TEST_CASE("axes come in the order of the file, however their keys are nested") {
  CHECK(
      labels("axes.workload.iterations = [1, 2]\naxes.cpu.cores = [3]\naxes.workload.size = [\"1 B\", \"2 B\"]\n")[1] ==
      "default, workload.iterations = 1, cpu.cores = 3, workload.size = 2 B");
}

TEST_CASE("random samples are drawn independently, within the range, and meet every strategy") {
  const std::string text =
      "strategies = [\"resident\", \"fault/touch-ahead\"]\n[sample]\ncount = 200\n"
      "method = \"random\"\n[sample.axes]\nworkload.cold_share = { from = 0.25, to = 0.75 }\n";
  const Texts drawn = values(text);
  REQUIRE(drawn.size() == 400);
  double sum = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    const double share = std::stod(drawn[i]);
    CHECK(share >= 0.25);
    CHECK(share <= 0.75);
    CHECK(drawn[i] == drawn[i + 200]);
    sum += share;
  }
  CHECK(sum / 200 == Approx(0.5).margin(0.05));
}

TEST_CASE("combinations to which all of a condition's parts apply are left out") {
  const std::string axes = "axes.workload.size = [\"64 B\", \"4 KiB\", \"1 MiB\"]\naxes.cpu.cores = [1, 2]\n";
  const auto left = [&](const std::string& skip) {
    Texts found;
    for (const Point& point : points_of(skip + axes)) found.push_back(point.axes[0].text + " " + point.axes[1].text);
    return found;
  };
  CHECK(left("skip = [{ \"workload.size\" = \"< 4 KiB\", \"cpu.cores\" = 1 }]\n") ==
        Texts{"64 B 2", "4 KiB 1", "4 KiB 2", "1 MiB 1", "1 MiB 2"});
  CHECK(left("skip = [{ workload.size = \"<= 4096 B\" }, { cpu.cores = \"!= 2\" }]\n") == Texts{"1 MiB 2"});
  CHECK(left("skip = [{ workload.size = \"> 64 B\" }]\n") == Texts{"64 B 1", "64 B 2"});
  CHECK(left("skip = [{ workload.size = \">= 4 KiB\", cpu.cores = 2 }]\n") ==
        Texts{"64 B 1", "64 B 2", "4 KiB 1", "1 MiB 1"});
  CHECK(labels("strategies = [\"resident\", \"fault/touch-ahead\"]\naxes.cpu.cores = [1, 2]\n"
               "[[skip]]\nstrategy = \"resident\"\ncpu.cores = 2\n") ==
        Texts{"resident, cpu.cores = 1", "fault/touch-ahead, cpu.cores = 1", "fault/touch-ahead, cpu.cores = 2"});
  // What cannot be may be left out, too.
  CHECK(points_of("axes.workload.cold_share = [0, 0.5]\naxes.strategy.registration = [\"nothing\", \"pin\"]\n"
                  "skip = [{ strategy.registration = \"pin\", workload.cold_share = \"> 0\" }]\n")
            .size() == 3);
}

TEST_CASE("each combination is repeated with the seeds that follow") {
  const auto points = points_of("seed = 5\nrepetitions = 3\naxes.cpu.cores = [1, 2]\n");
  Texts found;
  for (const Point& point : points) found.push_back(point.label());
  CHECK(found == Texts{"default, cpu.cores = 1, seed 5", "default, cpu.cores = 1, seed 6",
                       "default, cpu.cores = 1, seed 7", "default, cpu.cores = 2, seed 5",
                       "default, cpu.cores = 2, seed 6", "default, cpu.cores = 2, seed 7"});
  CHECK(points.back().seed == 7);
}

TEST_CASE("the effective experiment has the same points: ranges and samples are lists in it") {
  const std::string text = R"(
repetitions = 2
strategies = ["resident"]
zip = [["workload.iterations", "cpu.cores"]]
skip = [{ workload.size = ">= 2 KiB", cpu.cores = 3 }]
[axes]
workload.size = { from = "1 KiB", to = "4 KiB", scale = "log2" }
cpu.cores = [1, 2, 3]
workload.iterations = { from = 10, to = 30, step = 10 }
[sample]
count = 3
[sample.axes]
network.internal_latency = { from = "10 ns", to = "90 ns" }
network.internal_rate = ["10 Gb/s", "16 Gb/s"]
)";
  const std::string effective = effective_experiment(read(text), kSimulator);
  CHECK(labels(effective) == labels(text));
  const auto before = points_of(text);
  const auto after = points_of(effective);
  CHECK(std::equal(before.begin(), before.end(), after.begin(), after.end(),
                   [](const Point& a, const Point& b) { return a.id == b.id; }));
  CHECK(labels(text).size() == (3 * 3 - 2) * 3 * 2);
}

TEST_CASE("mistakes in sweeps are told with place, key, value and what is allowed") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"axes.cpu.cores = { from = 1, to = 9, steps = 2 }\n",
       "mine.toml:1:35: cpu.cores: 9 is out of range; allowed: 1 to 8"},
      {"axes.cpu.cores = { from = 1, steps = 2 }\n",
       "mine.toml:1:18: cpu.cores: the range has no 'to'; allowed: { from = ..., to = ..., steps = N }, { from, to, "
       "step }, "
       "or { from, to, scale = \"log2\" or \"log10\" }"},
      {"axes.cpu.cores = { from = 4, to = 4, steps = 2 }\n",
       "mine.toml:1:18: cpu.cores: the range ends where it begins, or before; allowed: from below to"},
      {"axes.cpu.cores = { from = 1, to = 4 }\n",
       "mine.toml:1:18: cpu.cores: says neither steps nor step; allowed: { from = ..., to = ..., steps = N }, { from, "
       "to, "
       "step }, or { from, to, scale = \"log2\" or \"log10\" }"},
      {"axes.cpu.cores = { from = 1, to = 4, steps = 1 }\n",
       "mine.toml:1:46: cpu.cores.steps: 1; allowed: a whole number from 2 to 1000000"},
      {"axes.cpu.cores = { from = 1, to = 4, step = 0 }\n",
       "mine.toml:1:45: cpu.cores: step = 0; allowed: more than 0, written as the range's ends are"},
      {"axes.workload.size = { from = \"1 B\", to = \"8 B\", step = 2 }\n",
       "mine.toml:1:57: workload.size: step = 2; allowed: more than 0, written as the range's ends are"},
      {"axes.workload.cold_share = { from = 0, to = 1, step = inf }\n",
       "mine.toml:1:55: workload.cold_share: step = inf; allowed: more than 0, written as the range's ends are"},
      {"axes.cpu.cores = {}\n", "mine.toml:1:18: cpu.cores: the axis is empty; allowed: at least one value"},
      {"axes.cpu.cores = [1]\nskip = [{ cpu = {} }]\n",
       "mine.toml:2:9: skip: a table without a value is no condition; allowed: { \"an.axis\" = \"< 4 KiB\", strategy = "
       "\"mlock\" }"},
      {"axes.cpu.cores = { from = 1, to = 4, scale = \"log3\" }\n",
       "mine.toml:1:46: cpu.cores: scale = the text 'log3'; allowed: linear, log2, log10; did you mean 'log2'?"},
      {"axes.workload.cold_share = { from = 0, to = 1, scale = \"log2\" }\n",
       "mine.toml:1:28: workload.cold_share: a logarithmic range begins at 0; allowed: from above 0, or a linear "
       "range"},
      {"axes.workload.kind = { from = \"read\", to = \"write\", steps = 2 }\n",
       "mine.toml:1:22: workload.kind: is a choice, of which there are no ranges; allowed: a list of values"},
      {"axes.cpu.coers = { from = 1, to = 4, steps = 2 }\n",
       "mine.toml:1:10: cpu.coers: no such parameter; did you mean 'cpu.cores'?"},
      {"axes.cpu.cores = { from = 1, to = 4, stpes = 2 }\n",
       "mine.toml:1:18: cpu.cores: says neither steps nor step; allowed: { from = ..., to = ..., steps = N }, { from, "
       "to, "
       "step }, or { from, to, scale = \"log2\" or \"log10\" }\n"
       "mine.toml:1:38: cpu.cores.stpes: no such key; allowed: from, to, scale, steps, step; did you mean 'steps'?"},
      {"axes.cpu.cores = [1, 2]\nzip = [[\"cpu.cores\", \"workload.size\"]]\n",
       "mine.toml:2:22: zip: the text 'workload.size' is no axis under [axes]; allowed: cpu.cores"},
      {"axes.cpu.cores = [1, 2]\naxes.workload.iterations = [1]\nzip = [[\"cpu.cores\", \"workload.iterations\"]]\n",
       "mine.toml:3:22: zip: 'workload.iterations' has 1 values and 'cpu.cores' has 2; allowed: as many"},
      {"axes.cpu.cores = [1, 2]\nzip = [[\"cpu.cores\", \"cpu.cores\"]]\n",
       "mine.toml:2:22: zip: 'cpu.cores' is in two groups, or twice in one"},
      {"axes.cpu.cores = [1, 2]\nzip = [\"cpu.cores\"]\n",
       "mine.toml:2:8: zip: the text 'cpu.cores' is no group of axes; allowed: a list of lists of axes, [[\"a.b\", "
       "\"c.d\"]]"},
      {"sample.count = 0\nsample.axes.cpu.cores = [1]\n",
       "mine.toml:1:16: sample.count: 0; allowed: a whole number from 1 to 1000000"},
      {"sample.axes.cpu.cores = [1]\n",
       "mine.toml:1:1: sample: says no count; allowed: a whole number from 1 to 1000000"},
      {"sample.count = 3\n", "mine.toml:1:1: sample: says no axes; allowed: [sample.axes], with lists or ranges"},
      {"sample.count = 3\nsample.method = \"latin\"\nsample.axes.cpu.cores = [1]\n",
       "mine.toml:2:17: sample.method: 'latin'; allowed: latin-hypercube, random"},
      {"sample.count = 3\nsample.axes.cpu.cores = { from = 1, to = 2, steps = 3 }\n",
       "mine.toml:2:45: cpu.cores.steps: no such key; allowed: from, to, scale"},
      {"axes.cpu.cores = [1]\nsample.count = 3\nsample.axes.cpu.cores = [1]\n",
       "mine.toml:3:17: cpu.cores: is an axis twice; first at mine.toml:1:10"},
      {"axes.cpu.cores = [1]\nskip = [{ cpu.coers = 1 }]\n",
       "mine.toml:2:15: skip: 'cpu.coers' is no axis; allowed: cpu.cores, strategy; did you mean 'cpu.cores'?"},
      {"axes.cpu.cores = [1]\nskip = [{ cpu.cores = \"< many\" }]\n",
       "mine.toml:2:23: cpu.cores: 'many' is not a whole number; allowed: 1 to 8"},
      {"axes.workload.kind = [\"read\"]\nskip = [{ workload.kind = \"< write\" }]\n",
       "mine.toml:2:27: skip: 'workload.kind' has no order; allowed: a value, or \"!= VALUE\""},
      {"strategies = [\"resident\"]\naxes.cpu.cores = [1]\nskip = [{ strategy = \"residnet\" }]\n",
       "mine.toml:3:22: skip: strategy = the text 'residnet'; allowed: resident; did you mean 'resident'?"},
      {"axes.cpu.cores = [1]\nskip = [{}]\n",
       "mine.toml:2:9: skip: a table is no condition; allowed: { \"an.axis\" = \"< 4 KiB\", strategy = \"mlock\" }"},
      {"axes.cpu.cores = [1]\nskip = [{ cpu.cores = 1 }]\n", "mine.toml: skip leaves no point"},
      {"repetitions = 0\n", "mine.toml:1:15: repetitions: 0; allowed: a whole number from 1 to 10000"},
      {"axes.workload.iterations = { from = 1, to = 9999, step = 1 }\naxes.cpu.cores = { from = 1, to = 8, steps = 8 "
       "}\n"
       "repetitions = 20\n",
       "mine.toml: axes, strategies and repetitions make more than 1000000 points, skipped ones included; if "
       "that is meant, --max-points allows more"},
  }));
  INFO(text);
  CHECK(mistake(text) == message);
}
