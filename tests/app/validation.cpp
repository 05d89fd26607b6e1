// SPDX-License-Identifier: Apache-2.0
// faultline validate: published figures beside those of the tests' simulator.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <tuple>

#include "tests/support/program.hpp"

using namespace faultline::test;
using namespace std::string_literals;
using Json = nlohmann::json;

TEST_CASE("validate prints published beside simulated figures and fails on a miss") {
  const Sandbox sandbox;
  const Ran missed = faultline_program({"validate"});
  CHECK(missed.code == 1);
  CHECK(missed.out == R"(    quantity             at  use  published  simulated    error  allowed
------------------------------------------------------------------------------
V1  latency of 64 bytes      fit       1 us  0.2103 us  -79.0 %     10 %  FAIL

V1: a paper
    fitted: network.internal_latency
    fails if the link is as fast as its default says
    a note
)");
  CHECK(faultline_program({"validate", "--set", "network.internal_latency=900 ns"}).code == 0);
  sandbox.write("figures.toml", R"([[figure]]
name = "order"
quantity = "pages wait less than blocks"
source = "x"
use = "construction"
fails_if = "a fault is free"
strategy = "resident"
baseline = "fault/touch-ahead"
compare = "less"
axes.workload.size = ["4 KiB", "8 KiB"]
metric = "latency_mean"
[[figure]]
name = "steps"
quantity = "two steps"
value = 10
unit = "us"
tolerance = 0.5
scale = 2
source = "x"
use = "predicted"
fails_if = "they take less"
parameters.workload.size = "4 KiB"
steps = ["post", "wire"]
)");
  const Ran ran = faultline_program({"validate", "figures.toml", "--format", "json"});
  const Json checks = Json::parse(ran.out);
  REQUIRE(checks.size() == 3);
  CHECK(checks[0].at("at") == "4 KiB");
  CHECK(checks[0].at("use") == "by construction");
  CHECK(checks[0].at("passed") == true);
  CHECK(checks[0].at("published") == "< 41.43 us");
  CHECK(checks[0].at("fails_if") == "a fault is free");
  CHECK_FALSE(checks[0].contains("band"));
  CHECK(checks[2].at("value").get<double>() == Approx(8.5536));
  CHECK(checks[2].at("passed") == false);
  CHECK(ran.code == 1);
}

TEST_CASE("validate says what is wrong with a figure") {
  const Sandbox sandbox;
  sandbox.write("bad.toml", "[[figure]]\nname = \"T\"\nuse = \"fitted\"\nmetric = \"latency_men\"\n");
  CHECK(
      faultline_program({"validate", "bad.toml"}).err ==
      "bad.toml:1:1: quantity: is missing; allowed: text in quotes\n"
      "bad.toml:1:1: source: is missing; allowed: text in quotes\n"
      "bad.toml:1:1: fails_if: is missing; allowed: text in quotes\n"
      "bad.toml:1:1: value: give either a value or what it is at_least, at_most or both\n"
      "bad.toml:1:1: unit: is missing; allowed: the published number's unit\n"
      "bad.toml:1:1: tolerance: is missing; allowed: \"5 %\", or a number in the figure's unit\n"
      "bad.toml:3:7: use: 'fitted' is not one of the choices; allowed: predicted, fit, construction, reading; did you "
      "mean 'fit'?\n"
      "bad.toml:4:10: metric: no metric 'latency_men'; allowed: latency_min, latency_typical, "
      "latency_mean, latency_p99, goodput, faults, pinned_bytes_peak; did you mean 'latency_min'?\n");
  const auto refused = [&](const std::string& more) {
    sandbox.write("bad.toml",
                  "[[figure]]\nname = \"T\"\nquantity = \"q\"\nsource = \"x\"\nfails_if = \"y\"\nuse = \"predicted\"\n"
                  "metric = \"latency_mean\"\n" +
                      more);
    return faultline_program({"validate", "bad.toml"}).err;
  };
  CHECK(refused("value = 1\nat_most = 2\nunit = \"us\"\n") ==
        "bad.toml:1:1: value: give either a value or what it is at_least, at_most or both\n");
  CHECK(refused("at_least = 3\nat_most = 2\nunit = \"us\"\n") == "bad.toml:9:11: at_most: is below at_least\n");
  CHECK(refused("at_least = 3\ntolerance = 1\nunit = \"us\"\n") ==
        "bad.toml:9:13: tolerance: is useless; allowed: only with a value\n");
  CHECK(refused("compare = \"less\"\nbaseline = \"resident\"\nvalue = 1\n") ==
        "bad.toml:10:9: value: is useless; allowed: not with compare = less or greater\n");
}

