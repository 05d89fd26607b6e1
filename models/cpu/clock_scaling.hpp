// SPDX-License-Identifier: Apache-2.0
// Costs measured at one clock, spent at another, in whole picoseconds.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>

#include "models/sim/time.hpp"

namespace faultline::cpu {

// No piece of work takes longer, however slow its clock: 26 days, so that sums with instants stay below kNever.
inline constexpr sim::Time kLongestWork{std::int64_t{1} << 61};

// cost * stated_at / clock, rounded up; kLongestWork at most. Both clocks up to 10 GHz, any cost.
constexpr sim::Time scale_to_clock(sim::Time cost, sim::Frequency stated_at, sim::Frequency clock) {
  const std::int64_t divisor = std::gcd(stated_at.hertz, clock.hertz);
  const std::int64_t numerator = stated_at.hertz / divisor;
  const std::int64_t denominator = clock.hertz / divisor;
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(cost.count(), numerator, &product) &&
      product <= std::numeric_limits<std::int64_t>::max() - denominator) {
    return std::min(sim::Time{sim::divide_up(product, denominator)}, kLongestWork);
  }
  __extension__ using Wide = __int128;
  const Wide exact = (Wide{cost.count()} * numerator + denominator - 1) / denominator;
  return exact > kLongestWork.count() ? kLongestWork : sim::Time{static_cast<std::int64_t>(exact)};
}

}  // namespace faultline::cpu
