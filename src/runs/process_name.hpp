// SPDX-License-Identifier: Apache-2.0
// What this process is called among those of all machines.
#pragma once

#include <string>

namespace faultline::runs {

std::string host_name();     // empty where the system does not say
std::string process_name();  // "HOST-PID"

}  // namespace faultline::runs
