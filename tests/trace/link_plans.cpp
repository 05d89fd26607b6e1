// SPDX-License-Identifier: Apache-2.0
// Announcements of a link, and what has become of them.
#include "models/trace/link_plans.hpp"
#include "tests/support/toy_nic.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using faultline::sim::Slice;
using faultline::sim::Time;
using faultline::trace::LinkPlans;

namespace {

Slice plan(Time begin, Time end) {
  return {{0, faultline::test::toy::kPort, 1}, begin, end, "data", "link", {1, 0, 0}};
}

std::vector<std::pair<Time, Time>> over(LinkPlans& plans, Time now) {
  std::vector<std::pair<Time, Time>> times;
  plans.over(now, [&](const LinkPlans::Plan& p) { times.emplace_back(p.begin, p.end); });
  return times;
}

using Times = std::vector<std::pair<Time, Time>>;

}  // namespace

TEST_CASE("What was announced is told once it is over, in the order of its ends") {
  LinkPlans plans;
  int a = 0, b = 0;
  plans.announce(plan(10ns, 40ns), &a, 5ns);
  plans.announce(plan(12ns, 30ns), &b, 6ns);
  CHECK(over(plans, 29ns).empty());
  CHECK_FALSE(plans.is_busy(9ns));
  CHECK(plans.is_busy(10ns));
  CHECK(plans.next_change(10ns) == 12ns);
  CHECK(over(plans, 50ns) == Times{{12ns, 30ns}, {10ns, 40ns}});
  CHECK(over(plans, 60ns).empty());
  CHECK(plans.next_change(0ns) == faultline::sim::kNever);
}

TEST_CASE("What is announced anew is void as far as it has not passed") {
  LinkPlans plans;
  int train = 0;
  plans.announce(plan(10ns, 40ns), &train, 5ns);
  SECTION("before it begins") {
    plans.announce(plan(20ns, 50ns), &train, 8ns);
    CHECK(over(plans, 100ns) == Times{{20ns, 50ns}});
  }
  SECTION("while it leaves") {
    plans.announce(plan(10ns, 60ns), &train, 30ns);
    CHECK(over(plans, 100ns) == Times{{10ns, 60ns}});
  }
  SECTION("none of it leaves") {
    plans.announce(plan(0ns, 0ns), &train, 8ns);
    CHECK(over(plans, 100ns).empty());
  }
  SECTION("no more of it leaves") {
    plans.announce(plan(0ns, 0ns), &train, 30ns);
    CHECK(over(plans, 100ns) == Times{{10ns, 30ns}});
  }
  SECTION("its next piece, when the first has left") {
    CHECK(over(plans, 45ns) == Times{{10ns, 40ns}});
    plans.announce(plan(10ns, 90ns), &train, 50ns);
    CHECK(over(plans, 100ns) == Times{{50ns, 90ns}});
  }
}
