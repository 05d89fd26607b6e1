// SPDX-License-Identifier: Apache-2.0
// What `faultline help` says, apart from the lists of options.
#pragma once

#include <string_view>

namespace faultline::app {

extern const std::string_view kGeneralHelp;
// Use and examples of one command; the general help for "help".
std::string_view help_text(std::string_view command);

}  // namespace faultline::app