TEST_CASE("a figure's ends pass up to themselves, and another reading never fails") {
  const Sandbox sandbox;
  // What is measured is 0.
  const auto check = [&](const std::string& more) {
    sandbox.write("figures.toml",
                  "[[figure]]\nname = \"T\"\nquantity = \"q\"\nsource = \"x\"\n"
                  "strategy = \"resident\"\nunit = \"us\"\nmetric = \"latency_mean\"\nscale = 0\n" +
                      more);
    const Ran ran = faultline_program({"validate", "figures.toml", "--format", "json"});
    INFO(ran.err);
    const Json checks = Json::parse(ran.out);
    return std::pair(ran.code,
                     std::tuple(checks[0].at("passed").get<bool>(), checks[0].at("published").get<std::string>(),
                                checks[0].at("error").get<std::string>()));
  };
  const std::string predicted = "use = \"predicted\"\nfails_if = \"y\"\n";
  CHECK(check(predicted + "at_least = 0\n") == std::pair(0, std::tuple(true, ">= 0 us"s, "+0.00 us"s)));
  CHECK(check(predicted + "at_least = 0.001\n") == std::pair(1, std::tuple(false, ">= 0.001 us"s, "-100.0 %"s)));
  CHECK(check(predicted + "at_most = 0\n") == std::pair(0, std::tuple(true, "<= 0 us"s, "+0.00 us"s)));
  CHECK(check(predicted + "at_most = -0.001\n") == std::pair(1, std::tuple(false, "<= -0.001 us"s, "+100.0 %"s)));
  CHECK(check(predicted + "at_least = -1\nat_most = 1\n") == std::pair(0, std::tuple(true, "-1 to 1 us"s, "inside"s)));
  CHECK(check(predicted + "at_least = 2\nat_most = 4\n") == std::pair(1, std::tuple(false, "2 to 4 us"s, "-100.0 %"s)));
  CHECK(check("use = \"reading\"\nvalue = 2\ntolerance = \"5 %\"\n") ==
        std::pair(0, std::tuple(false, "2 us"s, "-100.0 %"s)));
  CHECK(faultline_program({"validate", "figures.toml"}).out.find("-100.0 %      5 %  differs") != std::string::npos);
}

TEST_CASE("figures may be a difference from the baseline, and one metric over another") {
  const Sandbox sandbox;
  sandbox.write("figures.toml", R"([[figure]]
name = "added"
quantity = "what faults add"
value = 38
unit = "us"
tolerance = 0.001
source = "x"
use = "predicted"
fails_if = "y"
strategy = "fault/touch-ahead"
baseline = "resident"
compare = "difference"
parameters.workload.size = "4 KiB"
metric = "latency_mean"
[[figure]]
name = "share"
quantity = "of the mean the least"
value = 1
unit = ""
tolerance = 0
source = "x"
use = "predicted"
fails_if = "y"
strategy = "resident"
metric = "latency_mean"
over = "latency_min"
)");
  const Ran ran = faultline_program({"validate", "figures.toml", "--format", "json"});
  const Json checks = Json::parse(ran.out);
  CHECK(ran.code == 0);
  CHECK(checks[0].at("value").get<double>() == Approx(38).margin(1e-9));
  CHECK(checks[1].at("value").get<double>() == Approx(1).margin(1e-9));
}

namespace {

// A file with one figure, and what `faultline validate` says of it.
class OneFigure {
 public:
  explicit OneFigure(std::string begin) : begin_(std::move(begin)) {}
  Ran validate(const std::string& more) const {
    sandbox_.write("figures.toml", begin_ + more);
    return faultline_program({"validate", "figures.toml", "--format", "json"});
  }
  Json check(const std::string& more) const {
    const Json checks = Json::parse(validate(more).out);
    REQUIRE(checks.size() == 1);
    return checks[0];
  }

 private:
  const Sandbox sandbox_;
  const std::string begin_;
};

}  // namespace

TEST_CASE("a figure may be how straight a line along an axis is") {
  const OneFigure figure(
      "[[figure]]\nname = \"L\"\nquantity = \"q\"\nsource = \"x\"\nuse = \"predicted\"\nfails_if = \"y\"\n"
      "value = 1\ntolerance = \"1 %\"\nunit = \"\"\ncompare = \"linear\"\nstrategy = \"resident\"\n");
  // One metric rises by as much for each KiB; the other is the same everywhere.
  const std::string sizes = "axes.workload.size = [\"4 KiB\", \"8 KiB\", \"64 KiB\"]\n";
  const Json rising = figure.check("metric = \"latency_min\"\n" + sizes);
  CHECK(rising.at("value").get<double>() == Approx(1).epsilon(0.001));
  CHECK(rising.at("passed") == true);
  CHECK(rising.at("at") == "4 KiB to 64 KiB");
  const Json flat = figure.check("metric = \"pinned_bytes_peak\"\n" + sizes);
  CHECK(flat.at("value") == 0);
  CHECK(flat.at("passed") == false);
  const std::string refusal = "axes: compare = linear takes one axis of three or more numbers that rise\n";
  CHECK(figure.validate("metric = \"latency_mean\"\n").err == "figures.toml:1:1: " + refusal);
  CHECK(figure.validate("metric = \"latency_mean\"\naxes.workload.size = [\"4 KiB\", \"8 KiB\"]\n").err ==
        "figures.toml:1:1: " + refusal);
  CHECK(figure.validate("metric = \"latency_mean\"\naxes.workload.label = [\"a\", \"b\", \"c\"]\n").err ==
        "figures.toml:1:1: " + refusal);
}

