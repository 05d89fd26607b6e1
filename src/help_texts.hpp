// SPDX-License-Identifier: Apache-2.0
// What `faultline help` says, apart from the lists of commands and options.
#pragma once

#include <string_view>

namespace faultline::app {

// Before and after the list of commands.
extern const std::string_view kHelpHead, kHelpTail;
// Use and examples of each command.
extern const std::string_view kRunHelp, kWorkerHelp, kSensitivityHelp, kPlotHelp, kStatusHelp, kQueryHelp, kDiffHelp,
    kReportHelp, kListHelp, kConfigHelp, kValidateHelp;

}  // namespace faultline::app
