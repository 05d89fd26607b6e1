// SPDX-License-Identifier: Apache-2.0
#include "models/sim/credit_pool.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

using namespace faultline::sim;

namespace {

TimeSequence any_instants(std::uint32_t count, Time not_before) {
  TimeSequence s;
  for (std::uint32_t i = 0; i < count; ++i) {
    not_before += Time{*rc::gen::inRange(0, 50)};
    s.append(not_before);
  }
  return s;
}

}  // namespace

TEST_CASE("slots come free in order: an instant before the last known one is held up to it") {
  CreditPool pool(3);
  pool.take(3);
  pool.give(TimeSequence::single(Time{20}));
  pool.give(TimeSequence::single(Time{10}));
  const TimeSequence held = pool.take(2);
  CHECK(held.front() == Time{20});
  CHECK(held.back() == Time{20});
  pool.give(TimeSequence::single(Time{10}));  // nothing is known before it
  CHECK(pool.take(1).front() == Time{10});
}

TEST_CASE("credits given back are as if they had never been taken, whatever came free meanwhile") {
  CHECK(rc::check([] {
    constexpr std::uint32_t kSlots = 12;
    CreditPool wasteful(kSlots), sparing(kSlots);
    wasteful.take(kSlots);
    sparing.take(kSlots);
    const auto known = *rc::gen::inRange<std::uint32_t>(1, kSlots + 1);
    const auto taken = *rc::gen::inRange<std::uint32_t>(0, known + 1);
    const auto used = *rc::gen::inRange<std::uint32_t>(0, taken + 1);
    const TimeSequence before = any_instants(known, Time{0});
    // Some precede what was known: a FIFO's slots come free in order whether they are known to or not.
    const TimeSequence meanwhile = any_instants(*rc::gen::inRange<std::uint32_t>(0, kSlots - known + 1), Time{0});
    wasteful.give(before);
    sparing.give(before);
    const TimeSequence got = wasteful.take(taken);
    RC_ASSERT(sparing.take(used) == got.prefix(used));
    wasteful.give(meanwhile);
    sparing.give(meanwhile);
    wasteful.give_back(got.suffix(used));
    RC_ASSERT(wasteful.known() == sparing.known());
    RC_ASSERT(wasteful.peek(wasteful.known()) == sparing.peek(sparing.known()));
  }));
}
