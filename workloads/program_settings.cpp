// SPDX-License-Identifier: Apache-2.0
#include "workloads/program_settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "workloads/configuration.hpp"

namespace faultline::workloads {
namespace {

constexpr std::string_view kUnnamed = "workload.";
// Groups that programs have settings of, beside that one.
constexpr std::array<std::string_view, 3> kGroups{"strategy.", "reuse.", "inject."};
// Of the whole run.
constexpr std::array<std::string_view, 2> kOfTheRun{"workload.time_limit", "workload.checks"};

// The only program's parameters, by which values are checked and written.
struct Templates {
  Templates() { configuration.declare(table); }
  Configuration configuration;
  sim::ParameterTable table;
};
const sim::Parameter* of_only_program(std::string_view key) {
  static const Templates templates;
  return std::ranges::find(kOfTheRun, key) == kOfTheRun.end() ? templates.table.find(key) : nullptr;
}

}  // namespace

bool ProgramSettings::is_name(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && std::ranges::all_of(text, fits) &&
         std::isalpha(static_cast<unsigned char>(text.front())) != 0;
}

std::optional<ProgramSettings::Name> ProgramSettings::parse(std::string_view parameter) {
  if (!parameter.starts_with(std::string(kGroup) + ".")) return std::nullopt;
  parameter.remove_prefix(kGroup.size() + 1);
  const std::size_t dot = parameter.find('.');
  if (dot == std::string_view::npos || !is_name(parameter.substr(0, dot))) return std::nullopt;
  const std::string_view rest = parameter.substr(dot + 1);
  const bool grouped = std::ranges::any_of(kGroups, [&](std::string_view group) { return rest.starts_with(group); });
  return Name{std::string(parameter.substr(0, dot)), grouped ? std::string(rest) : std::string(kUnnamed).append(rest)};
}

void ProgramSettings::declare(sim::ParameterTable& table) {
  table.add_family(kGroup, [this](std::string_view parameter) { return make(parameter); });
}

std::optional<sim::Parameter> ProgramSettings::make(std::string_view parameter) {
  const std::optional<Name> name = parse(parameter);
  const sim::Parameter* as = name ? of_only_program(name->key) : nullptr;
  if (as == nullptr) return std::nullopt;
  const auto get = [this, name = *name] {
    const std::string* value = find(name);
    return value == nullptr ? std::string(sim::ParameterTable::kInherited) : *value;
  };
  return sim::Parameter{.name = std::string(parameter),
                        .kind = as->kind,
                        .allowed = as->allowed,
                        .initial = std::string(sim::ParameterTable::kInherited),
                        .doc = as->doc,
                        .get = get,
                        .set = [this, name = *name](const sim::ParameterValue& value) { set(name, value); }};
}

std::string* ProgramSettings::find(const Name& name) {
  const auto program = std::ranges::find(programs_, name.program, &Program::name);
  if (program == programs_.end()) return nullptr;
  for (auto& [key, value] : program->values) {
    if (key == name.key) return &value;
  }
  return nullptr;
}

void ProgramSettings::set(const Name& name, const sim::ParameterValue& value) {
  auto program = std::ranges::find(programs_, name.program, &Program::name);
  if (const auto* text = std::get_if<std::string>(&value);
      text != nullptr && *text == sim::ParameterTable::kInherited) {
    if (program == programs_.end()) return;
    std::erase_if(program->values, [&](const auto& each) { return each.first == name.key; });
    if (program->values.empty()) programs_.erase(program);
    return;
  }
  const sim::Parameter& as = *of_only_program(name.key);
  as.set(value);
  if (program == programs_.end()) program = programs_.insert(program, Program{name.program, {}});
  if (std::string* old = find(name)) {
    *old = as.get();
  } else {
    program->values.emplace_back(name.key, as.get());
  }
}

const std::string& ProgramSettings::default_of(std::string_view key) { return of_only_program(key)->initial; }

std::string ProgramSettings::key_of(const std::string& program, const std::string& key) const {
  const auto found = std::ranges::find(programs_, program, &Program::name);
  if (found == programs_.end()) return key;
  const bool is_own = std::ranges::any_of(found->values, [&](const auto& each) { return each.first == key; });
  if (!is_own) return key;
  const std::string rest = key.starts_with(kUnnamed) ? key.substr(kUnnamed.size()) : key;
  return std::string(kGroup) + "." + program + "." + rest;
}

}  // namespace faultline::workloads
