// SPDX-License-Identifier: Apache-2.0
// Runs points, each in a process of its own, several at a time. Whatever a point does to its process
// (crash, exception, no memory) becomes that point's outcome; the others go on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/experiment_point.hpp"

namespace faultline::runs {

enum class PointStatus {
  complete,       // ran to its end: `result` holds
  misconfigured,  // the configuration made it impossible: `result.error` says why
  host_failed,    // the host could not run it (memory)
  timed_out,      // it took longer than it was allowed to
  bug,            // an exception or a crash: ours
  not_run         // interrupted before it was complete
};

// As results write it: "complete", "host failed".
std::string to_string(PointStatus status);
PointStatus point_status(const std::string& text);  // throws std::invalid_argument

struct PointOutcome {
  PointStatus status = PointStatus::not_run;
  workloads::PointResult result;
  std::string error;    // one line; empty when complete
  bool there = false;   // an earlier run has simulated it
  bool shared = false;  // nobody has: it is that of the point's first repetition, which draws nothing
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
struct RunningPoint {
  std::size_t index;
  double seconds;     // since its process began
  double in_all = 0;  // that it takes, as it has told last; 0: nothing yet
};
// How far it is.
struct Standing {
  std::size_t done = 0;    // points that have ended
  std::size_t failed = 0;  // of those
  std::size_t running = 0;
  std::vector<RunningPoint> at = {};
  std::vector<std::size_t> drawing = {};  // of them those that have drawn a random number
  workloads::Totals so_far = {};          // simulated, of all points
  std::size_t shared = 0;                 // of those done: by their first repetitions, which draw nothing
  std::optional<double> seconds_left = {};
  std::string elsewhere = {};  // what others are at, for people; empty where there are none
};
// Called in this process whenever a point has ended, and twice a second between.
using ProgressFunction = std::function<void(const Standing&)>;

// Called in this process with each point that has ended, in the order in which they end. False: no more of them.
using OutcomeFunction = std::function<bool(std::size_t index, PointOutcome outcome)>;

struct Limits {
  unsigned jobs =
      1;  // points at a time; fewer where the host's memory is too small for as many of those that have ended
  std::optional<std::chrono::seconds> each;  // host time of a point; then it is stopped
};

// What to run next. Later: nothing now; asked again when a point has ended, or half a second later.
struct NextPoint {
  enum class What { point, later, none } what;
  std::size_t index = 0;
};
using NextFunction = std::function<NextPoint()>;

// Runs points until there is none. SIGINT, SIGTERM and SIGHUP stop those that still run; nothing is told of them.
void run_points(const NextFunction& next, const PointFunction& point, const Limits& limits,
                const OutcomeFunction& ended, const ProgressFunction& progress);
// These, in this order.
NextFunction each_of(std::vector<std::size_t> indices);

inline constexpr const char* kStatusRefused = "refused";
inline constexpr const char* kStatusCheckFailed = "check failed";

// The word for it in tables and files: one of these, or that of its status.
std::string status_text(const PointOutcome& outcome);
// Why it has no result: what the machine refused to do, or what went wrong; or what is wrong with the result that it
// has. Empty where it has one that passed all checks.
std::string reason_text(const PointOutcome& outcome);

}  // namespace faultline::runs
