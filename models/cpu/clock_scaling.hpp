// SPDX-License-Identifier: Apache-2.0
// Costs measured at one clock, spent at another, in whole picoseconds.
#pragma once

#include <numeric>

#include "models/sim/time.hpp"

namespace faultline::cpu {

// cost * measured_at / clock, rounded up. Both clocks up to 3 GHz, any cost up to an hour.
constexpr sim::Time scale_to_clock(sim::Time cost, sim::Frequency measured_at, sim::Frequency clock) {
  // The common divisor and the split keep every product below 2^63.
  const std::int64_t divisor = std::gcd(measured_at.hertz, clock.hertz);
  const std::int64_t numerator = measured_at.hertz / divisor;
  const std::int64_t denominator = clock.hertz / divisor;
  const std::int64_t whole = cost.count() / denominator;
  const std::int64_t rest = cost.count() % denominator;
  return sim::Time{whole * numerator + sim::divide_up(rest * numerator, denominator)};
}

}  // namespace faultline::cpu
