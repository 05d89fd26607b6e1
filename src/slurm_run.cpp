// SPDX-License-Identifier: Apache-2.0
#include "src/application.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "src/experiment/diagnostics.hpp"
#include "src/runs/cost_estimate.hpp"
#include "src/runs/host.hpp"
#include "src/runs/interrupt.hpp"
#include "src/runs/progress.hpp"
#include "src/runs/seal.hpp"
#include "src/runs/slurm_job.hpp"
#include "src/runs/worker_record.hpp"

namespace faultline::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kJobFile = "slurm.json";
// How long a shared folder may take to show here what was written elsewhere.
constexpr auto kSettles = std::chrono::seconds(5);

// Often at first, when somebody is looking; later a cluster's scheduler has better things to do.
std::chrono::milliseconds until_next_look(Clock::duration elapsed) {
  using std::chrono::milliseconds;
  return std::clamp(std::chrono::duration_cast<milliseconds>(elapsed / 20), milliseconds(2000), milliseconds(15000));
}

std::string task_text(const runs::SlurmQueue& queue) {
  std::string text = fmt::format("{} tasks running", queue.running);
  if (queue.waiting > 0) text += fmt::format(", {} waiting", queue.waiting);
  return text + (queue.waits_for.empty() ? "" : " (" + queue.waits_for + ")");
}

