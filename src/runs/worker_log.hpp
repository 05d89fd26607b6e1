// SPDX-License-Identifier: Apache-2.0
// A worker's log in the run folder: lines with their time, of what it does and, twice a minute, how far it is.
#pragma once

#include <chrono>
#include <fstream>
#include <string>

#include "src/runs/folder.hpp"
#include "src/runs/point_runner.hpp"
#include "src/runs/worker_record.hpp"

namespace faultline::runs {

// What the names of logs begin with: of workers that are tasks of the Slurm array 12, "logs/worker-12_".
std::string logs_of_slurm_job(const std::string& job);

class WorkerLog {
 public:
  using Clock = std::chrono::steady_clock;

  // Of this process. A log that cannot be written costs nothing but itself.
  WorkerLog(const Folder& folder, const WorkerState& worker);
  void begins(const std::string& label);
  void ended(const std::string& label, const PointOutcome& outcome);
  // Writes twice a minute, however often it is called.
  void heartbeat(const Standing& standing, const WorkerState& worker, Clock::time_point now);
  void ends(const WorkerState& worker);

 private:
  void line(const std::string& text);

  std::ofstream file_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace faultline::runs
