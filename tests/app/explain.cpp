// SPDX-License-Identifier: Apache-2.0
// faultline explain: which point's which transfer is told, and what is refused.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::test;
using Json = nlohmann::json;

namespace {

constexpr const char* kTwoByTwo =
    "question = \"?\"\nstrategies = [\"resident\", \"fault/touch-ahead\"]\n[axes]\n\"workload.size\" = [\"64 B\", \"4 "
    "KiB\"]\n";

class Explained {
 public:
  explicit Explained(const std::string& experiment = kTwoByTwo) : file_(sandbox_.write("mine.toml", experiment)) {}
  Ran operator()(std::vector<std::string> options) const {
    options.insert(options.begin(), {"explain", file_});
    return faultline_program(options);
  }
  Json json(std::vector<std::string> options) const {
    options.insert(options.end(), {"--format", "json", "-q"});
    const Ran ran = (*this)(options);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return Json::parse(ran.out);
  }

 private:
  Sandbox sandbox_;
  std::string file_;
};

}  // namespace

TEST_CASE("without options the first point's first measured transfer is told, and the program says so") {
  const Ran ran = Explained()({});
  CHECK(ran.code == 0);
  CHECK(ran.out.starts_with("One RDMA write of 64 B from node 0 to node 1\n"));
  CHECK(ran.err.find("the first of 4 points is told: resident, workload.size = 64 B; --point, --strategy and --set "
                     "choose another one\n") != std::string::npos);
}

TEST_CASE("a point is chosen by its number, its strategy or --set; a transfer by its number") {
  const Explained explained;
  CHECK(explained.json({"--point", "4"})["stories"][0]["point"] == "fault/touch-ahead, workload.size = 4 KiB");
  CHECK(explained.json({"--strategy", "fault/touch-ahead"})["stories"][0]["strategy"] == "fault/touch-ahead");
  CHECK(explained.json({"--set", "workload.size=128 B"})["stories"][0]["bytes"] == 128);
  CHECK(explained.json({"--transfer", "3"})["stories"][0]["number"] == 3);
  // A strategy of the library that the experiment does not have.
  CHECK(explained.json({"--strategy", "fault/touch-a-page"})["stories"][0]["strategy"] == "fault/touch-a-page");
}

TEST_CASE("a document holds what the story needs: strategies, parameters with their sources, terms") {
  const Json made = Explained().json({"--strategy", "fault/touch-ahead"});
  CHECK(made["format"] == "faultline-explain-1");
  CHECK(made["stories"][0]["meaning"] == "tolerate the fault");
  CHECK(made["parameters"]["cpu.cores"] ==
        Json{{"value", "4"}, {"description", "cores of a node"}, {"source", "UG1085"}});
  CHECK(made["parameters"].contains("network.internal_latency"));
  CHECK(made["terms"].contains("SMMU"));
}

TEST_CASE("two strategies are told of the same combination") {
  const Explained explained;
  const Json made = explained.json({"--compare", "fault/touch-ahead", "resident", "--point", "2"});
  CHECK(made["stories"].size() == 2);
  CHECK(made["stories"][0]["strategy"] == "fault/touch-ahead");
  CHECK(made["stories"][1]["strategy"] == "resident");
  CHECK(made["stories"][0]["point"] == "fault/touch-ahead, workload.size = 4 KiB");
  CHECK(made["stories"][1]["point"] == "resident, workload.size = 4 KiB");
  CHECK(made["stories"][1]["bytes"] == 4096);
  CHECK(explained({"--compare", "fault/touch-ahead", "resident"}).out.find(", under two strategies") !=
        std::string::npos);
}

TEST_CASE("what cannot be told is refused with what could") {
  const Explained explained;
  const auto refusal = [&](const std::vector<std::string>& options) {
    const Ran ran = explained(options);
    CHECK(ran.code == 2);
    return ran.err;
  };
  const auto says = [&](const std::vector<std::string>& options, const std::string& words) {
    const std::string text = refusal(options);
    INFO(text);
    CHECK(text.find(words) != std::string::npos);
  };
  says({"--transfer", "101"}, "--transfer: 101; allowed: 1 to 100, as many as the programs of resident, ");
  says({"--transfer", "0"}, "--transfer: '0'; allowed: a whole number from 1 to ");
  says({"--strategy", "residant"}, "--strategy: no strategy 'residant'; 'faultline list strategies' shows all");
  says({"--strategy", "residant"}, "'resident'");
  says({"--compare", "resident"}, "--compare: needs two strategies: --compare S1 S2");
  says({"--compare", "resident", "resident"}, "--compare: 'resident' twice; allowed: two different strategies");
  says({"--compare", "resident", "fault/touch-ahead", "--strategy", "resident"}, "choose one");
  says({"--strategy", "resident", "--strategy", "fault/touch-ahead"}, "--strategy: given 2 times; allowed: once");
  says({"--point", "9"}, "--point: '9' is no point; allowed: a number from 1 to 4");
  says({"--format", "csv"}, "--format: 'csv'; allowed: table, json");
  says({"--format", "xml"}, "--format: 'xml'; allowed: table, json\n");
  says({"--html", ""}, "--html: needs a file");
  says({"--html", "x.html", "--terms"}, "--html and --terms");
  says({"--html", "nowhere/x.html"}, "--html: nowhere/x.html: there is no folder nowhere");
  says({"--set", "workload.label=full"}, "node 1 has no memory left");
}

TEST_CASE("the experiment may stand behind the strategies that are compared") {
  const Sandbox sandbox;
  const std::string file = sandbox.write("mine.toml", kTwoByTwo);
  CHECK(faultline_program({"explain", "--compare", "resident", "fault/touch-ahead", file, "-q"}).code == 0);
}

TEST_CASE("a combination that skip leaves to one strategy is not compared") {
  const Explained explained(std::string(kTwoByTwo) +
                            "[[skip]]\nstrategy = \"resident\"\n\"workload.size\" = \"64 B\"\n");
  CHECK(explained.json({"--compare", "resident", "fault/touch-ahead"})["stories"][0]["bytes"] == 4096);
}

TEST_CASE("retries are folded, unless all is asked for") {
  const Explained explained(
      "question = \"?\"\nstrategies = [\"fault/touch-ahead\"]\n[parameters]\nworkload.label = \"retries\"\n");
  CHECK(explained({}).out.find("... and so 5 more times") != std::string::npos);
  CHECK(explained({"--all"}).out.find("... and so") == std::string::npos);
}
