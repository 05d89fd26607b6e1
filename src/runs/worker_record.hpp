// SPDX-License-Identifier: Apache-2.0
// What a worker leaves in the run folder for others to see. Its record: who it is, how much it has done, which points
// it is at. For people, and for whoever finds out why a point has no result; who may simulate what is decided by locks
// alone. Its log: lines with their time, of what it does and, twice a minute, how far it is.
#pragma once

#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "src/runs/folder.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::runs {

struct WorkerState {
  std::string name;  // process_name()
  std::string task;  // slurm_task()
  unsigned jobs = 1;
  std::size_t simulated = 0;
  std::size_t failed = 0;                 // of those
  std::map<std::string, std::string> at;  // the points that it is at, by id: their labels
  bool stopped = false;       // it has ended by itself, by a signal for instance, with points that it was at
  bool alive = false;         // as far as can be seen from here
  double silent_seconds = 0;  // since it last wrote its record, by this machine's clock
};

class WorkerRecord {
 public:
  WorkerRecord(Folder& folder, unsigned jobs);
  // Removes the record, unless the worker was at points that it has not ended: then who is looking for their results
  // finds out.
  ~WorkerRecord();
  WorkerRecord(const WorkerRecord&) = delete;
  WorkerRecord& operator=(const WorkerRecord&) = delete;

  const WorkerState& state() const { return state_; }
  // Written at once: it must be known also of a point that takes its worker with it.
  void begins(const std::string& id, const std::string& label);
  void ended(const std::string& id, bool failed);
  // Writes what has changed, at most once a second, and a sign of life every ten seconds. Whatever cannot be written is
  // no harm.
  void keep();

 private:
  void write();

  Folder& folder_;
  WorkerState state_;
  bool changed_ = true;
  std::chrono::steady_clock::time_point written_;
};

// Alive, and three signs of life late: stopped (SIGSTOP, a debugger), or its machine hangs. Nobody else gets its
// points.
bool is_silent(const WorkerState& worker);

// All workers that have a record, by name. A record that cannot be read is left out.
std::vector<WorkerState> workers_in(const Folder& folder);
// Those that are silent, for the progress of a run; empty where none is.
std::string silent_workers(const Folder& folder);
// How many points are simulated at a time, by all.
unsigned jobs_at_work(const Folder& folder);
// At which points workers have died that have not been simulated since: their ids, and how many workers.
std::map<std::string, unsigned> deaths_in(const Folder& folder);

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
