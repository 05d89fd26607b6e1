// SPDX-License-Identifier: Apache-2.0
// Files that the command line names for output.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace faultline::app {

// New, empty, or one whose first bytes `is_alike` knows as of the kind that is to be written: nothing else is written
// over. Throws UserError that names the option; `what`: "trace".
void check_output(const std::string& option, const std::filesystem::path& file, const std::string& what,
                  const std::function<bool(std::string_view)>& is_alike);

}  // namespace faultline::app
