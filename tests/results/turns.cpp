// SPDX-License-Identifier: Apache-2.0
// Which assumption could turn the order of strategies.
#include <catch2/catch.hpp>

#include "src/results/turns.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::results;
using Json = nlohmann::ordered_json;

namespace {

Experiment of_strategies(const std::vector<std::string>& names) {
  Experiment experiment;
  for (const std::string& name : names) experiment.strategies.push_back({name, "", {}});
  return experiment;
}

Response at(const std::string& text, double metric, double half_width = 0) {
  return {text, false, metric, half_width, "", ""};
}

// Strategies a and b at one size; one parameter, "4 us" by default.
Sensitivity two(const std::vector<Response>& a, const std::vector<Response>& b) {
  Sensitivity sensitivity{"latency_mean", "", "us", {}, {}, {}, {}};
  RankedParameter parameter{"os.irq_time", "assumed", "plausible", {}, 0};
  for (const auto& [name, responses] : {std::pair{"a", a}, {"b", b}}) {
    Point point;
    point.strategy = name;
    point.id = std::string("id of ") + name;
    point.axes = {{"workload.size", "64 B"}};
    Effect effect;
    effect.base = sensitivity.points.size();
    effect.initial = responses.front();
    effect.others.assign(responses.begin() + 1, responses.end());
    sensitivity.points.push_back(point);
    parameter.effects.push_back(effect);
  }
  sensitivity.parameters.push_back(parameter);
  return sensitivity;
}

Json told(const Sensitivity& sensitivity, const std::vector<std::string>& strategies = {"a", "b"}) {
  return turns_of(sensitivity, of_strategies(strategies), sensitivity.points);
}

}  // namespace

TEST_CASE("turns: a value at which another strategy is first is told, with its default") {
  const Json turns =
      told(two({at("4 us", 10), at("1 us", 9), at("8 us", 20)}, {at("4 us", 12), at("1 us", 11), at("8 us", 14)}));
  CHECK(turns == Json{{"points", {"id of a", "id of b"}},
                      {"of", 1},
                      {"turns",
                       {{{"parameter", "os.irq_time"},
                         {"value", "8 us"},
                         {"default", "4 us"},
                         {"place", "workload.size = 64 B"},
                         {"point", "id of a"},
                         {"ahead", "b"},
                         {"overtaken", "a"},
                         {"was_first", true}}}}});
  CHECK(turns_text(turns) ==
        "of 1 parameters without a published source, 1 can turn the order, one at a time (1 of them who is first): "
        "with os.irq_time = 8 us in place of 4 us (at workload.size = 64 B), b before a");
}

TEST_CASE("turns: the order behind the first counts, too, and is told after who is first") {
  Sensitivity sensitivity = two({at("4 us", 10), at("8 us", 20)}, {at("4 us", 12), at("8 us", 22)});
  sensitivity.points.push_back(sensitivity.points.front());
  sensitivity.points.back().strategy = "c";
  Effect third{2, at("4 us", 15), {at("8 us", 21)}};
  sensitivity.parameters.front().effects.push_back(third);
  sensitivity.parameters.push_back(sensitivity.parameters.front());
  sensitivity.parameters.back().name = "os.pin_fixed";
  sensitivity.parameters.back().effects.back().others = {at("8 us", 5)};
  const Json turns = told(sensitivity, {"a", "b", "c"});
  CHECK(turns.at("turns")[0].at("overtaken") == "b");
  CHECK(turns_text(turns, "FILE") ==
        "of 2 parameters without a published source, 2 can turn the order, one at a time (1 of them who is first): "
        "with os.pin_fixed = 8 us in place of 4 us (at workload.size = 64 B), c before a; with os.irq_time = 8 us in "
        "place of 4 us (at workload.size = 64 B), c before b");
}

TEST_CASE("turns: what stays first, or becomes alike, turns nothing") {
  CHECK(told(two({at("4 us", 10), at("8 us", 20)}, {at("4 us", 12), at("8 us", 22)})).at("turns").empty());
  CHECK(told(two({at("4 us", 10), at("8 us", 20)}, {at("4 us", 12), at("8 us", 19.9)})).at("turns").empty());
  CHECK(turns_text({{"of", 7}, {"turns", Json::array()}}) ==
        "none of 7 parameters without a published source turns the order within its range, one at a time");
}

TEST_CASE("turns: what the seeds do not tell apart turns nothing") {
  const auto turns = [](double half_width) {
    const auto sensitivity =
        two({at("4 us", 10), at("8 us", 20, half_width)}, {at("4 us", 12), at("8 us", 17, half_width)});
    Experiment experiment = of_strategies({"a", "b"});
    experiment.repetitions = 3;
    return turns_of(sensitivity, experiment, sensitivity.points).at("turns").size();
  };
  CHECK(turns(2) == 1);  // Student's t of two degrees of freedom is 4.30: deviations of 0.8
  CHECK(turns(5) == 0);
}

TEST_CASE("turns: a strategy that has no result at a value has not lost there") {
  Response failed{"8 us", false, {}, 0, "timed out", ""};
  const Json turns = told(two({at("4 us", 10), failed}, {at("4 us", 12), at("8 us", 14)}));
  CHECK(turns.at("turns").empty());
  // And nobody was compared.
  CHECK(turns.at("of") == 0);
  CHECK(turns_text(turns).empty());
  // Nor one with a failed check.
  Response wrong{"8 us", false, 20.0, 0, "CHECK FAILED: credits", ""};
  CHECK(told(two({at("4 us", 10), wrong}, {at("4 us", 12), at("8 us", 14)})).at("turns").empty());
}

TEST_CASE("turns: a ratio is compared with the baseline's 1") {
  Sensitivity ratio = two({at("4 us", 1.5), at("8 us", 0.9)}, {at("4 us", 1.2), at("8 us", 1.3)});
  ratio.baseline = "c";
  std::vector<Point> points = ratio.points;
  points.push_back(points.front());
  points.back().strategy = "c";
  const auto of_all = [&] { return turns_of(ratio, of_strategies({"a", "b", "c"}), points).at("turns"); };
  REQUIRE(of_all().size() == 1);
  CHECK(of_all()[0].at("ahead") == "a");
  CHECK(of_all()[0].at("overtaken") == "c");
  // A bound is no rival.
  const std::vector<NamedText> ideal{{"strategy.registration", "ideal"}};
  points.back().changed = std::make_shared<const std::vector<NamedText>>(ideal);
  REQUIRE(of_all().size() == 1);
  CHECK(of_all()[0].at("overtaken") == "b");
}

TEST_CASE("turns: nobody to compare, or no better and worse: silent") {
  auto sensitivity = two({at("4 us", 10), at("8 us", 20)}, {at("4 us", 12), at("8 us", 14)});
  sensitivity.metric = "faults";
  CHECK(told(sensitivity).is_null());
  CHECK(turns_text({}).empty());
}
