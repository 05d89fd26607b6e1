// SPDX-License-Identifier: Apache-2.0
// Random programs side by side: whatever they are, trains of cells change no time, all data are right, and nothing is
// left when they have ended.
#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "tests/support/dice.hpp"
#include "tests/support/number_of_cases.hpp"
#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

void add(Settings& all, const std::string& program, const std::string& key, const sim::ParameterValue& value) {
  all.push_back({"program." + program + "." + key, value});
}

void add_strategy(Settings& all, const std::string& program, Dice& dice) {
  static const std::vector<std::string> names{"resident",    "fault/touch-a-page", "fault/touch-ahead",
                                              "fault/stall", "pin-per-transfer",   "pin-cache",
                                              "pin-once"};
  for (const auto& [key, value] : preset(dice.one_of(names))) add(all, program, key, value);
}

// Four nodes; programs of any kind that moves data, on any of them.
Settings random_programs(Dice& dice) {
  Settings all{{"workload.start_spread", dice.percent(50) ? "0 us" : "10 us"}};
  const unsigned programs = dice.from_to(2, 3);
  for (unsigned i = 0; i < programs; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    static const std::vector<std::string> kinds{"write", "read", "ping-pong", "fan-in", "innocent", "reuse"};
    const std::string kind = i == 0 ? kinds[dice.below(4)] : dice.one_of(kinds);
    add(all, name, "kind", kind);
    add_strategy(all, name, dice);
    add(all, name, "size", std::to_string(dice.one_of(std::vector<unsigned>{1, 64, 300, 4096, 20000, 40000})) + " B");
    add(all, name, "warmup", static_cast<std::int64_t>(dice.below(2)));
    if (kind != "innocent") add(all, name, "iterations", static_cast<std::int64_t>(dice.from_to(1, 4)));
    if (kind != "innocent" && kind != "reuse") {
      static const std::vector<std::string> ends{"none", "source", "destination", "both"};
      add(all, name, "cold", dice.one_of(ends));
    }
    if (kind == "reuse") add(all, name, "reuse.again", 0.5);
    if (kind == "ping-pong") {
      static const std::vector<std::string> ways{"message",         "word",        "counter-busy", "counter-blocking",
                                                 "counter-handler", "event-queue", "interrupt"};
      add(all, name, "notify", dice.one_of(ways));
    }
    if (kind != "ping-pong" && kind != "reuse") add(all, name, "window", static_cast<std::int64_t>(dice.few(3)));
    const unsigned one = static_cast<unsigned>(dice.below(4));
    const unsigned other = (one + dice.from_to(1, 3)) % 4;
    if (kind == "write" || kind == "read" || kind == "reuse") {
      add(all, name, "initiator", std::int64_t{one});
      add(all, name, "target", std::int64_t{other});
    } else if (kind != "fan-in" || dice.percent(50)) {
      add(all, name, "nodes", std::to_string(one) + ", " + std::to_string(other));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("programs: random ones side by side take the same times in trains and in single cells") {
  set_number_of_cases(60, 100, 1);
  CHECK(rc::check("random programs", [](const std::uint64_t number) {
    Dice dice{rc::Random(number)};
    const Settings settings = random_programs(dice);
    RC_LOG() << to_string(settings);
    const auto conflicts = workloads::conflicts(configuration(settings));
    RC_PRE(conflicts.empty());
    const Point trains = run(settings);
    RC_ASSERT(trains.error == "");
    RC_ASSERT(trains.failed_checks.empty());
    RC_ASSERT(trains.count("transfers_failed") == 0);
    RC_ASSERT(trains.count("data_errors") == 0);
    RC_ASSERT(trains.count("stale_accesses") == 0);
    const Point cells = run(settings + Settings{{"simulation.cells_per_train", 1}});
    RC_ASSERT(trains.text == cells.text);
  }));
}
