// SPDX-License-Identifier: Apache-2.0
// faultline status
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/results/repetitions.hpp"
#include "src/results/results_writer.hpp"
#include "src/runs/cost_estimate.hpp"
#include "src/runs/manifest.hpp"
#include "src/runs/point_runner.hpp"
#include "src/runs/progress.hpp"
#include "src/runs/worker_record.hpp"

namespace faultline::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Count {
  explicit Count(const std::vector<runs::PlannedPoint>& points) : costs(points), all(points.size()) {}

  std::string command;                           // whose points they are
  std::map<std::string, std::size_t> by_status;  // "complete", "timed out", ... of points that have ended
  std::vector<std::string> failed;               // "POINT: REASON"
  std::vector<std::string> damaged;              // files, whose points are to do
  runs::CostEstimate costs;
  std::size_t all;
  std::size_t ended = 0;
  std::size_t exact = 0;         // combinations that draw nothing
  std::size_t combinations = 0;  // that are known to draw, or not to
  unsigned repetitions = 1;
};

// Of the repetitions of a point: the result of the first where that stands for those that have none.
struct Combination {
  std::optional<runs::PointOutcome> first;
  bool is_known = false;  // to draw, or not to
  bool is_exact = false;
};

void add(Count& count, const runs::Folder& folder, const runs::Manifest& manifest, std::size_t index,
         Combination& combination) {
  const runs::Manifest::Entry& point = manifest.points[index];
  auto [outcome, is_damaged] = result_in(folder, point.id);
  if (is_damaged) count.damaged.push_back((folder.path() / runs::file_of(point.id)).string());
  const bool is_first = index % manifest.repetitions == 0;
  if (is_first) combination = {};
  if (outcome) {
    const bool stands = stands_for_all(*outcome);
    count.costs.ended(index, outcome->host_seconds, stands);
    if (is_first && stands) combination.first = outcome;
    if (!std::exchange(combination.is_known, true)) ++count.combinations;
    if (stands && !std::exchange(combination.is_exact, true)) ++count.exact;
  } else {
    outcome = combination.first;
  }
  if (!outcome) return;
  ++count.ended;
  const std::string status = status_text(*outcome);
  ++count.by_status[status];
  if (status == runs::kStatusCheckFailed || outcome->status != runs::PointStatus::complete)
    count.failed.push_back(point.label + ": " + reason_text(*outcome));
}

Count count_points(const runs::Folder& folder) {
  const runs::Manifest manifest = read_manifest(folder);
  std::vector<runs::PlannedPoint> plan;
  for (std::size_t i = 0; i < manifest.points.size(); ++i) {
    plan.push_back(
        {manifest.points[i].label, manifest.points[i].work, static_cast<unsigned>(i % manifest.repetitions)});
  }
  Count count(plan);
  count.command = manifest.command;
  count.repetitions = manifest.repetitions;
  Combination combination;
  for (std::size_t i = 0; i < manifest.points.size(); ++i) add(count, folder, manifest, i, combination);
  return count;
}

// By what those that have ended took, and how many are simulated at a time.
std::string time_left(Count& count, const runs::Folder& folder) {
  const auto left = count.costs.seconds_left({}, jobs_at_work(folder));
  return left && count.ended < count.all ? fmt::format("about {} left\n", runs::clock_text(*left)) : "";
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
  Count count = count_points(folder);
  const std::vector<runs::WorkerState> workers = workers_in(folder);
  const auto alive = std::ranges::count_if(workers, [](const runs::WorkerState& w) { return w.alive; });
  const bool run = folder.is_taken();
  const bool at_work = run || alive > 0;
  if (call.options.format == Format::json) {
    Json json{{"points", count.all},    {"ended", count.ended},     {"at_work", at_work},
              {"failed", count.failed}, {"damaged", count.damaged}, {"combinations_without_draws", count.exact}};
    json["workers"] = Json::array();
    for (const runs::WorkerState& worker : workers) json["workers"].push_back(worker_json(worker));
    json["by_status"] = Json::object();
    for (const auto& [status, points] : count.by_status) json["by_status"][status] = points;
    call.console.out << results::json_text(json);
    return kFine;
  }
  std::string ended;
  for (const auto& [status, points] : count.by_status) ended += fmt::format("{} {}, ", points, status);
  call.console.out << fmt::format("{}: {} points: {}{} to do; {}\n", folder.path().string(), count.all, ended,
                                  count.all - count.ended, who_is_at_work(run, alive));
  if (at_work) call.console.out << time_left(count, folder);
  if (const std::string text = results::standing_text(count.exact, count.combinations, count.repetitions);
      !text.empty())
    call.console.out << text << "\n";
  for (const runs::WorkerState& worker : workers) call.console.out << worker_line(worker);
  for (const std::string& failed : count.failed) call.console.out << failed << "\n";
  for (const std::string& file : count.damaged) {
    call.console.out << fmt::format("{}: is damaged; the same 'faultline {}' with --out {} simulates its point again\n",
                                    file, count.command, folder.path().string());
  }
  return kFine;
}

}  // namespace faultline::app
