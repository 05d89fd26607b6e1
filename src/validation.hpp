// SPDX-License-Identifier: Apache-2.0
// Published figures beside simulated ones. A figure that a parameter was fitted to is shown as such:
// agreeing with it proves nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::app {

enum class Comparison { value, difference, ratio, overhead, less, greater };

struct Tolerance {
  double amount = 0;
  bool relative = false;  // of the published value
};

struct Figure {
  std::string name;
  std::string quantity;
  std::string source;
  std::string use;  // fit, predicted, ordering
  std::vector<std::string> fitted;
  std::string metric;
  std::vector<std::string> steps;  // instead of a metric: breakdown steps that are added
  double scale = 1;
  Comparison compare = Comparison::value;
  double value = 0;  // without meaning for less and greater
  std::string unit;
  Tolerance tolerance;
  std::string known_off;        // why the simulated value lies outside; then it must, or this is no longer true
  std::vector<Point> points;    // one a combination of the axes
  std::vector<Point> baseline;  // as many, or none
};

// What became of one figure at one point.
struct Check {
  const Figure* figure = nullptr;
  std::string where;      // the axes' values
  std::string published;  // "1.3 us", "< 38.2 us"
  std::string simulated;
  double value = 0;   // the simulated one, in the figure's unit
  std::string error;  // "+2.1 %"
  bool passed = false;
  std::string trouble;  // why there is no simulated value
};

// Reads the file, checks all of it, throws UserError with every mistake.
std::vector<Figure> read_figures(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                                 const ConfigLibrary& library, const Simulator& simulator);

// Every point of every figure, and the comparisons of their outcomes in the same order.
std::vector<Point> points_of(const std::vector<Figure>& figures);
std::vector<Check> compare(const std::vector<Figure>& figures, const std::vector<PointOutcome>& outcomes);

std::string checks_table(const std::vector<Check>& checks);
std::string checks_json(const std::vector<Check>& checks);
std::string checks_csv(const std::vector<Check>& checks);

}  // namespace faultline::app
