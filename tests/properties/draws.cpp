// SPDX-License-Identifier: Apache-2.0
// A run that says that it drew nothing is that of every seed.
#include <catch2/catch.hpp>

#include <string>

#include "tests/properties/case.hpp"
#include "tests/support/child.hpp"
#include "tests/support/number_of_cases.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

struct Seen {
  bool draws;
  std::string result;
};

Seen simulated(const workloads::Configuration& configuration, std::uint64_t seed) {
  const std::string text = text_from_child([&] {
    const workloads::PointResult result = workloads::run_point(configuration, seed);
    return (result.draws ? "1" : "0") + std::to_string(result.events) + "\n" + written(result);
  });
  return {text.front() == '1', text.substr(1)};
}

}  // namespace

TEST_CASE("random configurations that draw nothing give the same bytes with every seed") {
  int exact = 0, drawing = 0;
  const rc::Gen<Case> generator = any_case(full_domain());
  rc::Random random(7);
  for (int i = 0; i < 60; ++i) {
    Case c = generator(random.split(), rc::kNominalSize).value();
    // The pause before a transfer is what most of them draw.
    if (i % 3 > 0) c.settings.push_back({"workload.start_spread", "0 s"});
    const workloads::Configuration configuration = c.configuration();
    const Seen one = simulated(configuration, c.seed);
    ++(one.draws ? drawing : exact);
    if (one.draws) continue;
    const Seen other = simulated(configuration, c.seed + 1'000'003);
    INFO(experiment_file(c));
    CHECK_FALSE(other.draws);
    CHECK(one.result == other.result);
  }
  CHECK(exact > 10);
  CHECK(drawing > 10);
}
