// SPDX-License-Identifier: Apache-2.0
#include "src/runs/slurm_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/replace.hpp>
#include <boost/algorithm/string/split.hpp>
#include <sstream>

#include "src/experiment/diagnostics.hpp"
#include "src/runs/other_program.hpp"

namespace faultline::runs {
namespace {

// Of the states that squeue(1) lists, those from which a task does not come back by itself.
constexpr std::array kEnded{"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE",      "FAILED",
                            "NODE_FAIL", "PREEMPTED", "TIMEOUT",   "OUT_OF_MEMORY", "REVOKED"};
constexpr std::array kWaiting{"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"};
constexpr const char* kForgotten = "Invalid job id";

std::string quoted(const std::string& word) { return "'" + boost::replace_all_copy(word, "'", "'\\''") + "'"; }

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  return boost::split(fields, line, boost::is_any_of("|"));
}

}  // namespace

std::vector<std::string> sbatch_words(const experiment::SlurmSettings& settings, const std::string& name,
                                      unsigned tasks, const std::string& output,
                                      const std::vector<std::string>& command) {
  std::vector<std::string> words{"sbatch",
                                 "--parsable",
                                 "--job-name=faultline " + name,
                                 fmt::format("--array=0-{}", tasks - 1),
                                 "--output=" + output,
                                 "--ntasks=1"};
  if (!settings.partition.empty()) words.push_back("--partition=" + settings.partition);
  if (!settings.time.empty()) words.push_back("--time=" + settings.time);
  if (!settings.memory.empty()) words.push_back("--mem=" + settings.memory);
  words.push_back(fmt::format("--cpus-per-task={}", settings.cpus.value_or(1)));
  words.insert(words.end(), settings.sbatch.begin(), settings.sbatch.end());
  // In place of the shell, so that Slurm's signals reach the worker.
  std::string wrapped = "exec";
  for (const std::string& word : command) wrapped += " " + quoted(word);
  words.push_back("--wrap=" + wrapped);
  return words;
}

SlurmQueue queue_from(const std::string& job, const std::string& printed) {
  SlurmQueue queue;
  queue.known = true;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> parts = fields_of(line);
    if (parts.size() < 2) continue;
    const std::string& state = parts[1];
    if (std::ranges::find(kEnded, state) != kEnded.end()) {
      queue.ended[job + "_" + parts[0]] = state;
    } else if (std::ranges::find(kWaiting, state) != kWaiting.end()) {
      ++queue.waiting;
      if (queue.waits_for.empty() && parts.size() > 2 && parts[2] != "None") queue.waits_for = parts[2];
    } else {
      ++queue.running;
    }
  }
  return queue;
}

SlurmJob SlurmJob::submit(const std::vector<std::string>& sbatch) {
  const auto printed = run_program(sbatch);
  if (!printed) {
    throw UserError(
        "--on slurm: there is no 'sbatch' in PATH: Slurm is not installed on this machine, or its commands "
        "are somewhere else (some clusters: 'module load slurm')");
  }
  // "ID" or "ID;CLUSTER".
  const std::string id = experiment::joined_lines(printed->out.substr(0, printed->out.find(';')));
  const bool is_number = !id.empty() && id.find_first_not_of("0123456789") == std::string::npos;
  if (printed->code != 0 || !is_number) {
    throw UserError("--on slurm: sbatch refuses the job: {}",
                    experiment::joined_lines(printed->err.empty() ? printed->out : printed->err));
  }
  return SlurmJob(id);
}

SlurmQueue SlurmJob::look() {
  const auto printed =
      run_program({"squeue", "--noheader", "--states=all", "--array", "--jobs=" + id_, "--format=%K|%T|%r"});
  SlurmQueue queue;
  if (!printed) {
    queue.trouble = "there is no 'squeue' in PATH";
  } else if (printed->code != 0 && printed->err.find(kForgotten) == std::string::npos) {
    queue.trouble = experiment::joined_lines(printed->err);
  } else {
    queue = queue_from(id_, printed->out);
  }
  ends_.insert(queue.ended.begin(), queue.ended.end());
  queue.ended = ends_;
  return queue;
}

void SlurmJob::look_up_ends() {
  const auto printed =
      run_program({"sacct", "--allocations", "--noheader", "--parsable2", "--format=JobID,State", "--jobs=" + id_});
  if (!printed || printed->code != 0) return;
  std::istringstream lines(printed->out);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> parts = fields_of(line);
    // "CANCELLED by 1000"
    if (parts.size() == 2) ends_.emplace(parts[0], parts[1].substr(0, parts[1].find(' ')));
  }
}

void SlurmJob::cancel(Which which) const {
  std::vector<std::string> words{"scancel"};
  if (which == Which::waiting) words.push_back("--state=PENDING");
  words.push_back(id_);
  run_program(words);
}

}  // namespace faultline::runs
