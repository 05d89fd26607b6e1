// SPDX-License-Identifier: Apache-2.0
#include "src/results/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <iterator>
#include <limits>

namespace faultline::results {

namespace {

// Half the width of the confidence interval of a mean of n values, in standard deviations of the mean.
double half_width_of(double n) { return quantile(boost::math::students_t(n - 1), (1 + kConfidence) / 2); }

}  // namespace

Summary summary_of(const std::vector<double>& values) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double v) { return std::isfinite(v); });
  Summary summary{finite.size(), std::numeric_limits<double>::quiet_NaN()};
  if (finite.empty()) return summary;
  const auto n = static_cast<double>(finite.size());
  // From the first value on, so that the mean of equal values is they, to the last bit.
  double sum = 0;
  for (const double value : finite) sum += value - finite.front();
  summary.mean = finite.front() + sum / n;
  if (summary.count < 2) return summary;
  double squares = 0;
  for (const double value : finite) squares += (value - summary.mean) * (value - summary.mean);
  summary.deviation = std::sqrt(squares / (n - 1));
  summary.half_width = half_width_of(n) * std::sqrt(squares / (n - 1) / n);
  return summary;
}

Summary summary_of_interval(double mean, double half_width, std::size_t count) {
  if (count < 2) return {count, mean, 0, 0, count == 1};
  const auto n = static_cast<double>(count);
  return {count, mean, half_width / half_width_of(n) * std::sqrt(n), half_width, false};
}

Summary exact_summary(const std::vector<double>& values) {
  const auto one = std::ranges::find_if(values, [](double v) { return std::isfinite(v); });
  Summary summary = summary_of(one == values.end() ? std::vector<double>{} : std::vector<double>{*one});
  summary.exact = summary.count > 0;
  return summary;
}

double ratio_half_width(double half_width_of_a, double ratio, double b, double half_width_of_b) {
  return std::abs(std::hypot(half_width_of_a, ratio * half_width_of_b) / b);
}

double welch_probability(const Summary& a, const Summary& b) {
  const auto error = [](const Summary& s) { return s.deviation * s.deviation / static_cast<double>(s.count); };
  const double both = error(a) + error(b);
  const auto part = [&](const Summary& s) {
    return s.deviation == 0 ? 0 : error(s) * error(s) / static_cast<double>(s.count - 1);
  };
  const double freedom = both * both / (part(a) + part(b));
  const double t = std::abs(a.mean - b.mean) / std::sqrt(both);
  return 2 * cdf(complement(boost::math::students_t(freedom), t));
}

BeyondNoise beyond_noise(const Summary& a, const Summary& b) {
  const auto is_known = [](const Summary& s) { return s.exact || s.count > 1; };
  if (!is_known(a) || !is_known(b)) return BeyondNoise::unknown;
  if (a.deviation == 0 && b.deviation == 0) return BeyondNoise::exact;
  return welch_probability(a, b) < kChance ? BeyondNoise::yes : BeyondNoise::no;
}

}  // namespace faultline::results
