// SPDX-License-Identifier: Apache-2.0
// Strategies and platforms that are based on others: what they set in all, and mistakes in what they are made of.
#include <catch2/catch.hpp>

#include "src/experiment/effective.hpp"
#include "src/experiment/input_limits.hpp"
#include "tests/experiment/reading.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::test;

namespace {

// Of the first point: what its strategy sets, in words.
std::string set_in(const Point& point) {
  const auto machine = configure(point, kSimulator);
  const auto get = [&](const char* name) { return machine->parameters().find(name)->get(); };
  return get("strategy.registration") + ", " + get("strategy.resolve") + ", " + get("strategy.on_destination_fault") +
         ", " + get("strategy.touch_ahead_pages");
}

std::string told(const Sandbox& sandbox, const std::string& text) {
  try {
    const auto experiment =
        read_experiment(sandbox.write("mine.toml", text), {}, ConfigLibrary(test_configs()), kSimulator);
    return set_in(expand(experiment, kSimulator).front());
  } catch (const UserError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a strategy has what it is based on, but for what it sets itself") {
  const Sandbox sandbox;
  CHECK(told(sandbox, "strategy.s = { based_on = \"fault/touch-ahead\", strategy.touch_ahead_pages = 8 }\n") ==
        "nothing, touch-ahead, terminate, 8");
  CHECK(told(sandbox, "strategy.s = { based_on = \"fault/touch-ahead\", strategy.resolve = \"touch-a-page\" }\n") ==
        "nothing, touch-a-page, terminate, 4");
  CHECK(
      told(sandbox, "strategy.s.based_on = \"fault/touch-ahead\"\nparameters.strategy.resolve = \"touch-a-page\"\n") ==
      "nothing, touch-ahead, terminate, 4");
}

TEST_CASE("a strategy is based on one of the same file, on one that ships, or on a file; chains have all of them") {
  const Sandbox sandbox;
  sandbox.write(
      "there/base.toml",
      "based_on = \"next.toml\"\n[parameters]\nstrategy.touch_ahead_pages = 16\nstrategy.registration = \"touch\"\n");
  sandbox.write("there/next.toml", "based_on = \"fault/touch-ahead\"\n[parameters]\nstrategy.registration = \"pin\"\n");
  const std::string text =
      "strategies = [\"a\", \"there/base.toml\"]\n"
      "strategy.b = { based_on = \"there/base.toml\", strategy.touch_ahead_pages = 32 }\n"
      "strategy.a = { based_on = \"b\", strategy.on_destination_fault = \"stall\" }\n";
  CHECK(told(sandbox, text) == "touch, touch-ahead, stall, 32");
  const Experiment experiment = read_experiment("mine.toml", {}, ConfigLibrary(test_configs()), kSimulator);
  CHECK(experiment.strategies[0].bases ==
        std::vector<std::string>{"b", "there/base.toml", "next.toml", "fault/touch-ahead"});
  CHECK(experiment.strategies[1].name == "base");
  CHECK(experiment.strategies[1].bases == std::vector<std::string>{"next.toml", "fault/touch-ahead"});
  CHECK(origins(experiment, "a") ==
        "# the strategy a is based on b, that on there/base.toml, that on next.toml, that on fault/touch-ahead\n");
  // Who set what is told by the file that says it.
  const auto points = expand(experiment, kSimulator);
  CHECK(deciding(points[0].settings, "strategy.resolve")->set_by() == "strategy fault/touch-ahead, line 5");
  CHECK(deciding(points[0].settings, "strategy.registration")->set_by() == "strategy there/base.toml, line 4");
}

TEST_CASE("axes sweep what a strategy has from its base, and --set wins over both") {
  const std::string text =
      "strategy.s = { based_on = \"fault/touch-ahead\", strategy.registration = \"touch\" }\n"
      "axes.strategy.touch_ahead_pages = [1, 2]\n";
  CHECK(set_in(points_of(text)[1]) == "touch, touch-ahead, terminate, 2");
  CHECK(set_in(points_of(text, {"strategy.resolve=touch-a-page", "strategy.registration=pin"}).front()) ==
        "pin, touch-a-page, terminate, 1");
}

TEST_CASE("the effective experiment names no base, and has the strategy whole, each parameter once") {
  const Sandbox sandbox;
  sandbox.write("base.toml", "[parameters]\nstrategy.registration = \"touch\"\nstrategy.touch_ahead_pages = 9\n");
  sandbox.write("mine.toml", "strategy.s = { based_on = \"base.toml\", strategy.registration = \"pin\" }\n");
  const auto experiment = read_experiment("mine.toml", {}, ConfigLibrary(test_configs()), kSimulator);
  const std::string effective = effective_experiment(experiment, kSimulator);
  CHECK(effective.find("\n[strategy.\"s\"]  # based on base.toml\nstrategy.registration = \"pin\"\n"
                       "strategy.touch_ahead_pages = 9\n") != std::string::npos);
  CHECK(points_of(effective).front().id == expand(experiment, kSimulator).front().id);
}

TEST_CASE("a strategy's own name as its base, circles and unknown bases are refused where they are written") {
  const Sandbox sandbox;
  CHECK(told(sandbox, "strategy.s.based_on = \"s\"\n") ==
        "mine.toml:1:23: based_on: a strategy that is based on itself: 's' on 's'");
  CHECK(told(sandbox, "strategy.a.based_on = \"b\"\nstrategy.b.based_on = \"a\"\nstrategies = [\"a\"]\n") ==
        "mine.toml:1:23: based_on: a strategy that is based on itself: 'a' on 'b' on 'a'");
  // The circle of b and c is told at its own first link, not at the one that leads there.
  CHECK(told(sandbox,
             "strategy.a.based_on = \"b\"\nstrategy.b.based_on = \"c\"\nstrategy.c.based_on = \"b\"\n"
             "strategies = [\"a\"]\n") ==
        "mine.toml:2:23: based_on: a strategy that is based on itself: 'a' on 'b' on 'c' on 'b'");
  sandbox.write("x.toml", "based_on = \"./x.toml\"\n");
  CHECK(told(sandbox, "strategies = [\"x.toml\"]\n") ==
        "x.toml:1:12: based_on: a strategy that is based on itself: 'x.toml' on './x.toml'");
  CHECK(
      told(sandbox, "strategy.s.based_on = \"residnet\"\n") ==
      "mine.toml:1:23: based_on: no strategy 'residnet'; allowed: fault/touch-a-page, fault/touch-ahead, resident, or "
      "a path ending in .toml; did you mean 'resident'?");
  CHECK(told(sandbox, "strategy.s.based_on = \"none.toml\"\n") == "mine.toml:1:23: based_on: no such file: none.toml");
  CHECK(told(sandbox, "strategy.s.based_on = \"\"\n") ==
        "mine.toml:1:23: based_on: is empty; allowed: a name, a path ending in .toml, or no such key");
  CHECK(told(sandbox, "strategy.s.based_on = 3\n") ==
        "mine.toml:1:23: based_on: 3 is not text; allowed: text in quotes");
  // A file does not know the strategies of the experiment that names it.
  sandbox.write("x.toml", "based_on = \"own\"\n");
  CHECK(told(sandbox, "strategy.own = {}\nstrategy.s.based_on = \"x.toml\"\n")
            .starts_with("x.toml:1:12: based_on: no strategy 'own'; "));
}

TEST_CASE("a mistake in a base is told with the file and line where it stands, whoever is based on it") {
  const Sandbox sandbox;
  sandbox.write("base.toml", "[parameters]\nstrategy.registratin = \"pin\"\nstrategy.touch_ahead_pages = 0\n");
  CHECK(told(sandbox,
             "strategy.s = { based_on = \"base.toml\", strategy.touch_ahead_pages = 2 }\n"
             "strategy.t = { based_on = \"base.toml\" }\n") ==
        "base.toml:2:10: strategy.registratin: no such parameter; did you mean 'strategy.registration'?\n"
        "base.toml:3:30: strategy.touch_ahead_pages: 0 is out of range; allowed: 1 to 512");
  sandbox.write("base.toml", "parameters = \n");
  CHECK(told(sandbox, "strategy.s.based_on = \"base.toml\"\n").starts_with("base.toml:1:14: not TOML: "));
}

TEST_CASE("bases are followed as deep as a person can read, and no deeper") {
  const Sandbox sandbox;
  const auto chain = [&](std::size_t bases) {
    const std::string last = "strategy.s" + std::to_string(bases);
    std::string text = "strategies = [\"s0\"]\n" + last + ".strategy.registration = \"pin\"\n";
    for (std::size_t i = 0; i < bases; ++i)
      text += "strategy.s" + std::to_string(i) + ".based_on = \"s" + std::to_string(i + 1) + "\"\n";
    return told(sandbox, text);
  };
  CHECK(chain(kMostBases) == "pin, touch-a-page, stall, 4");
  CHECK(chain(kMostBases + 1) == "mine.toml:19:25: based_on: 's0' is based on more than 16 others, each on the next");
}

TEST_CASE("a platform is based on one that is based on another") {
  const Sandbox sandbox;
  sandbox.write("p.toml", "based_on = \"q.toml\"\n[parameters]\ncpu.cores = { value = 2, standing = \"setting\" }\n");
  sandbox.write("q.toml",
                "based_on = \"exanest-qfdb\"\n[parameters]\n"
                "network.internal_rate = { value = \"8 Gb/s\", standing = \"setting\" }\n"
                "cpu.cores = { value = 3, standing = \"setting\" }\n");
  sandbox.write("mine.toml", "platform = \"p.toml\"\n");
  const auto experiment = read_experiment("mine.toml", {}, ConfigLibrary(test_configs()), kSimulator);
  const auto machine = configure(expand(experiment, kSimulator).front(), kSimulator);
  CHECK(machine->parameters().find("network.internal_latency")->get() == "145 ns");
  CHECK(machine->parameters().find("network.internal_rate")->get() == "8 Gb/s");
  CHECK(machine->parameters().find("cpu.cores")->get() == "2");
  CHECK(origins(experiment, "default") == "# the platform p.toml is based on q.toml, that on exanest-qfdb\n");
  const std::string effective = effective_experiment(experiment, kSimulator);
  CHECK(
      effective.starts_with("# The effective configuration of the experiment 'mine' on the platform 'p.toml', based on "
                            "q.toml, that on exanest-qfdb.\n"));
  CHECK(points_of(effective).front().id == expand(experiment, kSimulator).front().id);
}
