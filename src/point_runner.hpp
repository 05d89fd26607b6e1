// SPDX-License-Identifier: Apache-2.0
// Runs points, each in a process of its own, several at a time. Whatever a point does to its process
// (crash, exception, no memory) becomes that point's outcome; the others go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workloads/experiment_point.hpp"

namespace faultline::app {

enum class PointStatus {
  complete,       // ran to its end: `result` holds
  misconfigured,  // the configuration made it impossible: `result.error` says why
  host_failed,    // the host could not run it (memory)
  bug,            // an exception or a crash: ours
  not_run         // interrupted before it was complete
};

struct PointOutcome {
  PointStatus status = PointStatus::not_run;
  workloads::PointResult result;
  std::string error;  // one line; empty when complete
  // The result's, or of a point that failed what it last told.
  workloads::Totals totals;
  // Of the point's process.
  double host_seconds = 0;
  double cpu_seconds = 0;  // user and system
  double peak_mib = 0;     // most memory resident at a time
};

// By which a point tells now and then how far it is. Cheap: a few stores to memory that is shared.
using Heartbeat = std::function<void(const workloads::Totals&)>;
// Called in the child process with the point's number.
using PointFunction = std::function<workloads::PointResult(std::size_t, const Heartbeat&)>;
// Called in this process whenever a point has ended, and twice a second between, with how many have ended and what has
// been simulated of all points so far.
using ProgressFunction = std::function<void(std::size_t done, const workloads::Totals& so_far)>;

// Outcomes in the order of points, whatever the order in which they ended. SIGINT, SIGTERM and SIGHUP stop the
// points that still run; what has ended is kept.
std::vector<PointOutcome> run_points(std::size_t count, const PointFunction& point, unsigned jobs,
                                     const ProgressFunction& progress);

}  // namespace faultline::app
