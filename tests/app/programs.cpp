// SPDX-License-Identifier: Apache-2.0
// [[program]] tables of experiments: what they become, what is refused of them and where, and what reports may ask for.
#include <catch2/catch.hpp>

#include "src/cluster_simulator.hpp"
#include "src/experiment/effective.hpp"
#include "src/experiment/expansion.hpp"
#include "tests/support/sandbox.hpp"
#include "tests/support/source_tree.hpp"

using namespace faultline;
using namespace faultline::test;
using experiment::Experiment;

namespace {

const app::ClusterSimulator kCluster;

Experiment read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const Sandbox sandbox;
  return experiment::read_experiment(sandbox.write("mine.toml", text), overrides,
                                     experiment::ConfigLibrary(source_tree() / "configs"), kCluster);
}

std::string complaint(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    experiment::expand(read(text, overrides), kCluster);
  } catch (const experiment::UserError& error) {
    return error.what();
  }
  return "none";
}

const std::string kTwo =
    "platform = \"exanest-qfdb\"\n"
    "strategies = [\"resident\", \"fault/touch-ahead\"]\n"
    "[[program]]\nname = \"victim\"\nkind = \"write\"\nsize = \"64 KiB\"\n"
    "[[program]]\nname = \"by\"\nkind = \"innocent\"\nstrategy = \"pin-cache\"\nnodes = \"0, 1\"\n";

std::string program(const std::string& lines) { return "[[program]]\n" + lines + "\n"; }

}  // namespace

