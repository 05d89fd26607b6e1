// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/uuid/name_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <stdexcept>

#include "src/experiment/program_id.hpp"

namespace faultline::experiment {
namespace {

// The number of the layer whose setting decides; -1: none does.
std::ptrdiff_t deciding_layer(const SettingLayers& layers, const std::string& key) {
  for (std::size_t i = layers.size(); i-- > 0;) {
    if (deciding(*layers[i], key) != nullptr) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

}  // namespace

std::string Point::label() const {
  std::string text = strategy;
  for (const NamedText& axis : axes) text += fmt::format(", {} = {}", axis.name, axis.text);
  return repeated ? text + fmt::format(", seed {}", seed) : text;
}

std::vector<NamedText> Point::parameters() const {
  std::vector<NamedText> all = axes;
  if (changed != nullptr) all.insert(all.end(), changed->begin(), changed->end());
  return all;
}

const std::string* Point::find(const std::string& parameter) const {
  const auto in = [&](const std::vector<NamedText>& list) -> const std::string* {
    const auto found = std::ranges::find(list, parameter, &NamedText::name);
    return found == list.end() ? nullptr : &found->text;
  };
  const std::string* text = in(axes);
  return text != nullptr || changed == nullptr ? text : in(*changed);
}

std::string configuration_text(const sim::ParameterTable& parameters) {
  std::string text;
  // The whole configuration, not what differs from the defaults: those change with the program, too.
  for (const sim::Parameter& parameter : parameters.all()) {
    text += parameter.name;
    text += " = ";
    text += parameter.get();
    text += '\n';
  }
  return text;
}

std::string content_id(const std::string& configuration, std::uint64_t seed) {
  const std::string text = fmt::format("{}\nseed = {}\n{}", program_id(), seed, configuration);
  return to_string(boost::uuids::name_generator_sha1(boost::uuids::ns::oid())(text));
}

void apply_checked(const Settings& settings, sim::ParameterTable& parameters) {
  Diagnostics diagnostics;
  apply(settings, parameters, diagnostics);
  if (!diagnostics.empty()) throw std::logic_error("a checked value was refused: " + diagnostics.text());
}

std::unique_ptr<Machine> configure(const Point& point, const Simulator& simulator) {
  auto machine = simulator.machine();
  for (const auto& layer : point.settings) apply_checked(*layer, machine->parameters());
  return machine;
}

const Setting* deciding(const Settings& settings, const std::string& key) {
  const auto it = std::find_if(settings.rbegin(), settings.rend(), [&](const Setting& s) { return s.key == key; });
  return it == settings.rend() ? nullptr : &*it;
}

const Setting* deciding(const SettingLayers& layers, const std::string& key) {
  const std::ptrdiff_t layer = deciding_layer(layers, key);
  return layer < 0 ? nullptr : deciding(*layers[static_cast<std::size_t>(layer)], key);
}

void Conflicts::add(const Point& point, const std::vector<std::string>& keys, const std::string& reason) {
  // Of the parameters that somebody set the first of the layer that has the last word: not the platform's
  // memory when the experiment asks for too much of it. All may be defaults.
  std::ptrdiff_t last = -1;
  const Setting* setting = nullptr;
  std::string key = keys.empty() ? "" : keys.front();
  for (const std::string& candidate : keys) {
    const std::ptrdiff_t layer = deciding_layer(point.settings, candidate);
    const Setting* by = deciding(point.settings, candidate);
    if (layer <= last || (setting != nullptr && by->origin == setting->origin)) continue;
    last = layer;
    setting = by;
    key = candidate;
  }
  std::string others;
  for (const std::string& other : keys) {
    if (other == key) continue;
    const Setting* by = deciding(point.settings, other);
    others += fmt::format("{}{} ({})", others.empty() ? "; decided also by " : ", ", other,
                          by == nullptr ? "default" : by->set_by());
  }
  const Place place = setting == nullptr ? Place{file_, 0, 0} : setting->place;
  const auto same = [&](const Line& line) {
    return line.text == reason + others && line.key == key && line.place.text() == place.text();
  };
  auto line = std::ranges::find_if(lines_, same);
  if (line == lines_.end()) line = lines_.insert(line, {place, key, reason + others, {}});
  std::vector<std::string>& strategies = line->strategies;
  if (std::ranges::find(strategies, point.strategy) == strategies.end()) strategies.push_back(point.strategy);
}

void Conflicts::tell(Diagnostics& diagnostics) const {
  constexpr std::size_t kMostNamed = 3;
  for (const Line& line : lines_) {
    const std::size_t all = line.strategies.size();
    const std::vector<std::string> named(
        line.strategies.begin(), line.strategies.begin() + static_cast<std::ptrdiff_t>(std::min(all, kMostNamed)));
    diagnostics.add(line.place, line.key,
                    fmt::format("{} [{} {}{}]", line.text, all == 1 ? "strategy" : "strategies", fmt::join(named, ", "),
                                all > kMostNamed ? fmt::format(" and {} more", all - kMostNamed) : ""));
  }
}

}  // namespace faultline::experiment
