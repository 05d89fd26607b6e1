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
constexpr std::array<std::string_view, 6> kGroups{"strategy.", "reuse.",      "messages.",
                                                  "socket.",   "collective.", "inject."};
// Of the whole run.
constexpr std::array<std::string_view, 2> kOfTheRun{"workload.time_limit", "workload.checks"};

// The only program's parameters, by which values are checked and written. A value stands there for the length of one
// call; nobody asks for it afterwards.
struct Templates {
  Templates() {
    configuration.declare(table);
    table.add_flag(
        ProgramSettings::kOwnStrategy, own_strategy,
        {"whether what the program does not set of its strategy has the default, and not the run's value; an "
         "experiment's strategy = \"NAME\" of a program sets it",
         "",
         {}});
  }
  Configuration configuration;
  bool own_strategy = false;
  sim::ParameterTable table;
};
const sim::Parameter* template_of(std::string_view key) {
  static const Templates templates;
  return std::ranges::find(kOfTheRun, key) == kOfTheRun.end() ? templates.table.find(key) : nullptr;
}

}  // namespace

bool ProgramSettings::is_name(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && std::ranges::all_of(text, fits) &&
         std::isalpha(static_cast<unsigned char>(text.front())) != 0;
}

bool ProgramSettings::is_of_machine(std::string_view parameter) {
  const auto begins = [&](std::string_view group) { return parameter.starts_with(group); };
  return parameter != kOwnStrategy && !begins(kUnnamed) && !begins(std::string(kGroup) + ".") &&
         !std::ranges::any_of(kGroups, begins);
}

std::optional<ProgramSettings::Name> ProgramSettings::parse(std::string_view parameter) {
  if (!parameter.starts_with(std::string(kGroup) + ".")) return std::nullopt;
  parameter.remove_prefix(kGroup.size() + 1);
  const std::size_t dot = parameter.find('.');
  if (dot == std::string_view::npos || !is_name(parameter.substr(0, dot))) return std::nullopt;
  const std::string_view rest = parameter.substr(dot + 1);
  if (rest == kOwnStrategy) return Name{std::string(parameter.substr(0, dot)), std::string(rest)};
  const bool grouped = std::ranges::any_of(kGroups, [&](std::string_view group) { return rest.starts_with(group); });
  return Name{std::string(parameter.substr(0, dot)), grouped ? std::string(rest) : std::string(kUnnamed).append(rest)};
}

void ProgramSettings::declare(sim::ParameterTable& table) {
  table.add_family(kGroup, [this](std::string_view parameter) { return make(parameter); });
}

std::optional<sim::Parameter> ProgramSettings::make(std::string_view parameter) {
  const std::optional<Name> name = parse(parameter);
  const sim::Parameter* as = name ? template_of(name->key) : nullptr;
  if (as == nullptr) return std::nullopt;
  const auto get = [this, name = *name] {
    const auto program = std::ranges::find(programs_, name.program, &Program::name);
    const std::string* value = program == programs_.end() ? nullptr : program->find(name.key);
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

const std::string* ProgramSettings::Program::find(std::string_view key) const {
  for (const auto& [known, value] : values) {
    if (known == key) return &value;
  }
  return nullptr;
}

void ProgramSettings::set(const Name& name, const sim::ParameterValue& value) {
  auto program = std::ranges::find(programs_, name.program, &Program::name);
  std::string text(sim::ParameterTable::kInherited);
  const auto* given = std::get_if<std::string>(&value);
  if (given == nullptr || *given != text) {
    const sim::Parameter& as = *template_of(name.key);
    as.set(value);
    text = as.get();
  }
  if (program != programs_.end()) {
    std::erase_if(program->values, [&](const auto& each) { return each.first == name.key; });
    if (text != sim::ParameterTable::kInherited) program->values.emplace_back(name.key, text);
    if (program->values.empty()) programs_.erase(program);
  } else if (text != sim::ParameterTable::kInherited) {
    const auto behind = std::ranges::upper_bound(programs_, name.program, {}, &Program::name);
    programs_.insert(behind, Program{name.program, {{name.key, text}}});
  }
}

const std::string& ProgramSettings::default_of(std::string_view key) { return template_of(key)->initial; }

std::string ProgramSettings::key_of(const std::string& program, const std::string& key) const {
  const auto found = std::ranges::find(programs_, program, &Program::name);
  if (found == programs_.end()) return key;
  std::string rest = key.starts_with(kUnnamed) ? key.substr(kUnnamed.size()) : key;
  if (found->find(key) == nullptr) {
    const bool has_default = key.starts_with("strategy.") && found->find(kOwnStrategy) != nullptr;
    if (!has_default) return key;
    rest = kOwnStrategy;
  }
  return std::string(kGroup) + "." + program + "." + rest;
}

std::vector<std::string> ProgramSettings::keys_of(const std::vector<std::string>& keys) const {
  if (programs_.empty()) return keys;
  std::vector<std::string> all;
  for (const std::string& key : keys) {
    for (const Program& program : programs_) {
      std::string own = key_of(program.name, key);
      if (std::ranges::find(all, own) == all.end()) all.push_back(std::move(own));
    }
  }
  return all;
}

}  // namespace faultline::workloads