TEST_CASE("programs: tables become parameters, which axes, --set and the effective configuration know") {
  const Experiment two = read(kTwo, {"program.by.window=3"});
  CHECK(two.programs() == std::vector<std::string>{"victim", "by"});
  const std::string effective = experiment::effective_experiment(two, kCluster);
  for (const char* line : {"program.victim.size = \"64 KiB\" ", "program.by.strategy.registration = \"pin-cache\" ",
                           "program.by.window = 3 "}) {
    INFO(line);
    CHECK(effective.find(line) != std::string::npos);
  }
  // It is read back as it was.
  const auto points = experiment::expand(two, kCluster);
  const auto again = experiment::expand(read(effective), kCluster);
  REQUIRE(points.size() == 2);
  REQUIRE(again.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(points[i].id == again[i].id);
  const auto swept =
      experiment::expand(read(kTwo + "[axes]\nprogram.victim.size = [\"4 KiB\", \"inherited\"]\n"), kCluster);
  REQUIRE(swept.size() == 4);
  CHECK(swept[0].axes.front().text == "4 KiB");
  CHECK(swept[1].axes.front().text == "inherited");
}

TEST_CASE("programs: a mistake in a table is told with its place and what is allowed") {
  const auto at = [](const std::string& told) { return told.substr(told.find("mine.toml")); };
  CHECK(at(complaint(program("kind = \"write\"")))
            .starts_with("mine.toml:1:1: program.name: is missing; allowed: lower-case letters, digits and '-'"));
  CHECK(
      at(complaint(program("name = \"A b\""))).starts_with("mine.toml:2:8: program.name: 'A b' is no name; allowed: "));
  CHECK(at(complaint(program("name = 3"))).starts_with("mine.toml:2:8: program.name: 3 is not text"));
  CHECK(at(complaint(program("name = \"a\"\nkind = \"write\"") + program("name = \"a\"")))
            .starts_with("mine.toml:5:8: program.name: 'a' is the name of two programs; first at mine.toml:2:8"));
  CHECK(at(complaint(program("name = \"a\"\nkind = \"write\"\nsiz = 3")))
            .starts_with("mine.toml:4:1: program.a.siz: no such parameter; did you mean"));
  CHECK(at(complaint(program("name = \"a\"\nkind = \"write\"\nsize = 3")))
            .starts_with("mine.toml:4:8: program.a.size: 3 has no unit; allowed: "));
  CHECK(at(complaint(program("name = \"a\"\nkind = \"write\"\nstrategy = \"pin-cahce\"")))
            .starts_with("mine.toml:4:12: program.a.strategy: no strategy 'pin-cahce'"));
  CHECK(at(complaint("program = 3\n")).starts_with("mine.toml:1:11: program: 3 is not a list"));
  CHECK(complaint(kTwo, {"program.victm.size=4 KiB"}).find("the program 'victm' has no kind") != std::string::npos);
  CHECK(complaint(kTwo) == "none");
  CHECK(
      at(complaint(program("name = \"a\""))).starts_with("mine.toml:1:1: program.a.kind: is missing; allowed: a name"));
  CHECK(at(complaint(program("name = \"a\"\nkind = \"inherited\"")))
            .starts_with("mine.toml:3:8: program.a.kind: is missing"));
  CHECK(at(complaint(program("name = \"a\"\nkind = \"write\"\naxes.workload.size = [\"4 KiB\"]")))
            .starts_with("mine.toml:4:1: program.a.axes: is the experiment's, and stands in a [[program]]"));
  CHECK(at(complaint(kTwo + "[[report]]\nview = \"verdict\"\n[axes]\nprogram.by.window = [1, 2]\n"))
            .find("a verdict is of one program") != std::string::npos);
}

TEST_CASE("programs: a strategy by name is the program's own, and may differ in some") {
  const auto strategy = [](const std::string& text) {
    return experiment::effective_experiment(
        read("strategies = [\"fault/stall\"]\n" + program("name = \"a\"\nkind = \"write\"\n" + text)), kCluster);
  };
  const auto says = [](const std::string& effective, const std::string& line) {
    return effective.find("program.a." + line) != std::string::npos;
  };
  CHECK_FALSE(says(strategy(""), "own_strategy"));
  CHECK(says(strategy("strategy = \"pin-cache\""), "own_strategy = true"));
  const std::string both = strategy("strategy = { based_on = \"pin-cache\", pin_cache.budget = \"8 KiB\" }");
  CHECK(says(both, "own_strategy = true"));
  CHECK(says(both, "strategy.registration = \"pin-cache\""));
  CHECK(says(both, "strategy.pin_cache.budget = \"8 KiB\""));
  // What it says of the machine is the machine's, which has it once.
  const std::string nic = strategy("strategy = \"nic-mmu/pushed\"");
  CHECK(says(nic, "strategy.translate = \"pushed\""));
  CHECK(nic.find("\nnic.kind = \"elan\"") != std::string::npos);
  CHECK(complaint("strategies = [\"fault/stall\"]\n"
                  "strategy.late = { based_on = \"nic-mmu/pushed-256\", elan.nak_back_off_limit = \"3 ms\" }\n" +
                  program("name = \"a\"\nkind = \"write\"\nstrategy = \"late\"") +
                  program("name = \"b\"\nkind = \"write\"\nstrategy = \"nic-mmu/pushed-256\""))
            .find("elan.nak_back_off_limit: two programs' strategies want it different, and the machine has it once; "
                  "first at mine.toml:2:") != std::string::npos);
  const std::string some = strategy("strategy.resolve = \"touch-a-page\"");
  CHECK_FALSE(says(some, "own_strategy"));
  CHECK(says(some, "strategy.resolve = \"touch-a-page\""));
}

TEST_CASE("programs: what is inherited is text in every file, whatever kind of value it stands for") {
  const std::string text = kTwo +
                           "[axes]\nprogram.victim.cold_share = [\"inherited\", 0.5]\nprogram.victim.window = "
                           "[\"inherited\", 2]\nprogram.victim.size = [\"inherited\", \"4 KiB\"]\n"
                           "program.victim.cold = [\"both\"]\n";
  const std::string effective = experiment::effective_experiment(read(text), kCluster);
  CHECK(experiment::expand(read(effective), kCluster).size() == 16);
}

TEST_CASE("programs: reports ask for metrics by the name of a program") {
  const auto report = [](const std::string& metric) {
    return kTwo + "[axes]\nprogram.victim.size = [\"4 KiB\"]\n[[report]]\nview = \"matrix\"\n" +
           (metric.empty() ? "" : "metric = \"" + metric + "\"\n");
  };
  CHECK(read(report("by.goodput")).reports.front().metric == "by.goodput");
  CHECK(read(report("faults")).reports.front().metric == "faults");
  CHECK(read(report("")).reports.front().metric == "victim.latency_mean");
  CHECK(complaint(report("latency_mean")).find("no metric 'latency_mean'") != std::string::npos);
  CHECK(complaint(report("victim.faults")).find("no metric 'victim.faults'") != std::string::npos);
}
