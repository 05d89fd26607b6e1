// SPDX-License-Identifier: Apache-2.0
// A quantity that goes up and down in steps, and its mean over any time: exact, without sampling.
#pragma once

#include <cstdint>

#include "models/sim/time.hpp"

namespace faultline::sim {

class Level {
 public:
  // Value times time (ps), added up. No run is long enough to exceed 128 bits.
  __extension__ using Area = unsigned __int128;

  std::uint64_t value() const { return value_; }
  // `now` never goes back.
  void set(std::uint64_t value, Time now) {
    area_ = area(now);
    since_ = now;
    value_ = value;
  }
  // From the beginning until now.
  Area area(Time now) const { return area_ + Area{value_} * static_cast<std::uint64_t>((now - since_).count()); }

 private:
  std::uint64_t value_ = 0;
  Time since_{0};
  Area area_ = 0;
};

// Between two instants, rounded to the nearest whole number (a half: up). 0 where no time has passed.
constexpr std::uint64_t mean_level(Level::Area before, Level::Area after, Time span) {
  const auto time = static_cast<std::uint64_t>(span.count());
  return time == 0 ? 0 : static_cast<std::uint64_t>((after - before + time / 2) / time);
}

}  // namespace faultline::sim
