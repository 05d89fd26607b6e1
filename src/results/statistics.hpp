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
  bool exact = false;     // every seed gives this value
};

// Of the values that are finite.
Summary summary_of(const std::vector<double>& values);
// Of the repetitions of a point that draws nothing: one run, the first that has a value, stands for all of them.
Summary exact_summary(const std::vector<double>& values);

// Of a mean whose 95 % confidence interval is known. A single value stands for all.
Summary summary_of_interval(double mean, double half_width, std::size_t count);

// Of a ratio a / b, from those of both means as if they were independent.
double ratio_half_width(double half_width_of_a, double ratio, double b, double half_width_of_b);

// Welch's t test, two-sided: how probable a difference of the means at least as large as this one is when there is
// none. Each has at least two values or is exact, and one of them has values that differ.
double welch_probability(const Summary& a, const Summary& b);

// Whether a difference of two means is more than noise. Everything that compares results asks this one function.
enum class BeyondNoise {
  yes,  // by Welch's t test, in which chance makes a difference of what has none once in kChance
  no,
  exact,    // neither has any noise to test against: no random number was drawn, or every seed gave the same value
  unknown,  // one of them has no value, or a single seed of several possible values
  marked,   // not asked: transfers that failed, or seeds without a result, are in one of them not
};
inline constexpr double kChance = 0.05;
BeyondNoise beyond_noise(const Summary& a, const Summary& b);

}  // namespace faultline::results
