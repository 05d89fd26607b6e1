// SPDX-License-Identifier: Apache-2.0
// Published figures beside simulated ones. A figure that a parameter was fitted to, and one that could hardly come out
// otherwise, is shown as such: agreeing with it proves nothing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::app {

enum class Use {
  predicted,     // no parameter was chosen with it in view: agreement says something
  fit,           // parameters were chosen so that it comes out
  construction,  // the model can hardly give anything else
  reading,       // what else the words of a figure may mean: shown, and not checked
};

// What is made of a point's measure and its baseline's before it is compared with what is published.
enum class Comparison {
  value,
  difference,
  ratio,
  overhead,
  less,
  greater,
  // Of all points of one axis of numbers together: the least slope between neighbours over the greatest; from which
  // number on the measure is less than the baseline's.
  linear,
  crossover,
};

struct Tolerance {
  double amount = 0;
  bool relative = false;  // of the published value
};

// What is published: a number that is to be met within a tolerance, or ends that are not to be crossed. None of them
// for less and greater, whose other side is measured.
struct Published {
  std::optional<double> value;
  Tolerance tolerance;
  std::optional<double> at_least;
  std::optional<double> at_most;
};

struct Figure {
  std::string name;
  std::string quantity;
  std::string source;
  Use use = Use::predicted;
  std::string fails_if;   // what would make the check fail; empty for another reading
  std::string known_off;  // why the simulated value lies outside; then it must, or this is no longer true
  std::string note;       // what else one has to know of it; may be empty
  std::vector<std::string> fitted;
  std::string metric;
  std::string over;                // a metric that the first is divided by; may be empty
  std::vector<std::string> steps;  // instead of a metric: breakdown steps that are added
  double scale = 1;
  Comparison compare = Comparison::value;
  Published published;
  std::string unit;
  std::vector<experiment::Point> points;    // one a combination of the axes
  std::vector<experiment::Point> baseline;  // as many, or none
  std::vector<double> positions;            // where all are one check: the points' numbers on their axis, rising

  // All points make one check together; else each makes its own.
  bool is_one_check() const { return compare == Comparison::linear || compare == Comparison::crossover; }
};

// How a check's measure spreads over samples of what nobody has published: nearest ranks, in the measure's unit.
struct Band {
  std::size_t samples = 0;  // that could be simulated; with none the rest is 0
  std::size_t passed = 0;   // of them: within what is allowed, also where the figure is known to be off
  double lowest = 0;
  double p5 = 0;
  double p95 = 0;
  double highest = 0;
};

// What became of one figure at one point, or at all of them together.
struct Check {
  const Figure* figure = nullptr;
  std::string where;      // the axes' values
  std::string published;  // "1.3 us", "< 38.2 us", ">= 0.3 us"
  std::string simulated;
  double value = 0;    // the simulated one, in the figure's unit
  double measure = 0;  // that, or for less and greater how far it is from the other side, in %
  std::string error;   // "+2.1 %"
  bool passed = false;
  std::string trouble;  // why there is no simulated value
  std::optional<Band> band;
};

// Reads the file, checks all of it, throws UserError with every mistake.
std::vector<Figure> read_figures(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                                 const experiment::ConfigLibrary& library, const experiment::Simulator& simulator);

// Every point of every figure, and the comparisons of their outcomes in the same order.
std::vector<experiment::Point> points_of(const std::vector<Figure>& figures);
std::vector<Check> compare(const std::vector<Figure>& figures, std::span<const runs::PointOutcome> outcomes);
// One of a figure's points, where each is a check of its own; `baseline` is null where the figure has none.
Check compare(const Figure& figure, const experiment::Point& point, const runs::PointOutcome& outcome,
              const runs::PointOutcome* baseline);

// Whether a check that does not pass is a failure: of another reading it is not.
bool counts(const Check& check);

// "predicted", "by construction"; the measure with its unit.
std::string use_text(Use use);
std::string measure_text(const Check& check, double measure);

std::string checks_table(const std::vector<Check>& checks);
// Where each figure is from, what was fitted to it, what would make it fail.
std::string figures_text(const std::vector<Check>& checks);
std::string checks_json(const std::vector<Check>& checks);
std::string checks_csv(const std::vector<Check>& checks);

}  // namespace faultline::app
