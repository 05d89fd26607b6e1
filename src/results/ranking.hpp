// SPDX-License-Identifier: Apache-2.0
// Who is first at each place of an experiment, by one metric.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/experiment/experiment.hpp"

namespace faultline::results {

enum class Better { less, more };
// Nothing of a metric that is neither: a count of faults says what happened, and not how good that is.
std::optional<Better> better_of(const std::string& metric);

// Whether a strategy asks for what no kernel does: a bound for the others, and no answer.
bool is_bound(const experiment::Strategy& strategy);

struct Value {
  double mean = 0;
  double half_width = 0;  // of the mean's 95 % confidence interval; 0 of one run
};

// Values that differ by less are one: no model here is exact to that.
inline constexpr double kAlike = 0.01;
// Within kAlike of the smaller one, or their confidence intervals meet.
bool are_alike(const Value& a, const Value& b);
// The greater by the smaller: by which factor one is ahead of the other. Infinity where the smaller is 0.
double factor(const Value& a, const Value& b);

struct First {
  Value best;
  std::vector<std::size_t> strategies;  // by number: the best, and those that are alike
  std::optional<std::size_t> next;      // the best of the others
  double lead = 1;                      // factor of the next and the best
};
// `values`: of each strategy, by number, that is ranked; at least one.
First first_of(const std::map<std::size_t, Value>& values, Better better);

// Places in a row, along an axis, at which the same strategies are first.
struct Stretch {
  std::size_t from = 0, to = 0;         // numbers of the axis's values
  std::vector<std::size_t> strategies;  // that are first at all of these places
  std::optional<std::size_t> next;      // where it is the same one at all of them
  bool alone = true;                    // nowhere is there a next one
  double least = 0, most = 0;           // factors by which they are ahead; 1 where others are first, too
};
// As few as there can be, from the first place on.
std::vector<Stretch> stretches_of(const std::vector<std::pair<std::size_t, First>>& places);
// Whether the same strategies are first at the same places; what they are ahead by may differ.
bool are_same(const std::vector<Stretch>& a, const std::vector<Stretch>& b);
// What is said of both at once. They are the same.
void merge(std::vector<Stretch>& into, const std::vector<Stretch>& others);

}  // namespace faultline::results
