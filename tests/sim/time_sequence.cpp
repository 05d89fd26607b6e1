// SPDX-License-Identifier: Apache-2.0
// The closed forms of trains against the loop over cells that they replace.
#include "models/sim/time_sequence.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <stdexcept>
#include <vector>

using namespace faultline::sim;

namespace {

std::vector<Time> cells(const TimeSequence& s) {
  std::vector<Time> all;
  for (const TimeSequence::Segment& segment : s.segments()) {
    for (std::uint32_t i = 0; i < segment.count; ++i) all.push_back(segment.at(i));
  }
  return all;
}

TimeSequence any_sequence(std::uint32_t cells_wanted) {
  TimeSequence s;
  Time at{*rc::gen::inRange(0, 1000)};
  while (s.size() < cells_wanted) {
    const Time gap{*rc::gen::inRange(0, 50)};
    const auto count = *rc::gen::inRange<std::uint32_t>(1, cells_wanted - s.size() + 1);
    s.append(TimeSequence::Segment{at, gap, count});
    at = s.back() + Time{*rc::gen::inRange(0, 100)};
  }
  return s;
}
TimeSequence any_sequence() { return any_sequence(*rc::gen::inRange<std::uint32_t>(1, 40)); }

}  // namespace

TEST_CASE("serving a train equals serving its cells one by one") {
  REQUIRE(rc::check([] {
    const TimeSequence arrivals = any_sequence();
    const Time free{*rc::gen::inRange(0, 2000)};
    const Time service{*rc::gen::inRange(0, 60)};
    std::vector<Time> expected;
    Time busy = free;
    for (const Time a : cells(arrivals)) expected.push_back(busy = std::max(a, busy) + service);
    RC_ASSERT(cells(serve_in_order(arrivals, free, service)) == expected);
  }));
}

TEST_CASE("the later of two trains is the later of each pair of cells") {
  REQUIRE(rc::check([] {
    const TimeSequence a = any_sequence();
    const TimeSequence b = any_sequence(a.size());
    const TimeSequence later = later_of(a, b);
    RC_ASSERT(later.size() == a.size());
    for (std::uint32_t i = 0; i < a.size(); ++i) RC_ASSERT(later.at(i) == std::max(a.at(i), b.at(i)));
  }));
}

TEST_CASE("slicing, counting and appending agree with the list of cells") {
  REQUIRE(rc::check([] {
    const TimeSequence s = any_sequence();
    const auto cut = *rc::gen::inRange<std::uint32_t>(0, s.size() + 1);
    TimeSequence joined = s.prefix(cut);
    joined.append(s, cut);
    RC_ASSERT(joined == s);
    const std::vector<Time> all = cells(s);
    for (std::uint32_t i = 0; i < s.size(); ++i) RC_ASSERT(s.at(i) == all[i]);
    const auto count = *rc::gen::inRange<std::uint32_t>(0, s.size() - cut + 1);
    RC_ASSERT(cells(s.slice(cut, count)) == std::vector<Time>(all.begin() + cut, all.begin() + cut + count));
    std::vector<Time> later(all.begin() + cut, all.end());
    for (Time& at : later) at += Time{7};
    RC_ASSERT(cells(s.suffix(cut, Time{7})) == later);
    const Time t{*rc::gen::inRange(0, 3000)};
    const auto before = std::count_if(all.begin(), all.end(), [t](Time at) { return at < t; });
    RC_ASSERT(s.count_before(t) == before);
  }));
}

TEST_CASE("what is merged into a sequence can be taken out of it again, and nothing else can") {
  REQUIRE(rc::check([] {
    const TimeSequence a = any_sequence(), b = any_sequence();
    const TimeSequence both = merged(a, b);
    std::vector<Time> expected = cells(a), more = cells(b);
    expected.insert(expected.end(), more.begin(), more.end());
    std::sort(expected.begin(), expected.end());
    RC_ASSERT(cells(both) == expected);
    RC_ASSERT(cells(without(both, b)) == cells(a));
    const Time t{*rc::gen::inRange(0, 3000)};
    if (std::count(expected.begin(), expected.end(), t) > 0) return;
    RC_ASSERT_THROWS_AS(without(both, TimeSequence::single(t)), std::logic_error);
  }));
}

TEST_CASE("a slower arrival stream drains a backlog in two segments") {
  // Server free at 100, service 10, arrivals each 15 from 0: cells 0..19 are queued.
  const TimeSequence d = serve_in_order(TimeSequence::regular(Time{0}, Time{15}, 40), Time{100}, Time{10});
  REQUIRE(d.segments().size() == 2);
  CHECK(d.at(0) == Time{110});
  CHECK(d.at(19) == Time{300});
  CHECK(d.at(20) == Time{310});
  CHECK(d.at(39) == Time{39 * 15 + 10});
}
