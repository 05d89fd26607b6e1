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

const Experiment kBoth = of_strategies({"a", "b"});

}  // namespace

TEST_CASE("turns: a value at which another strategy is first is told, with its default") {
  const auto sensitivity =
      two({at("4 us", 10), at("1 us", 9), at("8 us", 20)}, {at("4 us", 12), at("1 us", 11), at("8 us", 14)});
  const Json turns = turns_of(sensitivity, kBoth);
  CHECK(turns == Json{{"of", 1},
                      {"turns",
                       {{{"parameter", "os.irq_time"},
                         {"value", "8 us"},
                         {"default", "4 us"},
                         {"place", "workload.size = 64 B"},
                         {"first", "b"},
                         {"instead_of", "a"}}}}});
  CHECK(turns_text(turns) ==
        "of 1 parameters without a published source, 1 can turn the order, one at a time: with os.irq_time = 8 us in "
        "place of 4 us (at workload.size = 64 B), b before a");
}

TEST_CASE("turns: what stays first, or becomes alike, turns nothing") {
  CHECK(turns_of(two({at("4 us", 10), at("8 us", 20)}, {at("4 us", 12), at("8 us", 22)}), kBoth).at("turns").empty());
  CHECK(turns_of(two({at("4 us", 10), at("8 us", 20)}, {at("4 us", 12), at("8 us", 19.9)}), kBoth).at("turns").empty());
  // Within the intervals of the seeds.
  CHECK(turns_of(two({at("4 us", 10), at("8 us", 20, 2)}, {at("4 us", 12), at("8 us", 17, 2)}), kBoth)
            .at("turns")
            .empty());
  CHECK(turns_text({{"of", 7}, {"turns", Json::array()}}) ==
        "none of 7 parameters without a published source turns the order within its range, one at a time");
}

TEST_CASE("turns: a strategy that has no result at a value has not lost there") {
  Response failed{"8 us", false, {}, 0, "timed out", ""};
  CHECK(turns_of(two({at("4 us", 10), failed}, {at("4 us", 12), at("8 us", 14)}), kBoth).at("turns").empty());
  // Nor one with a failed check.
  Response wrong{"8 us", false, 20.0, 0, "CHECK FAILED: credits", ""};
  CHECK(turns_of(two({at("4 us", 10), wrong}, {at("4 us", 12), at("8 us", 14)}), kBoth).at("turns").empty());
}

TEST_CASE("turns: a ratio is compared with the baseline's 1") {
  Sensitivity ratio = two({at("4 us", 1.5), at("8 us", 0.9)}, {at("4 us", 1.2), at("8 us", 1.3)});
  ratio.baseline = "c";
  const Json turns = turns_of(ratio, of_strategies({"a", "b", "c"})).at("turns");
  REQUIRE(turns.size() == 1);
  CHECK(turns[0].at("first") == "a");
  CHECK(turns[0].at("instead_of") == "c");
}

TEST_CASE("turns: nobody to compare, or no better and worse: silent") {
  auto sensitivity = two({at("4 us", 10), at("8 us", 20)}, {at("4 us", 12), at("8 us", 14)});
  sensitivity.metric = "faults";
  CHECK(turns_of(sensitivity, kBoth).is_null());
  CHECK(turns_text({}).empty());
}
