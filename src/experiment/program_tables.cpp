// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/program_tables.hpp"

#include <algorithm>
#include <map>
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

void read_program(const Node& table, const std::string& name, const Presets& strategies, Diagnostics& diagnostics,
                  Settings& all) {
  if (const Node* strategy = table.find("strategy"); strategy != nullptr && strategy->kind != Node::Kind::table) {
    if (is_text(*strategy, "program.strategy", diagnostics)) {
      for (Setting& setting : strategies.named(strategy->text(), strategy->place, "program.strategy").settings) {
        add(all, name, std::move(setting));
      }
    }
  }
  Node own = table;
  std::erase_if(own.children, [](const Node& child) {
    return child.key == "name" || (child.key == "strategy" && child.kind != Node::Kind::table);
  });
  for (Setting& setting : read_settings(own, "program " + name, Provenance::optional, diagnostics)) {
    add(all, name, std::move(setting));
  }
}

}  // namespace

Settings read_programs(const Node& file, const Presets& strategies, Diagnostics& diagnostics) {
  Settings all;
  const Node* programs = file.find("program");
  if (programs == nullptr) return all;
  if (!is_list(*programs, "program", "[[program]], once for each", diagnostics)) return all;
  std::map<std::string, Place> seen;
  for (const Node& table : programs->children) {
    if (!is_table(table, "program", "[[program]] with a name and its settings", diagnostics)) continue;
    const std::string name = read_name(table, seen, diagnostics);
    if (!name.empty()) read_program(table, name, strategies, diagnostics, all);
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
  const auto is_sum = [](const std::string& name) {
    return name == "transfers" || name == "transfers_failed" || name == "data_errors";
  };
  std::vector<workloads::MetricDoc> all;
  for (const std::string& program : programs) {
    for (workloads::MetricDoc doc : metrics) {
      if (!doc.of_program) continue;
      doc.name = program + "." + doc.name;
      all.push_back(std::move(doc));
    }
  }
  for (const workloads::MetricDoc& doc : metrics) {
    if (!doc.of_program || is_sum(doc.name)) all.push_back(doc);
  }
  return all;
}

}  // namespace faultline::experiment
