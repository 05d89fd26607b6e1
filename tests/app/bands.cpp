// SPDX-License-Identifier: Apache-2.0
// faultline validate --bands on a machine whose metrics are known functions of its parameters.
#include <catch2/catch.hpp>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::experiment;
using namespace faultline::runs;
using namespace faultline::test;
using Json = nlohmann::json;

namespace {

// latency_mean = cost [us], latency_min = cost + path, goodput = path; of a size above 4096 B ten times that.
class CostMachine : public Machine {
 public:
  CostMachine() {
    using sim::Standing;
    const auto group = table_.group("model");
    table_.add_time("cost", cost_, {0ns, 1ms}, {"the metric", "assumed", Standing::assumed, {"1 us", "9 us"}});
    table_.add_time("path", path_, {0ns, 1ms}, {"beside it", "fitted", Standing::fitted, {"0 us", "10 us"}});
    table_.add_time("known", known_, {0ns, 1ms}, {"no effect", "a paper", Standing::published});
    table_.add_time("unknown", unknown_, {0ns, 1ms}, {"everything", "assumed", Standing::assumed});
    table_.add_flag("design", design_, {"which of two", "assumed", Standing::assumed, {"true", "false"}});
    table_.add_bytes("size", size_, {1, 1 << 20}, {"a setting", "", {}});
  }
  sim::ParameterTable& parameters() override { return table_; }
  std::vector<workloads::Conflict> conflicts() const override {
    if (size_ == 1 && cost_ > 3us) return {{{"model.cost"}, "too large for one byte"}};
    return {};
  }
  workloads::PointResult run(std::uint64_t, const workloads::Watch&) override {
    const auto us = [](sim::Time time) { return static_cast<double>(time.count()) / 1e6; };
    const double scale = (size_ > 4096 ? 10 : 1) * us(unknown_) * (design_ ? 1000 : 1);
    workloads::PointResult result;
    result.metrics = {{"latency_mean", scale * us(cost_), "us", "mean"},
                      {"latency_min", scale * (us(cost_) + us(path_)), "us", "fastest"},
                      {"goodput", scale * us(path_), "MB/s", "payload per time"}};
    return result;
  }

 private:
  sim::Time cost_ = 3us, path_ = 2us, known_ = 1us, unknown_ = 1us;
  bool design_ = false;
  std::uint64_t size_ = 4096;
  sim::ParameterTable table_;
};

class CostSimulator : public FakeSimulator {
 public:
  std::unique_ptr<Machine> machine() const override { return std::make_unique<CostMachine>(); }
};

// `arguments` after the command; the configs folder is the sandbox's own.
Ran validate(std::vector<std::string> arguments) {
  std::ostringstream out, err;
  arguments.insert(arguments.begin(), "validate");
  arguments.insert(arguments.end(), {"--configs", "configs"});
  const int code = run_application(arguments, CostSimulator(), Console{out, err});
  return {code, out.str(), err.str()};
}

constexpr const char* kHead = R"(
[[figure]]
name = "B"
quantity = "cost"
source = "a paper"
use = "predicted"
fails_if = "it costs more"
)";

Json bands(const Sandbox& sandbox, const std::string& figure, const std::vector<std::string>& more = {}) {
  sandbox.write("figures.toml", kHead + figure);
  std::filesystem::create_directories("configs");
  std::vector<std::string> arguments{"figures.toml", "--bands", "--samples", "20", "--format", "json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Ran ran = validate(arguments);
  INFO(ran.err);
  REQUIRE((ran.code == kFine || ran.code == kCheckFailed));
  return Json::parse(ran.out);
}

// A twentieth of the way from 1 to 9 by equal factors, so many times.
double part(int number) { return std::pow(9.0, number / 20.0); }

}  // namespace

TEST_CASE("a band has one sample in each part of a parameter's plausible range, by equal factors") {
  const Sandbox sandbox;
  const Json checks = bands(sandbox, "value = 3\nunit = \"us\"\ntolerance = \"1 %\"\nmetric = \"latency_mean\"\n");
  REQUIRE(checks.size() == 1);
  const Json band = checks[0].at("band");
  CHECK(band.at("samples") == 20);
  CHECK(band.at("unit") == "us");
  const auto lies_in = [&](const char* name, int number) {
    INFO(name << " " << band.at(name));
    CHECK(band.at(name).get<double>() >= part(number) * (1 - 1e-6));
    CHECK(band.at(name).get<double>() <= part(number + 1) * (1 + 1e-6));
  };
  lies_in("lowest", 0);
  lies_in("p5", 0);
  lies_in("p95", 18);
  lies_in("highest", 19);
  // The middle of the range is an end of two parts, and 1 % of it less than a tenth of either.
  CHECK(band.at("passed").get<int>() <= 2);
  CHECK(checks[0].at("value") == 3);
}

