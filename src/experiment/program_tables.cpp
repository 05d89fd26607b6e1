// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/program_tables.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "workloads/program_settings.hpp"

namespace faultline::experiment {
namespace {

using workloads::ProgramSettings;

// Empty, with a diagnostic, where there is none that may be.
std::string read_name(const Node& table, std::map<std::string, Place>& seen, Diagnostics& diagnostics) {
  const std::string key = "program.name";
  const Node* name = table.find("name");
  if (name == nullptr) {
    diagnostics.add(table.place, key, "is missing; allowed: lower-case letters, digits and '-', a letter first");
    return "";
  }
  if (!is_text(*name, key, diagnostics)) return "";
  if (!ProgramSettings::is_name(name->text())) {
    diagnostics.add(name->place, key, "'{}' is no name; allowed: lower-case letters, digits and '-', a letter first",
                    name->text());
    return "";
  }
  if (const auto [twin, added] = seen.emplace(name->text(), name->place); !added) {
    diagnostics.add(name->place, key, "'{}' is the name of two programs; first at {}", name->text(),
                    twin->second.text());
    return "";
  }
  return name->text();
}

void add(Settings& all, const std::string& program, Setting setting) {
  setting.key = std::string(ProgramSettings::kGroup) + "." + program + "." + setting.key;
  all.push_back(std::move(setting));
}

// Of the machine all programs have the same.
void add_of_machine(Settings& all, std::map<std::string, Setting>& known, Settings own, Diagnostics& diagnostics) {
  std::map<std::string, Setting> last;  // a strategy's own stands behind what it is based on
  for (Setting& setting : own) last.insert_or_assign(setting.key, std::move(setting));
  for (auto& [key, setting] : last) {
    const auto [first, added] = known.emplace(key, setting);
    if (added) {
      all.push_back(std::move(setting));
    } else if (first->second.value != setting.value) {
      diagnostics.add(setting.place, key,
                      "two programs' strategies want it different, and the machine has it once; first at {}",
                      first->second.place.text());
    }
  }
}

// Keys of an experiment that somebody wrote below a table, where TOML takes them for the program's.
bool is_of_experiment(const std::string& key) {
  constexpr std::array<std::string_view, 11> kKeys{"question",   "platform", "workload",   "strategies",
                                                   "parameters", "axes",     "zip",        "skip",
                                                   "report",     "seed",     "repetitions"};
  return std::ranges::find(kKeys, key) != kKeys.end();
}

// Every program says what it is: a name that is misspelt would else be one more.
void check_keys(const Node& table, const std::string& name, Diagnostics& diagnostics) {
  for (const Node& child : table.children) {
    if (!is_of_experiment(child.key)) continue;
    diagnostics.add(child.key_place, "program." + name + "." + child.key,
                    "is the experiment's, and stands in a [[program]]; allowed: before the first [[program]]");
  }
  const Node* kind = table.find("kind");
  if (kind != nullptr && !(kind->is_text() && kind->text() == sim::ParameterTable::kInherited)) return;
  diagnostics.add(kind == nullptr ? table.place : kind->place, "program." + name + ".kind",
                  "is missing; allowed: a name from 'faultline list workloads'");
}

// A preset by name, or a table with what differs from it (based_on). It may say which NIC it is for: that is of the
// machine, and not of the program.
void read_strategy(const Node& node, const std::string& name, const Presets& strategies, Diagnostics& diagnostics,
                   Settings& of_program, Settings& of_machine) {
  const std::string key = "program." + name + ".strategy";
  const Node* preset = node.kind == Node::Kind::table ? node.find("based_on") : &node;
  if (preset == nullptr || !is_text(*preset, key, diagnostics)) return;
  of_program.push_back(
      {std::string(ProgramSettings::kOwnStrategy), true, node.key_place, preset->place, "program " + name, "", ""});
  for (Setting& setting : strategies.named(preset->text(), preset->place, key).settings) {
    Settings& all = ProgramSettings::is_of_machine(setting.key) ? of_machine : of_program;
    all.push_back(std::move(setting));
  }
}

void read_program(const Node& table, const std::string& name, const Presets& strategies, Diagnostics& diagnostics,
                  Settings& all, Settings& of_machine) {
  check_keys(table, name, diagnostics);
  Settings settings;
  Node own = table;
  if (const Node* strategy = table.find("strategy")) {
    read_strategy(*strategy, name, strategies, diagnostics, settings, of_machine);
  }
  std::erase_if(own.children, [](const Node& child) {
    return child.key == "name" || is_of_experiment(child.key) ||
           (child.key == "strategy" && child.kind != Node::Kind::table);
  });
  for (Node& child : own.children) {
    if (child.key == "strategy") std::erase_if(child.children, [](const Node& of) { return of.key == "based_on"; });
  }
  std::ranges::move(read_settings(own, "program " + name, Provenance::optional, diagnostics),
                    std::back_inserter(settings));
  for (Setting& setting : settings) add(all, name, std::move(setting));
}

}  // namespace

Settings read_programs(const Node& file, const Presets& strategies, Diagnostics& diagnostics) {
  Settings all;
  const Node* programs = file.find("program");
  if (programs == nullptr) return all;
  if (!is_list(*programs, "program", "[[program]], once for each", diagnostics)) return all;
  std::map<std::string, Place> seen;
  std::map<std::string, Setting> of_machine;
  for (const Node& table : programs->children) {
    if (!is_table(table, "program", "[[program]] with a name and its settings", diagnostics)) continue;
    const std::string name = read_name(table, seen, diagnostics);
    if (name.empty()) continue;
    Settings own;
    read_program(table, name, strategies, diagnostics, all, own);
    add_of_machine(all, of_machine, std::move(own), diagnostics);
  }
  return all;
}

std::vector<std::string> programs_in(const Settings& settings) {
  std::vector<std::string> names;
  for (const Setting& setting : settings) {
    const auto name = ProgramSettings::parse(setting.key);
    if (name && std::ranges::find(names, name->program) == names.end()) names.push_back(name->program);
  }
  return names;
}

std::vector<workloads::MetricDoc> with_programs(const std::vector<workloads::MetricDoc>& metrics,
                                                const std::vector<std::string>& programs) {
  if (programs.empty()) return metrics;
  std::vector<workloads::MetricDoc> all;
  for (const std::string& program : programs) {
    for (workloads::MetricDoc doc : metrics) {
      if (!doc.of_program) continue;
      doc.name = program + "." + doc.name;
      all.push_back(std::move(doc));
    }
  }
  for (const workloads::MetricDoc& doc : metrics) {
    if (!doc.of_program || workloads::is_sum_over_programs(doc.name)) all.push_back(doc);
  }
  return all;
}

}  // namespace faultline::experiment
