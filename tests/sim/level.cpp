// SPDX-License-Identifier: Apache-2.0
#include "models/sim/level.hpp"

#include <catch2/catch.hpp>

using namespace faultline::sim;

TEST_CASE("a level's mean counts each value for as long as it has held, between any two instants") {
  Level level;
  level.set(10, Time{100});  // 0 until 100
  level.set(4, Time{300});
  CHECK(level.value() == 4);
  CHECK(level.area(Time{300}) == 10 * 200);
  CHECK(level.area(Time{400}) == 10 * 200 + 4 * 100);
  CHECK(mean_level(0, level.area(Time{400}), Time{400}) == 6);
  CHECK(mean_level(level.area(Time{300}), level.area(Time{400}), Time{100}) == 4);
  // 2400 / 401 is 5.985.
  CHECK(mean_level(0, 2400, Time{401}) == 6);
  CHECK(mean_level(0, 5, Time{10}) == 1);
  CHECK(mean_level(0, 4, Time{10}) == 0);
  CHECK(mean_level(7, 7, Time{0}) == 0);
}

TEST_CASE("a level keeps its exact mean where bytes times picoseconds have more than 64 bits") {
  Level level;
  const std::uint64_t tebibyte = std::uint64_t{1} << 40;
  level.set(tebibyte + 1, Time{0});
  const Time hour{3'600 * kPicosecondsPerSecond};
  level.set(0, hour);
  CHECK(mean_level(0, level.area(hour), hour) == tebibyte + 1);
  CHECK(mean_level(0, level.area(2 * hour), 2 * hour) == (tebibyte + 2) / 2);
}
