// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/value_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "models/sim/units.hpp"
#include "src/experiment/input_limits.hpp"
#include "src/experiment/quantity.hpp"

namespace faultline::experiment {
namespace {

// As people would write it: the digits beyond are an accident of the arithmetic.
double rounded(double value, int digits) {
  return std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);
}

class ValueRange {
 public:
  ValueRange(const Node& node, std::string key, std::string origin, sim::ParameterTable& parameters,
             Diagnostics& diagnostics)
      : node_(node),
        key_(std::move(key)),
        origin_(std::move(origin)),
        parameters_(parameters),
        diagnostics_(diagnostics) {}

  // The ends and the scale. False: a diagnostic has been made.
  bool read(const std::vector<std::string>& allowed_keys) {
    refuse_unknown_keys(node_, allowed_keys, key_ + ".", diagnostics_);
    parameter_ = parameters_.find(key_);
    if (parameter_ == nullptr) return apply(setting(std::int64_t{0}, node_.place), parameters_, diagnostics_);
    if (!is_number(parameter_->kind)) {
      return refuse(node_.place, fmt::format("is a {}, of which there are no ranges; allowed: a list of values",
                                             sim::to_string(parameter_->kind)));
    }
    const auto from = end("from");
    const auto to = end("to");
    if (!from || !to || !read_scale()) return false;
    from_ = *from;
    to_ = *to;
    if (from_ >= to_) return refuse(node_.place, "the range ends where it begins, or before; allowed: from below to");
    if (scale_ != Scale::linear && from_ <= 0) {
      return refuse(node_.place, "a logarithmic range begins at 0; allowed: from above 0, or a linear range");
    }
    return true;
  }

  std::vector<Setting> values() {
    std::vector<double> found = numbers();
    found.erase(std::unique(found.begin(), found.end()), found.end());  // counts may fall on the same whole number
    std::vector<Setting> settings;
    settings.reserve(found.size());
    for (const double value : found) settings.push_back(setting_of(value));
    return settings;
  }

  // The value at a share of the way.
  Setting drawn(double share) const {
    const bool whole = scale_ == Scale::linear && parameter_->kind == sim::ParameterKind::count;
    // Of whole numbers each as likely as any other.
    return setting_of(whole ? std::min(from_ + std::floor(share * (to_ - from_ + 1)), to_) : at(share, 6));
  }

 private:
  enum class Scale { linear, log2, log10 };

  std::vector<double> numbers() {
    const bool says_steps = node_.find("steps") != nullptr;
    const bool says_step = node_.find("step") != nullptr;
    std::vector<double> found;
    if (scale_ == Scale::linear && says_steps == says_step) {
      refuse(node_.place, std::string(says_steps ? "says both steps and step" : "says neither steps nor step") +
                              "; allowed: " + kRangeForm);
    } else if (scale_ != Scale::linear && says_step) {
      refuse(node_.place, "a logarithmic range has no step; allowed: steps, or neither (every power)");
    } else if (says_steps) {
      const auto steps = optional_whole(node_, "steps", 2, kMostValues, key_ + ".steps", diagnostics_).value_or(0);
      for (std::uint64_t i = 0; i < steps; ++i)
        found.push_back(at(static_cast<double>(i) / static_cast<double>(steps - 1), scale_ == Scale::linear ? 12 : 3));
    } else if (says_step) {
      const auto step = distance();
      if (!step) return found;
      if ((to_ - from_) / *step >= static_cast<double>(kMostValues)) {
        refuse(node_.place, fmt::format("has more than {} values", kMostValues));
        return found;
      }
      for (double i = 0; is_before_end(from_ + i * *step); ++i) found.push_back(tidied(from_ + i * *step, 12));
    } else {
      const double base = scale_ == Scale::log2 ? 2 : 10;
      for (int i = 0; is_before_end(from_ * std::pow(base, i)); ++i)
        found.push_back(tidied(from_ * std::pow(base, i), 12));
    }
    return found;
  }

