// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/slurm_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace faultline::experiment {
namespace {

using Check = std::string (*)(const std::string&);

std::string read_checked(const Node& table, const std::string& name, Check why_not, Diagnostics& diagnostics) {
  std::string text = optional_text(table, name, diagnostics);
  const Node* node = table.find(name);
  if (node == nullptr || !node->is_text()) return text;
  if (const std::string why = why_not(text); !why.empty()) diagnostics.add(node->place, "slurm." + name, why);
  return text;
}

std::optional<unsigned> read_whole(const Node& table, const std::string& name, unsigned most,
                                   Diagnostics& diagnostics) {
  const auto number = optional_whole(table, name, 1, most, "slurm." + name, diagnostics);
  return number ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

}  // namespace

std::string why_no_slurm_time(const std::string& text) {
  // Each number as a 9: what is left is the form.
  std::string form;
  for (const char c : text) {
    if (c < '0' || c > '9') {
      form += c;
    } else if (!form.ends_with('9')) {
      form += '9';
    }
  }
  constexpr std::array<std::string_view, 6> kForms{"9", "9:9", "9:9:9", "9-9", "9-9:9", "9-9:9:9"};
  const bool is_time = std::ranges::find(kForms, form) != kForms.end();
  if (is_time && text.find_first_of("123456789") != std::string::npos) return "";
  return fmt::format(
      "'{}' is no time for Slurm; allowed: MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS, DAYS-HOURS, "
      "DAYS-HOURS:MINUTES or DAYS-HOURS:MINUTES:SECONDS, such as 2:00:00",
      text);
}

std::string why_no_slurm_memory(const std::string& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view unit = std::string_view(text).substr(digits);
  if (digits > 0 && text.front() != '0' && unit.size() == 1 && std::string_view("KMGT").find(unit) != unit.npos)
    return "";
  return fmt::format("'{}' is no memory for Slurm; allowed: a whole number and K, M, G or T (times 1024), such as 4G",
                     text);
}

SlurmSettings read_slurm(const Node& table, Diagnostics& diagnostics) {
  SlurmSettings settings;
  if (!is_table(table, "slurm", "[slurm]", diagnostics)) return settings;
  refuse_unknown_keys(table, {"partition", "time", "memory", "tasks", "cpus", "sbatch"}, "slurm.", diagnostics);
  settings.partition = optional_text(table, "partition", diagnostics);
  settings.time = read_checked(table, "time", why_no_slurm_time, diagnostics);
  settings.memory = read_checked(table, "memory", why_no_slurm_memory, diagnostics);
  settings.tasks = read_whole(table, "tasks", kMostSlurmTasks, diagnostics);
  settings.cpus = read_whole(table, "cpus", kMostSlurmCpus, diagnostics);
  for (const Node* node : optional_texts(table, "sbatch", diagnostics)) settings.sbatch.push_back(node->text());
  return settings;
}

std::string to_toml(const SlurmSettings& settings) {
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{} = {}\n", name, quote_toml(value));
  };
  add("partition", settings.partition);
  add("time", settings.time);
  add("memory", settings.memory);
  if (settings.tasks) text += fmt::format("tasks = {}\n", *settings.tasks);
  if (settings.cpus) text += fmt::format("cpus = {}\n", *settings.cpus);
  std::string arguments;
  for (const std::string& argument : settings.sbatch)
    arguments += (arguments.empty() ? "" : ", ") + quote_toml(argument);
  if (!arguments.empty()) text += "sbatch = [" + arguments + "]\n";
  return text.empty() ? "" : "\n[slurm]\n" + text;
}

SlurmSettings over(SlurmSettings below, const SlurmSettings& above) {
  if (!above.partition.empty()) below.partition = above.partition;
  if (!above.time.empty()) below.time = above.time;
  if (!above.memory.empty()) below.memory = above.memory;
  if (above.tasks) below.tasks = above.tasks;
  if (above.cpus) below.cpus = above.cpus;
  below.sbatch.insert(below.sbatch.end(), above.sbatch.begin(), above.sbatch.end());
  return below;
}

}  // namespace faultline::experiment
