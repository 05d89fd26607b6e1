// SPDX-License-Identifier: Apache-2.0
// One point of an experiment: where it stands, and every setting that makes it. A sweep may have a million: what they
// have in common is there once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/experiment/diagnostics.hpp"
#include "src/experiment/labels.hpp"
#include "src/experiment/settings.hpp"
#include "src/experiment/simulator.hpp"

namespace faultline::experiment {

struct NamedText {
  std::string name;
  std::string text;
};

// Settings on top of each other: what stands in a later layer wins.
using SettingLayers = std::vector<std::shared_ptr<const Settings>>;

struct Point {
  std::string strategy;
  std::vector<NamedText> axes;  // canonical value texts, in the order of the axes
  // Of the parameters that are no axes those whose value is not the default, in the order of their declarations.
  std::shared_ptr<const std::vector<NamedText>> changed;
  // And those whose value is the default although the platform says otherwise.
  std::shared_ptr<const std::vector<NamedText>> reset;
  std::shared_ptr<const Labels> labels;  // of the values on axes; may be nullptr
  SettingLayers settings;                // lowest first, the platform's at the bottom
  std::uint64_t seed = 1;
  double work = 1;          // as of Machine: what it costs to simulate, beside other points
  std::string id;           // content_id()
  bool repeated = false;    // there are others that differ by their seed alone
  unsigned repetition = 0;  // of those: the first one stands so many places before it

  // "resident, workload.size = 64 B", with the labels of values; of one that is repeated with its seed, too.
  std::string label() const;
  const std::string* label_on(const NamedText& axis) const;     // of its value there; nullptr: it has none
  std::vector<NamedText> parameters() const;                    // axes, then what is changed
  const std::string* find(const std::string& parameter) const;  // its text, among these; nullptr: it is the default
};

// Whether they are the same but for their strategies.
bool differ_by_strategy(const Point& a, const Point& b);

// Which program this is. The linker's build-id: another one for other sources, another compiler or other options, the
// same for the same. Without one the version, the commit and when the file was built.
const std::string& program_id();

// Every parameter's value: what points that differ by their seed alone have in common. Takes long beside the rest.
std::string configuration_text(const sim::ParameterTable& parameters);
// Which results are a point's: those of this very program, with the seed and this configuration_text(). A UUID of
// version 5.
std::string content_id(const std::string& configuration, std::uint64_t seed);
// Characters of it, at least, by which people name a point; fewer may be a number.
inline constexpr std::size_t kLeastOfId = 8;

// A machine with the point's values. They have been checked: a refusal now is a bug.
std::unique_ptr<Machine> configure(const Point& point, const Simulator& simulator);
// Likewise for some layers of it, on a machine that is there.
void apply_checked(const Settings& settings, sim::ParameterTable& parameters);

// The setting that decides a parameter; nullptr at the default.
const Setting* deciding(const Settings& settings, const std::string& key);
const Setting* deciding(const SettingLayers& layers, const std::string& key);

}  // namespace faultline::experiment
