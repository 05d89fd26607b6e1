// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/finder.hpp>
#include <boost/algorithm/string/iter_find.hpp>
#include <charconv>
#include <cstdint>
#include <unordered_map>

namespace faultline::experiment {
namespace {

const std::vector<std::string> kStandings{"published", "derived", "fitted", "assumed", "setting"};

class Reader {
 public:
  Reader(std::string origin, Provenance provenance, Diagnostics& diagnostics)
      : origin_(std::move(origin)), provenance_(provenance), diagnostics_(diagnostics) {}

  void read(const Node& table, const std::string& prefix) {
    for (const Node& child : table.children) {
      const std::string key = prefix + child.key;
      if (child.kind == Node::Kind::table) {
        const Node* value = child.find("value");
        if (value != nullptr && value->kind != Node::Kind::table) {
          add_with_provenance(child, *value, key);
        } else if (child.children.empty()) {
          add(child, child, key);
        } else {
          read(child, key + ".");
        }
      } else if (add(child, child, key) && provenance_ == Provenance::required) {
        diagnostics_.add(
            child.place, key,
            "does not say where it is from; allowed: { value = ..., standing = \"published\", \"derived\", "
            "\"fitted\", \"assumed\" or \"setting\", source = \"...\" }");
      }
    }
  }
  Settings take() { return std::move(settings_); }

 private:
  // True: a value has been added.
  bool add(const Node& keyed, const Node& value, const std::string& key) {
    if (const auto [twin, is_new] = places_.emplace(key, keyed.key_place); !is_new) {
      diagnostics_.add(keyed.key_place, key, "is set twice; first at " + twin->second.text());
      return false;
    }
    settings_.push_back({key, value.value, keyed.key_place, value.place, origin_, "", "", value.kind});
    return value.kind == Node::Kind::value;
  }

  void add_with_provenance(const Node& entry, const Node& value, const std::string& key) {
    refuse_unknown_keys(entry, {"value", "standing", "source"}, key + ".", diagnostics_);
    const std::string standing = optional_text(entry, "standing", diagnostics_);
    const std::string source = optional_text(entry, "source", diagnostics_);
    const bool known = std::ranges::find(kStandings, standing) != kStandings.end();
    if (!known && (!standing.empty() || provenance_ == Provenance::required)) {
      diagnostics_.add(entry.place, key, "standing '{}'; {}", standing, diagnostics_.allowed(standing, kStandings));
    }
    if (provenance_ == Provenance::required && known && standing != "setting" && source.empty()) {
      diagnostics_.add(entry.place, key, "has no source; allowed: source = \"...\", or standing = \"setting\"");
    }
    if (add(entry, value, key)) {
      settings_.back().source = source;
      settings_.back().standing = standing;
    }
  }

  std::string origin_;
  Provenance provenance_;
  Diagnostics& diagnostics_;
  Settings settings_;
  std::unordered_map<std::string, Place> places_;  // of their keys
};

// The parameter that a person may have meant: of this name in another group or in none (older files have other groups:
// configs/renamed.toml), or misspelt.
std::string nearest_parameter(const std::string& key, const sim::ParameterTable& table) {
  const auto last_name = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
  for (const sim::Parameter& p : table.all()) {
    if (last_name(p.name) == last_name(key)) return p.name;
  }
  return table.nearest(key);
}

bool is_group(const std::string& key, const sim::ParameterTable& table) {
  return std::ranges::any_of(table.all(), [&](const sim::Parameter& p) { return p.name.starts_with(key + "."); });
}

bool refuse_no_value(const Setting& setting, const sim::Parameter& parameter, Diagnostics& diagnostics) {
  Node node;
  node.kind = setting.kind;
  diagnostics.add(setting.place, setting.key, "{} is not a value; allowed: {}{}", describe(node), parameter.allowed,
                  setting.kind == Node::Kind::list ? "; lists belong under [axes]" : "");
  return false;
}

}  // namespace

std::string Setting::set_by() const {
  return place.line == 0 ? origin : fmt::format("{}, line {}", origin, place.line);
}

Settings read_settings(const Node& table, const std::string& origin, Provenance provenance, Diagnostics& diagnostics) {
  if (table.kind != Node::Kind::table) {
    diagnostics.add(table.place, table.key, describe(table) + " is not a table of parameters");
    return {};
  }
  Reader reader(origin, provenance, diagnostics);
  reader.read(table, "");
  return reader.take();
}

Settings parse_overrides(const std::vector<std::string>& assignments, Diagnostics& diagnostics) {
  Settings settings;
  for (const std::string& assignment : assignments) {
    const Place place{"--set " + assignment, 0, 0};
    const auto equals = assignment.find('=');
    const std::string key = trimmed(assignment.substr(0, equals));
    if (equals == std::string::npos || key.empty()) {
      diagnostics.add(place, "", "is not an assignment; allowed: --set KEY=VALUE");
      continue;
    }
    std::string value = trimmed(assignment.substr(equals + 1));
    // Quotes are TOML's; a shell that passed them on meant no part of the value.
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    settings.push_back({key, value, place, place, "--set", "", ""});
  }
  return settings;
}

bool apply(const Setting& setting, sim::ParameterTable& table, Diagnostics& diagnostics) {
  const sim::Parameter* parameter = table.find(setting.key);
  if (parameter == nullptr) {
    diagnostics.add(
        setting.key_place, setting.key,
        "no such parameter" + (diagnostics.is_full() ? "" : did_you_mean(nearest_parameter(setting.key, table))));
    return false;
  }
  if (setting.kind != Node::Kind::value) return refuse_no_value(setting, *parameter, diagnostics);
  try {
    parameter->set(setting.value);
    return true;
  } catch (const sim::BadParameterValue& error) {
    std::string hint;
    if (const auto* text = std::get_if<std::string>(&setting.value);
        text && parameter->kind == sim::ParameterKind::choice) {
      hint = diagnostics.hint(*text, split_list(parameter->allowed));
    }
    diagnostics.add(setting.place, setting.key, "{}; allowed: {}{}", error.what(), error.allowed(), hint);
    return false;
  }
}

void apply(const Settings& settings, sim::ParameterTable& table, Diagnostics& diagnostics) {
  for (const Setting& setting : settings) {
    if (setting.kind == Node::Kind::table && is_group(setting.key, table)) continue;
    apply(setting, table, diagnostics);
  }
}

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> parts;
  return boost::iter_split(parts, list, boost::first_finder(", "));
}

std::vector<const sim::Parameter*> named_by(const Settings& settings, const sim::ParameterTable& table) {
  std::vector<const sim::Parameter*> named;
  for (const sim::Parameter& parameter : table.all()) {
    if (std::ranges::find(settings, parameter.name, &Setting::key) != settings.end()) named.push_back(&parameter);
  }
  return named;
}

std::string toml_value(const sim::Parameter& parameter) {
  std::string text = parameter.get();
  if (text == sim::ParameterTable::kInherited) return quote_toml(text);
  switch (parameter.kind) {
    case sim::ParameterKind::flag:
    case sim::ParameterKind::fraction: return text;
    case sim::ParameterKind::count: {
      // TOML's integers are signed; the few larger counts are read from text.
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      return error == std::errc{} && end == text.data() + text.size() ? text : quote_toml(text);
    }
    default: return quote_toml(text);
  }
}

}  // namespace faultline::experiment
