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

// Costs that are stated at one clock, on a core with another. Both up to 10 GHz.
class ClockScaling {
 public:
  constexpr ClockScaling(sim::Frequency stated_at, sim::Frequency clock)
      : numerator_(stated_at.hertz / std::gcd(stated_at.hertz, clock.hertz)),
        denominator_(clock.hertz / std::gcd(stated_at.hertz, clock.hertz)) {}

  // cost * stated_at / clock, rounded up; kLongestWork at most. Any cost.
  constexpr sim::Time operator()(sim::Time cost) const {
    std::int64_t product = 0;
    if (!__builtin_mul_overflow(cost.count(), numerator_, &product) &&
        product <= std::numeric_limits<std::int64_t>::max() - denominator_) {
      return std::min(sim::Time{sim::divide_up(product, denominator_)}, kLongestWork);
    }
    __extension__ using Wide = __int128;
    const Wide exact = (Wide{cost.count()} * numerator_ + denominator_ - 1) / denominator_;
    return exact > kLongestWork.count() ? kLongestWork : sim::Time{static_cast<std::int64_t>(exact)};
  }

 private:
  std::int64_t numerator_;
  std::int64_t denominator_;
};

}  // namespace faultline::cpu
