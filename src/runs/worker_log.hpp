// SPDX-License-Identifier: Apache-2.0
// A worker's log in the run folder: lines with their time, of what it does and, twice a minute, how far it is.
#pragma once

#include <chrono>
#include <fstream>
#include <string>

#include "src/runs/point_runner.hpp"
#include "src/runs/run_folder.hpp"
#include "src/runs/worker_record.hpp"

namespace faultline::app {

// What the names of logs begin with: of workers that are tasks of the Slurm array 12, "logs/worker-12_".
std::string logs_of_slurm_job(const std::string& job);

class WorkerLog {
 public:
  // Of this process. A log that cannot be written costs nothing but itself.
  WorkerLog(const RunFolder& folder, const WorkerState& worker);
  void begins(const std::string& label);
  void ended(const std::string& label, const PointOutcome& outcome);
  void heartbeat(const Standing& standing, const WorkerState& worker);
  void ends(const WorkerState& worker);

 private:
  void line(const std::string& text);

  std::ofstream file_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point start_ = last_;
};

}  // namespace faultline::app
