// SPDX-License-Identifier: Apache-2.0
// A job array of Slurm, by its commands: sbatch, squeue, sacct, scancel.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "src/experiment/slurm_settings.hpp"

namespace faultline::runs {

// What sbatch is to be asked for. `output`: where a task's own output goes, with %A and %a for job and task.
std::vector<std::string> sbatch_words(const experiment::SlurmSettings& settings, const std::string& name,
                                      unsigned tasks, const std::string& output,
                                      const std::vector<std::string>& command);

struct SlurmQueue {
  bool known = false;  // Slurm has answered
  unsigned running = 0;
  unsigned waiting = 0;
  std::string waits_for;                     // Slurm's reason for the first that waits: "Resources"
  std::map<std::string, std::string> ended;  // "12_3": "COMPLETED", "TIMEOUT", "OUT_OF_MEMORY", ...
  std::string trouble;                       // why Slurm has not answered
  bool is_over() const { return known && running + waiting == 0; }
};

// As `squeue --format=%K|%T|%r` prints it.
SlurmQueue queue_from(const std::string& job, const std::string& printed);

class SlurmJob {
 public:
  // Throws UserError where there is no sbatch, and with its reason when it refuses.
  static SlurmJob submit(const std::vector<std::string>& sbatch);
  explicit SlurmJob(std::string id) : id_(std::move(id)) {}

  const std::string& id() const { return id_; }
  // What Slurm says of it. Tasks that have ended stay known though Slurm forgets them after some minutes.
  SlurmQueue look();
  // Where squeue has forgotten them: from the accounting, as far as the cluster has one.
  void look_up_ends();
  const std::map<std::string, std::string>& ends() const { return ends_; }
  // Tasks that have not begun, or all. What Slurm says to it changes nothing here.
  enum class Which { waiting, all };
  void cancel(Which which) const;

 private:
  std::string id_;
  std::map<std::string, std::string> ends_;
};

}  // namespace faultline::runs
