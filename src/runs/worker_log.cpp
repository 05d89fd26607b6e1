// SPDX-License-Identifier: Apache-2.0
#include "src/runs/worker_log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <system_error>

#include "src/runs/point_runner.hpp"
#include "src/runs/progress.hpp"

namespace faultline::runs {
namespace {

constexpr auto kBetweenBeats = std::chrono::seconds(30);

}  // namespace

std::string logs_of_slurm_job(const std::string& job) { return fmt::format("{}/worker-{}_", Folder::kLogs, job); }

WorkerLog::WorkerLog(const Folder& folder, const WorkerState& worker) {
  std::error_code ignored;
  std::filesystem::create_directory(folder.path() / Folder::kLogs, ignored);
  const std::string task = worker.task.empty() ? "" : worker.task + "-";
  file_.open(folder.path() / Folder::kLogs / ("worker-" + task + worker.name + ".log"), std::ios::app);
  line(fmt::format("at work, {} points at a time", worker.jobs));
}

void WorkerLog::begins(const std::string& label) { line("begins " + label); }

void WorkerLog::ended(const std::string& label, const PointOutcome& outcome) {
  const std::string why = reason_text(outcome);
  line(fmt::format("{} after {:.3g} s, {:.0f} MiB: {}{}", status_text(outcome), outcome.host_seconds, outcome.peak_mib,
                   label, why.empty() ? "" : ": " + why));
}

void WorkerLog::heartbeat(const Standing& standing, const WorkerState& worker, Clock::time_point now) {
  if (now - last_ < kBetweenBeats) return;
  last_ = now;
  std::string at;
  for (const auto& [id, label] : worker.at) at += (at.empty() ? "; at " : "; ") + label;
  line(fmt::format("{} points done, {} failed, {} running; {}{}", worker.simulated, worker.failed, standing.running,
                   speed_text(standing.so_far, std::chrono::duration<double>(now - start_).count()), at));
}

void WorkerLog::ends(const WorkerState& worker) {
  line(fmt::format("ends: {} points done, {} failed{}", worker.simulated, worker.failed,
                   worker.at.empty() ? "" : fmt::format(", {} given up", worker.at.size())));
}

void WorkerLog::line(const std::string& text) {
  file_ << fmt::format("{:%Y-%m-%dT%H:%M:%SZ} {}\n", fmt::gmtime(std::time(nullptr)), text) << std::flush;
}

}  // namespace faultline::runs
