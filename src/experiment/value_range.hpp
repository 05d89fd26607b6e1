// SPDX-License-Identifier: Apache-2.0
// A range of a parameter's values, as an axis gives it: { from, to } and how to go from one to the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/experiment/settings.hpp"

namespace faultline::experiment {

class ValueRange {
 public:
  static constexpr const char* kForm =
      "{ from = ..., to = ..., steps = N }, { from, to, step }, or { from, to, scale = \"log2\" or \"log10\" }";

  ValueRange(const Node& node, std::string key, std::string origin, sim::ParameterTable& parameters,
             Diagnostics& diagnostics)
      : node_(node),
        key_(std::move(key)),
        origin_(std::move(origin)),
        parameters_(parameters),
        diagnostics_(diagnostics) {}

  // The ends and the scale. False: a diagnostic has been made.
  bool read(const std::vector<std::string>& allowed_keys);

  // Both ends included where the steps allow it. Empty: a diagnostic has been made.
  std::vector<Setting> values();

  // The value at a share of the way, from 0 to 1, which is drawn.
  Setting drawn(double share) const;

 private:
  enum class Scale { linear, log2, log10 };
  double at(double share, int digits) const;
  bool is_before_end(double value) const;
  double tidied(double value, int digits) const;
  std::vector<double> numbers();
  std::optional<double> end(const char* name);
  std::optional<double> distance();
  bool read_scale();
  bool refuse(const Place& place, const std::string& what);
  Setting setting(sim::ParameterValue value, const Place& place) const;
  Setting setting_of(double number) const;

  const Node& node_;
  std::string key_;
  std::string origin_;
  sim::ParameterTable& parameters_;
  Diagnostics& diagnostics_;
  const sim::Parameter* parameter_ = nullptr;
  double from_ = 0;
  double to_ = 0;
  Scale scale_ = Scale::linear;
};

}  // namespace faultline::experiment