TEST_CASE("a figure may be the number from which on one measure is less than another, found between points") {
  const OneFigure figure(
      "[[figure]]\nname = \"C\"\nquantity = \"q\"\nsource = \"x\"\nuse = \"construction\"\nfails_if = \"y\"\n"
      "value = 2.25\ntolerance = 0.001\nunit = \"kB\"\nscale = 0.001\nmetric = \"latency_min\"\n"
      "compare = \"crossover\"\n");
  // 0.9 us more, and 0.4 ns a byte less: equal at 2250 B.
  const std::string sizes = "axes.workload.size = [\"1 KiB\", \"2 KiB\", \"4 KiB\"]\n";
  const std::string fast =
      "{ based_on = \"resident\", network.internal_rate = \"20 Gb/s\", network.internal_latency = \"1 us\" }\n";
  const std::string slow =
      "{ based_on = \"resident\", network.internal_rate = \"10 Gb/s\", network.internal_latency = \"100 ns\" }\n";
  const Json found = figure.check("strategy = " + fast + "baseline = " + slow + sizes);
  CHECK(found.at("value").get<double>() == Approx(2.25).margin(1e-6));
  CHECK(found.at("passed") == true);
  CHECK(found.at("at") == "1 KiB to 4 KiB");
  CHECK(figure
            .check("strategy = " + fast + "baseline = " + slow +
                   "axes.workload.size = [\"1 KiB\", \"2 KiB\", \"64 KiB\"]\n")
            .at("value")
            .get<double>() == Approx(2.25).margin(1e-6));
  const std::string none = "no point from which on it is less than the baseline's, and was not before";
  for (const std::string& more :
       {"strategy = " + slow + "baseline = " + fast + sizes, "strategy = " + slow + "baseline = " + slow + sizes,
        "strategy = " + fast + "baseline = " + slow + "axes.workload.size = [\"64 B\", \"1 KiB\", \"2 KiB\"]\n",
        "strategy = " + fast + "baseline = " + slow + "axes.workload.size = [\"4 KiB\", \"8 KiB\", \"64 KiB\"]\n"}) {
    INFO(more);
    const Json missed = figure.check(more);
    CHECK(missed.at("passed") == false);
    CHECK(missed.at("trouble") == none);
  }
  CHECK(figure.validate("strategy = " + fast + "baseline = " + slow).err ==
        "figures.toml:1:1: axes: compare = crossover takes one axis of three or more numbers that rise\n");
  CHECK(figure.validate("strategy = " + fast + sizes).err ==
        "figures.toml:1:1: baseline: is missing; allowed: the strategy that is compared with\n");
  CHECK(figure.validate("strategy = " + fast + "baseline = { network.internal_rat = \"1 Gb/s\" }\n" + sizes)
            .err.find("network.internal_rat") != std::string::npos);
}

TEST_CASE("a prediction that is known to be off is shown so, and fails when it is off no more") {
  const Sandbox sandbox;
  sandbox.write("figures.toml", R"([[figure]]
name = "L1"
quantity = "latency of 64 bytes"
value = 1
unit = "us"
tolerance = "10 %"
source = "a paper"
use = "predicted"
fails_if = "it is no longer off"
known_off = "nothing is so slow"
strategy = "resident"
parameters.workload.size = "64 B"
metric = "latency_typical"
)");
  const Ran off = faultline_program({"validate", "figures.toml"});
  CHECK(off.code == 0);
  CHECK(off.out.find("  off\n") != std::string::npos);
  CHECK(off.out.find("    known to be off: nothing is so slow\n") != std::string::npos);
  const Ran csv = faultline_program({"validate", "figures.toml", "--format", "csv"});
  CHECK(csv.out.find(",fails_if,known_off,note\n") != std::string::npos);
  CHECK(csv.out.find(",a paper,it is no longer off,nothing is so slow,\n") != std::string::npos);
  const Ran mended = faultline_program({"validate", "figures.toml", "--set", "network.internal_latency=900 ns"});
  CHECK(mended.code == 1);
  CHECK(mended.out.find("FAIL") != std::string::npos);
}
