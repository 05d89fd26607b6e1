// SPDX-License-Identifier: Apache-2.0
// Random choices of a case.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <vector>

namespace faultline::test {

// Draws from rapidcheck's random numbers, so that its seed and its `reproduce` text hold.
class Dice {
 public:
  explicit Dice(const rc::Random& random) : random_(random) {}

  std::uint64_t below(std::uint64_t n) { return random_.next() % n; }
  unsigned from_to(unsigned low, unsigned high) { return low + static_cast<unsigned>(below(high - low + 1)); }
  bool percent(unsigned share) { return below(100) < share; }
  template <typename T>
  const T& one_of(const std::vector<T>& values) {
    return values[below(values.size())];
  }
  // Half of the time 1.
  unsigned few(unsigned most) { return most == 1 || percent(50) ? 1 : from_to(1, most); }

 private:
  rc::Random random_;
};

}  // namespace faultline::test
