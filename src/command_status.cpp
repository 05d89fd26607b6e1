// SPDX-License-Identifier: Apache-2.0
// faultline status
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/runs/manifest.hpp"
#include "src/runs/outcome_text.hpp"
#include "src/runs/progress.hpp"
#include "src/runs/worker_record.hpp"

namespace faultline::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Count {
  std::string command;                           // whose points they are
  std::map<std::string, std::size_t> by_status;  // "complete", "timed out", ... of points that have ended
  std::vector<std::string> failed;               // "POINT: REASON"
  std::vector<std::string> damaged;              // files, whose points are to do
  std::size_t all = 0;
  std::size_t ended = 0;
  fs::file_time_type first = fs::file_time_type::max();
  fs::file_time_type last = fs::file_time_type::min();
};

void add(Count& count, const runs::Folder& folder, const runs::Manifest::Entry& point) {
  ++count.all;
  const std::string file = runs::file_of(point.id);
  const auto [outcome, is_damaged] = result_in(folder, point.id);
  if (is_damaged) count.damaged.push_back((folder.path() / file).string());
  if (!outcome) return;
  ++count.ended;
  const std::string status = status_text(*outcome);
  ++count.by_status[status];
  if (status == runs::kStatusCheckFailed || outcome->status != runs::PointStatus::complete)
    count.failed.push_back(point.label + ": " + reason_text(*outcome));
  std::error_code gone;
  const auto written = fs::last_write_time(folder.path() / file, gone);
  if (gone) return;
  count.first = std::min(count.first, written);
  count.last = std::max(count.last, written);
}

Count count_points(const runs::Folder& folder) {
  Count count;
  const runs::Manifest manifest = read_manifest(folder);
  count.command = manifest.command;
  for (const runs::Manifest::Entry& point : manifest.points) add(count, folder, point);
  return count;
}

// By the times at which results were written.
std::string rate_of(const Count& count) {
  const double seconds = std::chrono::duration<double>(count.last - count.first).count();
  if (count.ended < 2 || seconds <= 0) return "";
  const double rate = static_cast<double>(count.ended - 1) / seconds;
  const auto left = static_cast<double>(count.all - count.ended);
  return fmt::format("{:.2f} points/s{}\n", rate,
                     left > 0 ? fmt::format(", about {} left", runs::clock_text(left / rate)) : "");
}

const char* standing_of(const runs::WorkerState& worker) {
  if (is_silent(worker)) return "alive but silent, stopped perhaps: its points wait for it (kill -CONT, or kill it)";
  if (worker.alive) return "alive";
  return worker.stopped ? "was stopped" : "gone";
}

std::string worker_line(const runs::WorkerState& worker) {
  std::string at;
  for (const auto& [id, label] : worker.at) at += (at.empty() ? "" : "; ") + label;
  std::string line = "worker " + worker.name + (worker.task.empty() ? "" : " (Slurm task " + worker.task + ")");
  line += fmt::format(": {}, heard of {} ago; {} points simulated", standing_of(worker),
                      runs::clock_text(worker.silent_seconds), worker.simulated);
  if (worker.failed > 0) line += fmt::format(", {} of them failed", worker.failed);
  if (!at.empty()) line += (worker.alive ? "; at " : "; it was at ") + at;
  return line + "\n";
}

Json worker_json(const runs::WorkerState& worker) {
  Json json{{"worker", worker.name},         {"slurm_task", worker.task},
            {"alive", worker.alive},         {"silent", is_silent(worker)},
            {"stopped", worker.stopped},     {"jobs", worker.jobs},
            {"simulated", worker.simulated}, {"failed", worker.failed},
            {"at", Json::array()},           {"silent_seconds", worker.silent_seconds}};
  for (const auto& [id, label] : worker.at) json["at"].push_back(label);
  return json;
}

std::string who_is_at_work(bool run, std::ptrdiff_t workers) {
  if (run) return "a run is at work in it";
  if (workers == 0) return "no run is at work in it";
  return workers == 1 ? "one worker is at work in it" : fmt::format("{} workers are at work in it", workers);
}

}  // namespace

int status_command(const Call& call) {
  const runs::Folder folder = runs::Folder::look_at(call.options.arguments.front());
  const Count count = count_points(folder);
  const std::vector<runs::WorkerState> workers = workers_in(folder);
  const auto alive = std::ranges::count_if(workers, [](const runs::WorkerState& w) { return w.alive; });
  const bool run = folder.is_taken();
  const bool at_work = run || alive > 0;
  if (call.options.format == Format::json) {
    Json json{{"points", count.all},
              {"ended", count.ended},
              {"at_work", at_work},
              {"failed", count.failed},
              {"damaged", count.damaged}};
    json["workers"] = Json::array();
    for (const runs::WorkerState& worker : workers) json["workers"].push_back(worker_json(worker));
    json["by_status"] = Json::object();
    for (const auto& [status, points] : count.by_status) json["by_status"][status] = points;
    call.console.out << json.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
    return kFine;
  }
  std::string ended;
  for (const auto& [status, points] : count.by_status) ended += fmt::format("{} {}, ", points, status);
  call.console.out << fmt::format("{}: {} points: {}{} to do; {}\n", folder.path().string(), count.all, ended,
                                  count.all - count.ended, who_is_at_work(run, alive));
  if (at_work) call.console.out << rate_of(count);
  for (const runs::WorkerState& worker : workers) call.console.out << worker_line(worker);
  for (const std::string& failed : count.failed) call.console.out << failed << "\n";
  for (const std::string& file : count.damaged) {
    call.console.out << fmt::format("{}: is damaged; the same 'faultline {}' with --out {} simulates its point again\n",
                                    file, count.command, folder.path().string());
  }
  return kFine;
}

}  // namespace faultline::app
