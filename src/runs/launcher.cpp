// SPDX-License-Identifier: Apache-2.0
#include "src/runs/launcher.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <optional>

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

}  // namespace faultline::runs
