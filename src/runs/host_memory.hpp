// SPDX-License-Identifier: Apache-2.0
// What /proc says of memory, and how many points fit in.
#pragma once

#include <sys/types.h>

#include <vector>

namespace faultline::runs {

// That processes may still take without the host swapping (MemAvailable); infinite where /proc does not say.
double available_mib();

// Of a process, at present; 0 where there is none.
double resident_mib(pid_t process);

// Whether there is memory for one more point of this size, when those that run have become as large. One may run in any
// case.
bool fits_one_more(double available_mib, double each_mib, const std::vector<double>& running_mib);

}  // namespace faultline::runs
