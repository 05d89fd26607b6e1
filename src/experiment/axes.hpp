// SPDX-License-Identifier: Apache-2.0
// Where the points of an experiment lie: lists, ranges, axes that advance together, and samples. Ranges and samples
// become lists of values here; nobody behind knows of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/sim/random.hpp"
#include "src/experiment/settings.hpp"

namespace faultline::experiment {

struct Axis {
  std::string key;
  Place key_place;
  std::vector<Setting> values;  // all of this key
  // The first axis of those that advance with it, by number; its own where it is alone. All of them have as many
  // values.
  std::size_t leader = 0;
  bool drawn = false;                   // of a sample: what it has in a combination says nothing of the others
  std::vector<std::string> texts = {};  // the values as points write them, of an experiment that has been read
};

// [axes]: a list of values, or a range { from, to, and for linear ones steps or step; scale = log2 or log10 }.
std::vector<Axis> read_axes(const Node& table, const std::string& origin, sim::ParameterTable& parameters,
                            Diagnostics& diagnostics);
// zip = [["a.b", "c.d"], ...], before read_sample().
void read_zip(const Node& list, std::vector<Axis>& axes, Diagnostics& diagnostics);
// [sample] count, method, seed, axes: `count` combinations of values that are drawn, as axes that advance together.
void read_sample(const Node& table, sim::ParameterTable& parameters, std::vector<Axis>& axes, Diagnostics& diagnostics);

// Where on the way through a range each point lies, from 0 to 1: drawn, or one in each part of a Latin hypercube.
std::vector<double> drawn_shares(std::uint64_t points, bool by_parts, sim::RandomStream random);

// Whether nothing advances with an axis.
bool is_alone(const std::vector<Axis>& axes, std::size_t axis);
// Which axes are to be shown: those that are alone, and of those that advance together as few as tell their values
// apart, that is the one with most different values unless it has one of them twice. Needs their texts.
std::vector<bool> leading_axes(const std::vector<Axis>& axes);
// How many combinations of values the axes have, conditions apart; SIZE_MAX if it is more than that.
std::size_t combinations_of(const std::vector<Axis>& axes);
// The number of each axis's value in a combination; the last axis is the fastest.
std::vector<std::size_t> indices_in(const std::vector<Axis>& axes, std::size_t combination);

}  // namespace faultline::experiment
