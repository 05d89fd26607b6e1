// SPDX-License-Identifier: Apache-2.0
// Values that a file or the command line gives to parameters, each with its place and who set it.
#pragma once

#include <string>
#include <vector>

#include "models/sim/parameters.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/toml_document.hpp"

namespace faultline::experiment {

struct Setting {
  std::string key;
  sim::ParameterValue value;
  Place key_place;
  Place place;         // of the value
  std::string origin;  // "platform exanest-qfdb", "strategy resident", "--set"
  std::string source;  // where the number is from; platforms only
  std::string standing;
  // Other than `value`: what stands in a value's place (under [parameters] a table is an empty one). Refused when it is
  // applied, because the message needs the declaration.
  Node::Kind kind = Node::Kind::value;
  std::string label = {};  // what tables and figures call it; of values on axes

  // Who set it, for people: "platform exanest-qfdb, line 12".
  std::string set_by() const;
};

// Applied in order: the later of two with one key wins.
using Settings = std::vector<Setting>;

// Whether numbers must say where they are from (platforms) or may (everything else).
enum class Provenance { optional, required };

// The settings under a table of parameters, however its keys are nested. A table with the key `value` is
// one value with its source and standing. What is no value is a setting, too, as an empty table is: apply() judges it.
Settings read_settings(const Node& table, const std::string& origin, Provenance provenance, Diagnostics& diagnostics);

// "key=value" of the command line.
Settings parse_overrides(const std::vector<std::string>& assignments, Diagnostics& diagnostics);

// Sets every parameter; what the declarations refuse becomes a diagnostic. An empty table of a group of parameters
// sets nothing.
void apply(const Settings& settings, sim::ParameterTable& table, Diagnostics& diagnostics);
// Likewise for one; false when refused.
bool apply(const Setting& setting, sim::ParameterTable& table, Diagnostics& diagnostics);

// Of "a, b, c", as declarations write choices and points what they are.
std::vector<std::string> split_list(const std::string& list);

// The parameters that the settings name, once each, in the order of their declarations.
std::vector<const sim::Parameter*> named_by(const Settings& settings, const sim::ParameterTable& table);

// A parameter's current value as a configuration file writes it.
std::string toml_value(const sim::Parameter& parameter);

}  // namespace faultline::experiment
