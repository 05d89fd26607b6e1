// SPDX-License-Identifier: Apache-2.0
#include "src/runs/launcher.hpp"

#include <algorithm>
#include <cstdlib>

namespace faultline::app {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string slurm_task() {
  const std::string array = variable("SLURM_ARRAY_JOB_ID");
  return array.empty() ? variable("SLURM_JOB_ID") : array + "_" + variable("SLURM_ARRAY_TASK_ID");
}

int mpi_rank() {
  // Open MPI, whatever speaks PMIx, MPICH and its kin.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    if (const std::string rank = variable(name); !rank.empty()) return std::atoi(rank.c_str());
  }
  return -1;
}

unsigned jobs_of_worker(unsigned cores) {
  if (mpi_rank() >= 0) return 1;
  const std::string given = variable("SLURM_CPUS_PER_TASK");
  if (!given.empty()) return static_cast<unsigned>(std::max(1, std::atoi(given.c_str())));
  return slurm_task().empty() ? cores : 1;
}

}  // namespace faultline::app