TEST_CASE("what a source states, what a figure or --set fixes and choices between designs are not varied") {
  const Sandbox sandbox;
  const std::string figure = "value = 3\nunit = \"us\"\ntolerance = \"1 %\"\nmetric = \"latency_mean\"\n";
  const auto is_a_point = [](const Json& band) { return band.at("lowest") == 4 && band.at("highest") == 4; };
  CHECK(is_a_point(bands(sandbox, figure + "parameters.model.cost = \"4 us\"\n")[0].at("band")));
  CHECK(is_a_point(bands(sandbox, figure, {"--set", "model.cost=4 us"})[0].at("band")));
  CHECK_FALSE(is_a_point(bands(sandbox, figure)[0].at("band")));
}

TEST_CASE("a sample has one value of each parameter, at a figure's point and at its baseline's") {
  const Sandbox sandbox;
  sandbox.write("configs/strategies/large.toml", "description = \"x\"\n[parameters]\nmodel.size = \"8 KiB\"\n");
  sandbox.write("configs/strategies/small.toml", "description = \"x\"\n[parameters]\nmodel.size = \"4 KiB\"\n");
  const auto ratio =
      bands(sandbox,
            "value = 10\nunit = \"\"\ntolerance = \"1 %\"\nmetric = \"latency_min\"\ncompare = \"ratio\"\n"
            "strategy = \"large\"\nbaseline = \"small\"\n");
  CHECK(ratio[0].at("band").at("lowest").get<double>() == Approx(10));
  CHECK(ratio[0].at("band").at("highest").get<double>() == Approx(10));
  CHECK(ratio[0].at("band").at("passed") == 20);
  // Of an ordering the distance to the other side: nine tenths less.
  const auto order =
      bands(sandbox, "metric = \"latency_min\"\ncompare = \"less\"\nstrategy = \"small\"\nbaseline = \"large\"\n");
  CHECK(order[0].at("band").at("unit") == "%");
  CHECK(order[0].at("band").at("lowest").get<double>() == Approx(-90));
  CHECK(order[0].at("band").at("highest").get<double>() == Approx(-90));
}

TEST_CASE("a sample's value that does not go with the others stays as it is") {
  const Sandbox sandbox;
  const Json checks = bands(sandbox,
                            "at_least = 2\nat_most = 3\nunit = \"us\"\nmetric = \"latency_mean\"\n"
                            "parameters.model.size = \"1 B\"\n");
  // 3 us, the default, is the middle of the range: half of the samples have it.
  CHECK(checks[0].at("band").at("samples") == 20);
  CHECK(checks[0].at("band").at("lowest").get<double>() <= part(1) * (1 + 1e-6));
  CHECK(checks[0].at("band").at("p95") == 3);
  CHECK(checks[0].at("band").at("highest") == 3);
}

TEST_CASE("of a figure that is known to be off the band counts the samples in which it is not") {
  const Sandbox sandbox;
  const Json checks = bands(sandbox,
                            "at_most = 2.9\nunit = \"us\"\nmetric = \"latency_mean\"\n"
                            "known_off = \"the default is 3 us\"\n");
  CHECK(checks[0].at("passed") == true);
  // 2.9 us lie in the tenth part of the range: nine samples are below, and perhaps that one.
  const int inside = checks[0].at("band").at("passed").get<int>();
  CHECK((inside == 9 || inside == 10));
}

TEST_CASE("bands are a table of their own, the same at each call, others with another seed") {
  const Sandbox sandbox;
  std::filesystem::create_directories("configs");
  sandbox.write("figures.toml", std::string(kHead) + "at_most = 9\nunit = \"us\"\nmetric = \"latency_mean\"\n");
  const std::vector<std::string> arguments{"figures.toml", "--bands", "--samples", "2"};
  const Ran ran = validate(arguments);
  CHECK(ran.code == kFine);
  CHECK(ran.out == validate(arguments).out);
  CHECK(ran.out.find("Bands: 2 samples of 2 numbers without a published source") != std::string::npos);
  CHECK(ran.out.find("2 of 2\n") != std::string::npos);
  std::vector<std::string> another = arguments;
  another.insert(another.end(), {"--seed", "2"});
  CHECK(ran.out != validate(another).out);
  const Ran csv = validate({"figures.toml", "--bands", "--format", "csv"});
  CHECK(csv.out.find(",band_unit,band_lowest,band_p5,band_p95,band_highest,band_passed,band_samples\n") !=
        std::string::npos);
  CHECK(csv.out.find(",40,40\n") != std::string::npos);
  CHECK(faultline_program({"validate", "--samples", "3"}).err == "--samples: needs --bands\n");
}
