// SPDX-License-Identifier: Apache-2.0
#include "src/runs/worker_record.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "src/experiment/diagnostics.hpp"
#include "src/runs/host.hpp"
#include "src/runs/point_runner.hpp"
#include "src/runs/progress.hpp"
#include "src/runs/seal.hpp"

namespace faultline::runs {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr auto kBetweenChanges = std::chrono::seconds(1);
constexpr auto kSignOfLife = std::chrono::seconds(10);
constexpr auto kBetweenBeats = std::chrono::seconds(30);

std::string file_of_worker(const std::string& name) { return std::string(Folder::kWorkers) + "/" + name + ".json"; }
std::string lock_of(const std::string& name) { return "worker " + name; }

WorkerState worker_from_json(const Json& json) {
  return {json.at("worker"),
          json.at("slurm_task"),
          json.at("jobs"),
          json.at("simulated"),
          json.at("failed"),
          json.at("at"),
          json.value("stopped", false),
          false,
          0};
}

}  // namespace

WorkerRecord::WorkerRecord(Folder& folder, unsigned jobs) : folder_(folder) {
  state_.name = process_name();
  state_.task = slurm_task();
  state_.jobs = jobs;
  folder_.locks().take(lock_of(state_.name));
  write();
}

WorkerRecord::~WorkerRecord() {
  if (state_.at.empty()) {
    folder_.remove(file_of_worker(state_.name));
    std::error_code ignored;
    fs::remove(folder_.path() / Folder::kWorkers, ignored);  // by the last one
  } else {
    state_.stopped = true;
    write();
  }
  folder_.locks().let_go(lock_of(state_.name));
}

void WorkerRecord::begins(const std::string& id, const std::string& label) {
  state_.at[id] = label;
  write();
}

void WorkerRecord::ended(const std::string& id, bool failed) {
  state_.at.erase(id);
  ++state_.simulated;
  if (failed) ++state_.failed;
  changed_ = true;
}

void WorkerRecord::keep() {
  const auto since = std::chrono::steady_clock::now() - written_;
  if (since >= (changed_ ? kBetweenChanges : kSignOfLife)) write();
}

void WorkerRecord::write() {
  const Json json{{"worker", state_.name},         {"slurm_task", state_.task}, {"jobs", state_.jobs},
                  {"simulated", state_.simulated}, {"failed", state_.failed},   {"at", state_.at},
                  {"stopped", state_.stopped}};
  try {
    folder_.write(file_of_worker(state_.name), sealed_json(json, 1), Folder::Sync::no);
  } catch (const UserError&) {
    // The results' own failure is told.
  }
  changed_ = false;
  written_ = std::chrono::steady_clock::now();
}

bool is_silent(const WorkerState& worker) {
  return worker.alive && worker.silent_seconds > 3 * std::chrono::duration<double>(kSignOfLife).count();
}

std::vector<WorkerState> workers_in(const Folder& folder) {
  std::vector<WorkerState> workers;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path() / Folder::kWorkers, none)) {
    if (entry.path().extension() != ".json") continue;
    const auto json = unsealed_json(folder.read(file_of_worker(entry.path().stem())).value_or(""));
    std::error_code gone;
    const auto written = fs::last_write_time(entry.path(), gone);
    if (!json || gone) continue;
    workers.push_back(worker_from_json(*json));
    workers.back().alive = folder.is_taken(lock_of(workers.back().name));
    const auto silent = fs::file_time_type::clock::now() - written;
    workers.back().silent_seconds = std::max(0.0, std::chrono::duration<double>(silent).count());
  }
  std::ranges::sort(workers, [](const auto& a, const auto& b) { return a.name < b.name; });
  return workers;
}

std::string silent_workers(const Folder& folder) {
  const std::vector<WorkerState> workers = workers_in(folder);
  const auto silent = std::ranges::count_if(workers, is_silent);
  if (silent == 0) return "";
  return fmt::format("{} silent at points ('faultline status {}')",
                     silent == 1 ? "1 worker" : fmt::format("{} workers", silent), folder.path().string());
}

unsigned jobs_at_work(const Folder& folder) {
  unsigned jobs = 0;
  for (const WorkerState& worker : workers_in(folder)) jobs += worker.alive && !is_silent(worker) ? worker.jobs : 0;
  return jobs;
}

std::map<std::string, unsigned> deaths_in(const Folder& folder) {
  std::map<std::string, unsigned> deaths;
  for (const WorkerState& worker : workers_in(folder)) {
    for (const auto& [id, label] : worker.at) deaths[id] += worker.alive ? 0 : 1;
  }
  return deaths;
}

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
