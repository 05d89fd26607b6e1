// SPDX-License-Identifier: Apache-2.0
// skip = [{ "a.b" = "< 4 KiB", strategy = "mlock" }, ...]: combinations of an experiment that are left out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/experiment/axes.hpp"

namespace faultline::experiment {

// What stands between a key and its value.
enum class Relation { at_most, at_least, unequal, less, more, equal };
// "<=", "<", ...
const char* sign_of(Relation relation);
// The one whose sign a text begins with.
std::optional<Relation> relation_at(std::string_view text);

template <typename Value>
bool holds(Relation relation, const Value& a, const Value& b) {
  switch (relation) {
    case Relation::at_most: return a <= b;
    case Relation::at_least: return a >= b;
    case Relation::unequal: return a != b;
    case Relation::less: return a < b;
    case Relation::more: return a > b;
    case Relation::equal: return a == b;
  }
  return false;
}

// One thing that a combination may be: "workload.size" less than "4 KiB", "strategy" equal to "mlock".
struct Condition {
  std::string key;  // of an axis, or "strategy"
  Relation relation = Relation::equal;
  std::string text;   // of the value, as a parameter's get() writes it
  double number = 0;  // the same, where the parameter is a number
  bool is_number = false;
};
// Combinations to which all of these apply are left out.
using Skip = std::vector<Condition>;

// Checked against the axes, the strategies' names and the parameters' declarations.
std::vector<Skip> read_skips(const Node& list, const std::vector<Axis>& axes,
                             const std::vector<std::string>& strategies, sim::ParameterTable& parameters,
                             Diagnostics& diagnostics);

// `text`: what a combination has for the condition's key, as get() writes it.
bool applies(const Condition& condition, const std::string& text, const sim::ParameterTable& parameters);

// Where only some strategies are kept: conditions on others, of which no combination is, go.
void forget_other_strategies(std::vector<Skip>& skips, const std::vector<std::string>& kept);

// As a file writes it.
std::string to_toml(const Skip& skip);

}  // namespace faultline::experiment
