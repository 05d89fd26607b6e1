// SPDX-License-Identifier: Apache-2.0
// The host, as this process sees it: its name, what has started this process as one of many (Slurm, or a launcher of
// MPI programs, as they say in the environment), and what /proc says of memory.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace faultline::runs {

std::string host_name();     // empty where the system does not say
std::string process_name();  // "HOST-PID"

// "JOB_TASK" of a Slurm array, "JOB" of another Slurm job; empty elsewhere.
std::string slurm_task();
// The rank that mpirun, srun or another launcher of MPI programs has given; -1 without one.
int mpi_rank();
// How many points a worker simulates at a time unless it is told: one for a rank, which is one worker among others on
// its machine, as many as the processors that a Slurm task was given, and elsewhere as many as the machine has.
unsigned jobs_of_worker(unsigned cores);

// That processes may still take without the host swapping (MemAvailable); infinite where /proc does not say.
double available_mib();

// Of a process, at present; 0 where there is none.
double resident_mib(pid_t process);

// Whether there is memory for one more point of this size, when those that run have become as large. One may run in any
// case.
bool fits_one_more(double available_mib, double each_mib, const std::vector<double>& running_mib);

}  // namespace faultline::runs
