// SPDX-License-Identifier: Apache-2.0
// The settings of each program of a run, which [[program]] tables of an experiment become:
//
//   program.NAME.K            for the program NAME what workload.K is for the only program of a run
//   program.NAME.strategy.K   what strategy.K is; likewise those of the groups reuse, messages, socket,
//                             collective and inject
//   program.NAME.own_strategy true: what the program does not set of its strategy has the default, and not the value of
//                             strategy.K
//
// Everything else that a program does not set it takes from those. A program is there from its first setting on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/sim/parameters.hpp"

namespace faultline::workloads {

class ProgramSettings {
 public:
  static constexpr std::string_view kGroup = "program";
  static constexpr std::string_view kOwnStrategy = "own_strategy";

  struct Program {
    std::string name;
    std::vector<std::pair<std::string, std::string>> values;  // by the only program's key: "workload.size", "4 KiB"
    const std::string* find(std::string_view key) const;
  };

  // Makes the table have parameters of any program.
  void declare(sim::ParameterTable& table);
  // By name: whatever order they are set in, the run is the same.
  const std::vector<Program>& all() const { return programs_; }
  // Which parameter decides `key` for a program: its own, the one by which it has a strategy of its own, or the one
  // that it inherits from.
  std::string key_of(const std::string& program, const std::string& key) const;
  // The parameters that decide these for any program, each once.
  std::vector<std::string> keys_of(const std::vector<std::string>& keys) const;

  // What the only program has where nobody sets it.
  static const std::string& default_of(std::string_view key);

  // "victim" of "program.victim.size", and the only program's key for "size"; nothing when this is no such name.
  struct Name {
    std::string program;
    std::string key;
  };
  static std::optional<Name> parse(std::string_view parameter);
  // Whether a strategy's parameter is no program's: "nic.kind".
  static bool is_of_machine(std::string_view parameter);
  // Lower-case letters, digits and hyphens, a letter first.
  static bool is_name(std::string_view text);

 private:
  std::optional<sim::Parameter> make(std::string_view parameter);
  void set(const Name& name, const sim::ParameterValue& value);

  std::vector<Program> programs_;
};

}  // namespace faultline::workloads
