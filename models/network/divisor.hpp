// SPDX-License-Identifier: Apache-2.0
// Division by a number that is known long before: routes are computed for every train at every hop, and are little but
// divisions. With m = ceil(2^40 / d) and e = m d - 2^40 < d, floor(n m / 2^40) is floor(n / d) as long as n e < 2^40,
// which n, d < 2^20 see to; then n m fits in 64 bits, too.
#pragma once

#include <cstdint>

namespace faultline::network {

class Divisor {
 public:
  // Requires 0 < d < 2^20.
  explicit constexpr Divisor(std::uint32_t d = 1) : d_(d), multiplier_(((std::uint64_t{1} << kShift) + d - 1) / d) {}

  constexpr std::uint32_t value() const { return d_; }
  // Of numbers below 2^20.
  friend constexpr std::uint32_t operator/(std::uint32_t n, const Divisor& by) {
    return static_cast<std::uint32_t>(n * by.multiplier_ >> kShift);
  }
  friend constexpr std::uint32_t operator%(std::uint32_t n, const Divisor& by) { return n - n / by * by.d_; }

 private:
  static constexpr unsigned kShift = 40;
  std::uint32_t d_;
  std::uint64_t multiplier_;
};

}  // namespace faultline::network
