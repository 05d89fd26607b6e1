// SPDX-License-Identifier: Apache-2.0
// Who is first at each place of an experiment, by one metric.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/experiment/point.hpp"

namespace faultline::results {

enum class Better { less, more };
// Nothing of a metric that is neither: a count of faults says what happened, and not how good that is.
std::optional<Better> better_of(const std::string& metric);

// Whether a point's strategy is a bound or a rival, by its registration policy.
workloads::RegistrationRole role_of(const experiment::Point& point);
// What the point's nodes have, as nic.kind says.
std::string nic_of(const experiment::Point& point);

struct Value {
  double mean = 0;
  double half_width = 0;  // of the mean's 95 % confidence interval; 0 of one run
  std::size_t seeds = 1;  // that it is a mean of; one stands for all where nothing was drawn
};

// Values that differ by less are one: no model here is exact to that.
inline constexpr double kAlike = 0.01;
enum class Relation {
  alike,           // within kAlike of the smaller one
  not_told_apart,  // they differ by more, and by beyond_noise() it may be chance
  apart
};
Relation relation(const Value& a, const Value& b);
// The greater by the smaller: by which factor one is ahead of the other. Infinity where the smaller is 0.
double factor(const Value& a, const Value& b);
bool is_better(const Value& a, const Value& b, Better better);

struct First {
  Value best;
  std::map<std::size_t, Value> strategies;            // by number: the best, and those that are not apart from it
  std::optional<std::pair<std::size_t, Value>> next;  // the best of the others
  std::vector<std::size_t> absent;                    // that have no value there
};
// `values`: of each strategy, by number, that is ranked; at least one.
First first_of(const std::map<std::size_t, Value>& values, Better better);

// Places next to each other, along an axis, at which those are first that are first at the first one of them.
struct Stretch {
  std::size_t from = 0, to = 0;         // numbers of the axis's values
  std::vector<std::size_t> strategies;  // first at all of these places
  std::size_t places = 0;
  std::size_t shared = 0;        // of these: at which others are first, too
  std::set<std::size_t> others;  // those
  double unclear = 1;            // the greatest factor between first ones: what seeds do not tell apart
  std::size_t incomplete = 0;    // places at which some have no value
  std::set<std::size_t> absent;  // those
  std::set<std::size_t> next;    // the next ones, where nobody else is first
  double least = 0, most = 0;    // factors by which they are ahead of these; 0: there are none
  bool is_best_alone = false;    // only the best of them is ahead by so much, at one place at least
  bool is_all_alike() const { return next.empty() && others.empty(); }
};
// `places`: by their number along the axis, ascending.
std::vector<Stretch> stretches_of(const std::vector<std::pair<std::size_t, First>>& places);
// Whether the same strategies are first at the same places; what they are ahead by may differ.
bool are_same(const std::vector<Stretch>& a, const std::vector<Stretch>& b);
// What is said of both at once. They are the same.
void merge(std::vector<Stretch>& into, const std::vector<Stretch>& others);

}  // namespace faultline::results
