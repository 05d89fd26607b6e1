// SPDX-License-Identifier: Apache-2.0
#include "src/runs/host.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "src/experiment/quantity.hpp"

namespace faultline::runs {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<int> number(const char* name) {
  const auto given = experiment::whole(variable(name));
  if (!given || *given > INT_MAX) return {};
  return static_cast<int>(*given);
}

}  // namespace

std::string slurm_task() {
  const std::string array = variable("SLURM_ARRAY_JOB_ID");
  return array.empty() ? variable("SLURM_JOB_ID") : array + "_" + variable("SLURM_ARRAY_TASK_ID");
}

int mpi_rank() {
  // Open MPI, whatever speaks PMIx, MPICH and its kin.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (const auto rank = number(name)) return *rank;
  }
  return -1;
}

unsigned jobs_of_worker(unsigned cores) {
  if (mpi_rank() >= 0) return 1;
  if (const auto cpus = number("SLURM_CPUS_PER_TASK")) return static_cast<unsigned>(std::max(1, *cpus));
  return slurm_task().empty() ? cores : 1;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string process_name() { return fmt::format("{}-{}", host_name(), getpid()); }

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