  // A little more than the end: sums and products of fractions are not exact.
  bool is_before_end(double value) const { return value <= to_ * (1 + 1e-12); }

  // To so many digits, unless it is a whole number as it is, as the powers of two are that a ratio gives. Whatever the
  // rounding does, the ends are the ends.
  double tidied(double value, int digits) const {
    if (parameter_->kind == sim::ParameterKind::fraction) return std::clamp(rounded(value, digits), from_, to_);
    const bool whole = std::abs(value - std::round(value)) <= 1e-9 * value;
    return std::clamp(std::round(whole ? value : rounded(value, digits)), from_, to_);
  }

  double at(double share, int digits) const {
    if (share >= 1) return to_;
    return tidied(scale_ == Scale::linear ? from_ + share * (to_ - from_) : from_ * std::pow(to_ / from_, share),
                  digits);
  }

  std::optional<double> end(const char* name) {
    const Node* node = node_.find(name);
    if (node == nullptr) {
      refuse(node_.place, fmt::format("the range has no '{}'; allowed: {}", name, kRangeForm));
      return {};
    }
    Setting value = setting(node->value, node->place);
    value.kind = node->kind;
    if (!apply(value, parameters_, diagnostics_)) return {};
    return number_of(parameter_->kind, parameter_->get());
  }

  // A difference need not be a legal value itself.
  std::optional<double> distance() {
    const Node& node = *node_.find("step");
    const bool plain =
        parameter_->kind == sim::ParameterKind::count || parameter_->kind == sim::ParameterKind::fraction;
    double number = 0;
    try {
      if (node.is_text() && !plain) number = number_of(parameter_->kind, node.text());
    } catch (const sim::BadQuantity&) {
      number = 0;
    }
    if (node.is_text() && parameter_->kind == sim::ParameterKind::fraction && node.text().ends_with('%'))
      number = std::strtod(node.text().c_str(), nullptr) / 100;
    if (node.kind == Node::Kind::value && plain) {
      if (const auto* whole = std::get_if<std::int64_t>(&node.value)) number = static_cast<double>(*whole);
      if (const auto* real = std::get_if<double>(&node.value)) number = *real;
    }
    if (number > 0 && std::isfinite(number)) return number;
    refuse(node.place, fmt::format("step = {}; allowed: more than 0, written as the range's ends are", describe(node)));
    return {};
  }

  bool read_scale() {
    const std::vector<std::string> names{"linear", "log2", "log10"};
    const Node* node = node_.find("scale");
    if (node == nullptr) return true;
    const std::string text = node->is_text() ? node->text() : "";
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) {
      return refuse(node->place, fmt::format("scale = {}; {}", describe(*node), diagnostics_.allowed(text, names)));
    }
    scale_ = static_cast<Scale>(found - names.begin());
    return true;
  }

  bool refuse(const Place& place, const std::string& what) {
    diagnostics_.add(place, key_, what);
    return false;
  }

  Setting setting(sim::ParameterValue value, const Place& place) const {
    return {key_, std::move(value), node_.key_place, place, origin_, "", ""};
  }

  Setting setting_of(double number) const { return setting(value_of(parameter_->kind, number), node_.place); }

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

}  // namespace

std::vector<Setting> range_values(const Node& node, const std::string& key, const std::string& origin,
                                  sim::ParameterTable& parameters, Diagnostics& diagnostics) {
  ValueRange range(node, key, origin, parameters, diagnostics);
  return range.read({"from", "to", "scale", "steps", "step"}) ? range.values() : std::vector<Setting>();
}

std::vector<Setting> drawn_from_range(const Node& node, const std::string& key, const std::vector<double>& shares,
                                      sim::ParameterTable& parameters, Diagnostics& diagnostics) {
  ValueRange range(node, key, "sample", parameters, diagnostics);
  std::vector<Setting> values;
  if (!range.read({"from", "to", "scale"})) return values;
  for (const double share : shares) values.push_back(range.drawn(share));
  return values;
}

}  // namespace faultline::experiment
