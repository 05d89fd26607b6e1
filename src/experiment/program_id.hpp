// SPDX-License-Identifier: Apache-2.0
// Which program this is.
#pragma once

#include <string>

namespace faultline::experiment {

// The linker's build-id: another one for other sources, another compiler or other options, the same for the same.
// Without one the version, the commit and when the file was built.
const std::string& program_id();

}  // namespace faultline::experiment
