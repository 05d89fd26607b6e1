// SPDX-License-Identifier: Apache-2.0
// From an experiment to its points: the layers are put on top of each other, every strategy meets every
// combination of the axes, and combinations that cannot be are refused before anything runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/experiment/experiment.hpp"
#include "src/experiment/simulator.hpp"

namespace faultline::app {

struct NamedText {
  std::string name;
  std::string text;
};

struct Point {
  std::string strategy;
  std::vector<NamedText> axes;        // canonical value texts, in the order of the axes
  std::vector<NamedText> parameters;  // every axis and every value that is not the default, as declared
  Settings settings;                  // all layers, lowest first
  std::uint64_t seed = 1;
  std::string id;         // content_id()
  bool repeated = false;  // there are others that differ by their seed alone

  std::string label() const;  // "resident, workload.size = 64 B", and of one that is repeated its seed
};

// In the order: strategies as listed, axes as listed with the last one fastest, then repetitions.
// Throws UserError with every impossible combination, and where conditions leave none.
std::vector<Point> expand(const Experiment& experiment, const Simulator& simulator);

// The point with one more setting, which has the last word and is named like a value of an axis.
struct Changed {
  Point point;
  std::string conflict;  // why it cannot be simulated; empty: it can
};
Changed with_value(Point point, const Setting& setting, const Simulator& simulator);

// Which results are a point's: those of this very program, with the seed and every parameter's value. A UUID of
// version 5.
std::string content_id(const sim::ParameterTable& parameters, std::uint64_t seed);

// A machine with the point's values. They have been checked: a refusal now is a bug.
std::unique_ptr<Machine> configure(const Point& point, const Simulator& simulator);

// The setting that decides a parameter; nullptr at the default.
const Setting* deciding(const Settings& settings, const std::string& key);

// What is wrong with the parameters `keys` of a point, for people: one line that names who set the first.
void add_combination(const Point& point, const std::string& file, const std::vector<std::string>& keys,
                     const std::string& reason, Diagnostics& diagnostics);

}  // namespace faultline::app