// "COMPLETED 3, TIMEOUT 1"
std::string ends_text(const std::map<std::string, std::string>& ends) {
  std::map<std::string, unsigned> counts;
  for (const auto& [task, state] : ends) ++counts[state];
  std::string text;
  for (const auto& [state, tasks] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", state, tasks);
  return text.empty() ? "Slurm has forgotten how" : text;
}

std::string advice(const std::string& state) {
  if (state == "TIMEOUT") return "; ask for more --slurm-time";
  if (state == "OUT_OF_MEMORY") return "; ask for more --slurm-memory";
  return "";
}

std::string last_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string last;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

// The points of one start, and the job that they are left to.
class Follower {
 public:
  Follower(runs::SlurmJob job, runs::PointStore& store, std::vector<runs::PointOutcome>& outcomes, const Call& call)
      : points_(store.points()),
        missing_(not_run(outcomes)),
        todo_(missing_.size()),
        job_(std::move(job)),
        store_(store),
        folder_(store.folder()),
        outcomes_(outcomes),
        call_(call),
        console_(call.console),
        costs_(runs::planned(points_)) {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (outcomes_[i].status != runs::PointStatus::not_run) costs_.is_there(i);
    }
  }

  // False when it was interrupted.
  bool follow() {
    const runs::InterruptGuard interrupt;
    const auto start = Clock::now();
    auto progress = progress_of(call_, points_.size(), "points", points_.size() - todo_);
    std::optional<Clock::time_point> first_end;
    for (;;) {
      const runs::SlurmQueue queue = job_.look();
      complain(queue);
      look_for_results();
      standing_.elsewhere = task_text(queue);
      standing_.seconds_left = costs_.seconds_left({}, jobs_at_work(folder_));
      if (!call_.options.quiet) progress.update(standing_, Clock::now());
      if (is_everything_there()) job_.cancel(runs::SlurmJob::Which::waiting);  // nothing is left for them
      if (is_everything_there() || queue.is_over()) return true;
      if (!queue.ended.empty() && !first_end) first_end = Clock::now();
      is_at_work_ = is_at_work_ || has_seen_a_worker();
      if (!is_at_work_ && first_end && Clock::now() - *first_end > kSettles) give_up();
      pollfd signal{interrupt.descriptor(), POLLIN, 0};
      poll(&signal, 1, static_cast<int>(until_next_look(Clock::now() - start).count()));
      if (runs::InterruptGuard::requested()) return false;
    }
  }

  // When the job is over: what became of the points that have no result.
  void account_for_rest() {
    const auto until = Clock::now() + kSettles;
    for (look_for_results(); !is_everything_there() && Clock::now() < until; look_for_results())
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    if (is_everything_there()) return;
    if (!has_seen_a_worker()) give_up();
    job_.look_up_ends();
    for (const runs::WorkerState& worker : workers_in(folder_)) {
      if (!worker.task.starts_with(job_.id() + "_")) continue;
      const auto end = job_.ends().find(worker.task);
      const std::string state = end == job_.ends().end() ? "nobody knows how" : end->second;
      for (const std::size_t index : missing_) {
        if (worker.at.count(points_[index].id) == 0) continue;
        runs::PointOutcome outcome;
        outcome.status = runs::PointStatus::host_failed;
        outcome.error = fmt::format("the Slurm task {} that was at it ({}) has ended: {}{}", worker.task, worker.name,
                                    state, advice(state));
        store_.keep(index, outcome);
      }
    }
    look_for_results();
    if (is_everything_there()) return;
    console_.err << fmt::format("Slurm job {} has ended ({}); {} points have no result, starting again submits them\n",
                                job_.id(), ends_text(job_.ends()), missing_.size());
  }

 private:
  bool is_everything_there() const { return missing_.empty(); }
  bool has_seen_a_worker() const { return !logs(runs::logs_of_slurm_job(job_.id())).empty(); }

  void look_for_results() {
    const std::set<std::string> there = folder_.names_in("points");
    for (const std::size_t index : missing_) {
      if (there.count(fs::path(runs::file_of(points_[index].id)).filename().string()) == 0) continue;
      auto outcome = result_in(folder_, points_[index].id).outcome;
      if (!outcome) continue;
      costs_.ended(index, outcome->host_seconds, stands_for_all(*outcome));
      if (outcome->status != runs::PointStatus::complete) ++standing_.failed;
      standing_.so_far += outcome->totals;
      outcomes_[index] = *std::move(outcome);
    }
    share(outcomes_, points_);
    std::erase_if(missing_, [&](std::size_t i) { return outcomes_[i].status != runs::PointStatus::not_run; });
    standing_.done = todo_ - missing_.size();
    standing_.shared = costs_.shared();
  }

  void complain(const runs::SlurmQueue& queue) {
    if (queue.known || std::exchange(has_complained_, true)) return;
    console_.err << fmt::format("Slurm does not answer ({}); asking again until it does\n", queue.trouble);
  }

  std::vector<fs::path> logs(const std::string& prefix) const {
    std::vector<fs::path> found;
    for (const std::string& name : folder_.names_in(runs::Folder::kLogs)) {
      if ((std::string(runs::Folder::kLogs) + "/" + name).starts_with(prefix))
        found.push_back(folder_.path() / runs::Folder::kLogs / name);
    }
    return found;
  }

  [[noreturn]] void give_up() {
    job_.cancel(runs::SlurmJob::Which::all);
    const std::string id = job_.id();
    const std::string how = ends_text(job_.ends());
    const auto is_cancelled = [](const auto& end) { return end.second == "CANCELLED"; };
    if (!job_.ends().empty() && std::ranges::all_of(job_.ends(), is_cancelled))
      throw UserError("Slurm job {} was cancelled before any of its tasks was at work", id);
    if (const auto printed = logs(fmt::format("{}/slurm-{}_", runs::Folder::kLogs, id)); !printed.empty()) {
      throw UserError("no task of Slurm job {} has got to work in {} ({}); {} ends with: {}", id,
                      folder_.path().string(), how, printed.front().string(), last_line(printed.front()));
    }
    throw UserError(
        "no task of Slurm job {} has left a trace in {} ({}): is this folder of {} on a file system that the "
        "compute nodes share, at the same path? Name one that is with --out; the job is cancelled",
        id, fs::absolute(folder_.path()).string(), how, runs::host_name());
  }

  const std::vector<experiment::Point>& points_;
  std::vector<std::size_t> missing_;  // without a result, as far as can be seen
  std::size_t todo_;
  runs::SlurmJob job_;
  runs::PointStore& store_;
  runs::Folder& folder_;
  std::vector<runs::PointOutcome>& outcomes_;
  const Call& call_;
  const Console& console_;
  runs::CostEstimate costs_;
  runs::Standing standing_;
  bool has_complained_ = false;
  bool is_at_work_ = false;
};

