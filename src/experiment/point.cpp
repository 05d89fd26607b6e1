// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/uuid/name_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <stdexcept>

#include "src/experiment/program_id.hpp"

namespace faultline::experiment {
std::string Point::label() const {
  std::string text = strategy;
  for (const NamedText& axis : axes) {
    const std::string* label = label_on(axis);
    text += fmt::format(", {} = {}", axis.name, label == nullptr ? axis.text : *label);
  }
  return repeated ? text + fmt::format(", seed {}", seed) : text;
}

const std::string* Point::label_on(const NamedText& axis) const {
  return labels == nullptr ? nullptr : find_label(*labels, axis.name, axis.text);
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
  for (std::size_t i = layers.size(); i-- > 0;) {
    if (const Setting* setting = deciding(*layers[i], key)) return setting;
  }
  return nullptr;
}

}  // namespace faultline::experiment
