// SPDX-License-Identifier: Apache-2.0
// What has started this process as one of many: Slurm or a launcher of MPI programs, as they say in the environment.
#pragma once

#include <string>

namespace faultline::runs {

// "JOB_TASK" of a Slurm array, "JOB" of another Slurm job; empty elsewhere.
std::string slurm_task();
// The rank that mpirun, srun or another launcher of MPI programs has given; -1 without one.
int mpi_rank();
// How many points a worker simulates at a time unless it is told: one for a rank, which is one worker among others on
// its machine, as many as the processors that a Slurm task was given, and elsewhere as many as the machine has.
unsigned jobs_of_worker(unsigned cores);

}  // namespace faultline::runs