std::optional<runs::SlurmJob> job_in_queue(const runs::Folder& folder) {
  const auto text = folder.read(kJobFile);
  if (!text) return {};
  const auto json = runs::unsealed_json(*text);
  if (!json) {
    throw UserError(
        "{}: is damaged: which Slurm job is at work in this folder is not known, and a second one would be too many. "
        "'squeue --me' shows it; end it by 'scancel JOB', or wait for its end, then remove the file",
        (folder.path() / kJobFile).string());
  }
  runs::SlurmJob job(json->at("job").get<std::string>());
  const runs::SlurmQueue queue = job.look();
  if (!queue.known) throw UserError("--on slurm: Slurm does not answer: " + queue.trouble);
  return queue.is_over() ? std::nullopt : std::optional(job);
}

runs::SlurmJob submit(const experiment::Experiment& experiment, std::size_t points, const Options& options,
                      runs::Folder& folder) {
  const experiment::SlurmSettings settings = over(experiment.slurm, options.slurm);
  const std::size_t cpus = settings.cpus.value_or(1);
  const std::size_t tasks =
      std::min<std::size_t>(settings.tasks.value_or(experiment::kUsualSlurmTasks), (points + cpus - 1) / cpus);
  const fs::path run = fs::absolute(folder.path());
  std::vector<std::string> worker{fs::read_symlink("/proc/self/exe").string(), "worker", run.string(), "--quiet"};
  if (options.timeout) worker.insert(worker.end(), {"--timeout", std::to_string(options.timeout->count())});
  std::optional<runs::SlurmJob> job;
  const fs::path logs = run / runs::Folder::kLogs;
  fs::create_directory(logs);  // Slurm does not
  const std::vector<std::string> sbatch = runs::sbatch_words(settings, experiment.name, static_cast<unsigned>(tasks),
                                                             (logs / "slurm-%A_%a.log").string(), worker);
  try {
    job.emplace(runs::SlurmJob::submit(sbatch));
  } catch (const UserError&) {
    std::error_code ignored;
    fs::remove(logs, ignored);  // as long as it is empty
    throw;
  }
  folder.write(kJobFile, runs::sealed_json({{"job", job->id()}, {"tasks", tasks}}, -1));
  folder.keep();
  return *job;
}

}  // namespace

bool simulate_on_slurm(const experiment::Experiment& experiment, runs::PointStore& store,
                       std::vector<runs::PointOutcome>& outcomes, const Call& call) {
  const std::size_t missing = not_run(outcomes).size();
  const Console& console = call.console;
  const bool quiet = call.options.quiet;
  if (missing < outcomes.size() && !quiet)
    console.err << fmt::format("{} of {} points are there already\n", outcomes.size() - missing, outcomes.size());
  if (missing == 0) return true;
  std::optional<runs::SlurmJob> job = job_in_queue(store.folder());
  const bool is_there = job.has_value();
  if (!is_there) job = submit(experiment, missing, call.options, store.folder());
  const std::string run = store.folder().path().string();
  if (!quiet) {
    console.err << fmt::format("Slurm job {} {} {} points of {}\n", job->id(), is_there ? "goes on with" : "simulates",
                               missing, run);
  }
  Follower follower(*job, store, outcomes, call);
  if (!follower.follow()) {
    console.err << fmt::format(
        "interrupted; Slurm job {0} goes on. 'faultline run {1} --on slurm' follows it again and "
        "makes the tables, 'faultline status {1}' tells how far it is, 'scancel {0}' ends it\n",
        job->id(), run);
    return false;
  }
  follower.account_for_rest();
  return true;
}

}  // namespace faultline::app
