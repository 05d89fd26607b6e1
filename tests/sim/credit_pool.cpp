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

TEST_CASE("the slot that comes free first is taken first, whenever it is announced") {
  CreditPool pool(3);
  pool.take(3);
  pool.give(TimeSequence::single(Time{20}));
  pool.give(TimeSequence::single(Time{10}));
  CHECK(pool.next() == Time{10});
  const TimeSequence taken = pool.take(2);
  CHECK(taken.front() == Time{10});
  CHECK(taken.back() == Time{20});
  CHECK(pool.next() == kNever);
}

TEST_CASE("a slot that was taken and does not come free is owed until it is given back") {
  CreditPool pool(3);
  pool.take(3);
  pool.give(TimeSequence::regular(Time{10}, Time{5}, 3));
  const TimeSequence taken = pool.take(2);
  pool.withdraw(TimeSequence::single(Time{20}));  // nobody has it
  CHECK(pool.known() == 0);
  CHECK(pool.owed() == kNever);
  pool.withdraw(TimeSequence::single(Time{15}));
  CHECK(pool.owed() == Time{15});
  pool.give_back(taken.suffix(1));
  CHECK(pool.owed() == kNever);
  CHECK(pool.known() == 0);
  pool.give_back(taken.prefix(1));
  CHECK(pool.next() == Time{10});
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
    // Some precede what was known.
    const TimeSequence meanwhile = any_instants(*rc::gen::inRange<std::uint32_t>(0, kSlots - known + 1), Time{0});
    wasteful.give(before);
    sparing.give(before);
    const TimeSequence got = wasteful.take(taken);
    RC_ASSERT(sparing.take(used) == got.prefix(used));
    wasteful.give(meanwhile);
    sparing.give(meanwhile);
    wasteful.give_back(got.suffix(used));
    RC_ASSERT(wasteful.known() == sparing.known());
    RC_ASSERT(CreditPool(wasteful).take(wasteful.known()) == CreditPool(sparing).take(sparing.known()));
  }));
}
