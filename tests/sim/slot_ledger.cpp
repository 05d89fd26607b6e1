// SPDX-License-Identifier: Apache-2.0
#include "models/sim/slot_ledger.hpp"

#include <catch2/catch.hpp>

using namespace faultline::sim;

TEST_CASE("cells take the slots that are free, then those that come free, the first first") {
  SlotLedger slots(2);
  CHECK(slots.by(Time{0}) == 2);
  CHECK(slots.next() == Time{0});
  slots.take(3);
  CHECK(slots.by(Time{1000}) == 0);
  CHECK(slots.next() == kNever);
  slots.free(TimeSequence::single(Time{50}), Time{0});  // the third has it
  CHECK(slots.next() == kNever);
  slots.free(TimeSequence::regular(Time{30}, Time{30}, 2), Time{0});
  // 30 is the third's now.
  CHECK(slots.next() == Time{50});
  CHECK(slots.by(Time{49}) == 0);
  CHECK(slots.by(Time{50}) == 1);
  CHECK(slots.by(Time{60}) == 2);
}

TEST_CASE("slots that are given back or do not come free are as if nothing had been said") {
  SlotLedger slots(1);
  slots.take(1);
  slots.free(TimeSequence::regular(Time{10}, Time{10}, 3), Time{0});
  slots.take(2);
  CHECK(slots.next() == Time{30});
  slots.give_back(1);
  CHECK(slots.next() == Time{20});
  slots.hold(TimeSequence::single(Time{20}));
  CHECK(slots.next() == Time{30});
  slots.hold(TimeSequence::single(Time{30}));
  CHECK(slots.next() == kNever);
  CHECK(slots.by(Time{100}) == 0);
}

TEST_CASE("slots whose instants have passed are only counted") {
  SlotLedger slots(1);
  slots.take(1);
  slots.free(TimeSequence::regular(Time{10}, Time{10}, 2), Time{0});
  slots.free(TimeSequence::single(Time{60}), Time{50});
  CHECK(slots.next() == Time{0});
  CHECK(slots.by(Time{0}) == 2);
  slots.take(2);
  CHECK(slots.next() == Time{60});
}

TEST_CASE("a slot that was never given cannot be taken back") {
  SlotLedger slots(1);
  CHECK_THROWS_AS(slots.hold(TimeSequence::single(Time{10})), std::logic_error);
  slots.free(TimeSequence::single(Time{20}), Time{0});
  CHECK_THROWS_AS(slots.hold(TimeSequence::single(Time{10})), std::logic_error);
}
