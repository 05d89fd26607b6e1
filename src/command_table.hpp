// SPDX-License-Identifier: Apache-2.0
// What commands and options there are, and what `faultline help` says.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace faultline::app {

struct CommandRow {
  const char* name;
  const char* arguments;  // "EXPERIMENT": as the list of commands shows them
  const char* summary;    // what that says of it
  // Which options it takes, beside those of all commands; the rest would be silently useless, and so is refused.
  const char* options;
  std::size_t least_arguments;
  std::size_t most_arguments;
  const char* needs;      // what to say where arguments are missing
  std::string_view help;  // use and examples; empty: the list of commands
};

struct OptionRow {
  const char* name;
  const char* value;  // what stands for it in the help; nullptr: it takes none
  const char* text;
  const char* command = nullptr;  // that has this meaning of it; nullptr: all others
  bool is_repeated = false;       // may stand several times, or stands before several values
  char letter = 0;
};

// In the order of the help.
const std::vector<CommandRow>& command_rows();
// Throws UserError with the nearest name where there is no such command.
const CommandRow& command_row(const std::string& command);

const OptionRow& option_row(const std::string& name, const std::string& command);
// All that a command takes.
std::vector<std::string> options_of(const CommandRow& command);
// "--set" or "-j".
bool takes_value(const std::string& typed);

// Before and after the list of commands.
extern const std::string_view kHelpHead, kHelpTail;
// Use and examples of each command.
extern const std::string_view kRunHelp, kWorkerHelp, kSensitivityHelp, kPlotHelp, kStatusHelp, kQueryHelp, kDiffHelp,
    kReportHelp, kListHelp, kConfigHelp, kValidateHelp, kExplainHelp, kQuizHelp;

}  // namespace faultline::app
