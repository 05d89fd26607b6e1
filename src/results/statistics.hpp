// SPDX-License-Identifier: Apache-2.0
// Means over seeds, how sure they are, and whether two of them differ. Values are taken to be independent and normal.
#pragma once

#include <cstddef>
#include <vector>

namespace faultline::results {

inline constexpr double kConfidence = 0.95;

struct Summary {
  std::size_t count = 0;
  double mean = 0;        // NaN of no values
  double deviation = 0;   // standard deviation of a value; 0 of fewer than two
  double half_width = 0;  // of the mean's 95 % confidence interval, by Student's t; 0 of fewer than two
};

// Of the values that are finite.
Summary summary_of(const std::vector<double>& values);

// Of a ratio a / b, from those of both means as if they were independent.
double ratio_half_width(double half_width_of_a, double ratio, double b, double half_width_of_b);

// Welch's t test, two-sided: how probable a difference of the means at least as large as this one is when there is
// none. Each has at least two values. 0 or 1 when no value differs from its mean.
double welch_probability(const Summary& a, const Summary& b);

}  // namespace faultline::results
