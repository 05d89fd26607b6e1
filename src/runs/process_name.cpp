// SPDX-License-Identifier: Apache-2.0
#include "src/runs/process_name.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace faultline::runs {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string process_name() { return fmt::format("{}-{}", host_name(), getpid()); }

}  // namespace faultline::runs
