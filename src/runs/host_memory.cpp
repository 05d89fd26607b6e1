// SPDX-License-Identifier: Apache-2.0
#include "src/runs/host_memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace faultline::runs {

double available_mib() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    double kib = 0;
    if (name == "MemAvailable:" && file >> kib) return kib / 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::numeric_limits<double>::infinity();
}

double resident_mib(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  double size = 0;
  double resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

bool fits_one_more(double available_mib, double each_mib, const std::vector<double>& running_mib) {
  double needed = each_mib;
  for (const double mib : running_mib) needed += std::max(0.0, each_mib - mib);
  return running_mib.empty() || needed <= available_mib;
}

}  // namespace faultline::runs
