// SPDX-License-Identifier: Apache-2.0
// Builds the cluster, runs the programs on it, looks at what is left.
#include "workloads/experiment_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "models/os/out_of_memory.hpp"
#include "models/platform/instruments.hpp"
#include "models/sim/failure.hpp"
#include "models/sim/units.hpp"
#include "workloads/background.hpp"
#include "workloads/course.hpp"
#include "workloads/kinds.hpp"
#include "workloads/point_metrics.hpp"
#include "workloads/programs.hpp"
#include "workloads/recording.hpp"
#include "workloads/rounded_bytes.hpp"
#include "workloads/story/story.hpp"
#include "workloads/time_series.hpp"

namespace faultline::workloads {
namespace {

using Clock = std::chrono::steady_clock;

const sim::ProfiledPart kSetUp{"building and booting"};
const sim::ProfiledPart kCollecting{"collecting results"};
const sim::ProfiledPart kChecking{"checking the books"};

Totals totals(const platform::Cluster& cluster) {
  return {cluster.loop.events_run(), cluster.cell_hops(), static_cast<std::uint64_t>(cluster.loop.now().count())};
}

void check_finished(const Configuration& configuration, const platform::Cluster& cluster, const Programs& programs) {
  if (!programs.finished()) {
    check_not_stuck(cluster, programs);
    std::vector<std::string> keys{"workload.time_limit"};
    bool transfers = false;
    const char* measures = "";
    for (const Programs::One& one : programs.all()) {
      const WorkloadKind& kind = kind_of(one.configuration.workload);
      for (const std::string& key : kind.keys_of_length) keys.push_back(configuration.programs.key_of(one.name, key));
      transfers = transfers || kind.transfers;
      measures = programs.all().size() > 1 ? "transfers" : kind.measures;
    }
    if (transfers) std::ranges::move(configuration.machine.nic->keys_of_delay(), std::back_inserter(keys));
    throw sim::RunFailure(fmt::format("not finished after {} of simulated time: {} of {} {} are done",
                                      sim::format_time(configuration.workload.time_limit), programs.measured(),
                                      programs.planned(), measures),
                          std::move(keys));
  }
}

// A program at the ends that the OOM killer chooses ends the run; of others a note says so.
void watch_kills(platform::Cluster& cluster, const Background& background, std::vector<std::string>& kills) {
  for (unsigned id = 0; id < cluster.size(); ++id) {
    cluster.node(id).vm.observe_kills([&, id](const os::Process& process, const os::OomKill& kill) {
      const std::string what = fmt::format(
          "node {}: {}, and the OOM killer ended '{}' (process {}, {} in memory, {} swapped) after {:.3f} ms", id,
          kill.by_limit ? "a program's memory limit was reached" : "memory ran out", kill.process, kill.id,
          rounded_bytes(kill.resident_bytes), rounded_bytes(kill.swapped_bytes),
          static_cast<double>(kill.at.count()) / 1e9);
      if (background.owns(process)) return kills.push_back(what);
      if (kill.by_limit) throw sim::RunFailure(what, {"workload.memory_limit", "workload.size", "os.swap_bytes"});
      throw os::out_of_memory(cluster.node(id).vm, what,
                              {"os.user_memory", "os.swap_bytes", "workload.oom_protected", "background.memory"});
    });
  }
}

// What the programs leave behind comes to its end: a timeout, a late fault, a page on its way to the swap device.
// False: something goes on for longer than it is worth (other programs). Costs a sixteenth of the run at most.
bool come_to_rest(sim::EventLoop& loop) {
  const std::uint64_t most_events = loop.events_run() + loop.events_run() / 16 + 1000;
  const sim::Time end = loop.now() + 100ms;
  for (sim::Time step = 20us; loop.pending() && !loop.failed(); step = std::min<sim::Time>(2 * step, 1ms)) {
    if (loop.events_run() > most_events || loop.now() > end) return false;
    loop.run(loop.now() + step);
  }
  return !loop.pending();
}

}  // namespace

void check_books(platform::Cluster& cluster, bool changing) {
  const sim::ProfileScope turn(cluster.loop.profile(), kChecking);
  for (unsigned id = 0; id < cluster.size(); ++id) {
    try {
      cluster.node(id).audit(changing);
    } catch (const std::logic_error& error) {
      throw std::logic_error(fmt::format("node {} after {} of simulated time: {}", id,
                                         sim::format_time(cluster.loop.now()), error.what()));
    }
  }
}

// The host's clock is looked at seldom, a beat's sum over all routers is rarer still, and books that take long to
// compare are compared seldom: together a hundredth of the run, and less.
void watch_run(platform::Cluster& cluster, std::function<void(const Totals&)> heartbeat, std::function<void()> look,
               std::function<void()> at_each_event) {
  constexpr std::uint64_t kEventsBetweenLooks = 16384;
  // Static, since the watch outlives this function and the operators of std::chrono take references.
  static constexpr Clock::duration kBetweenBeats = std::chrono::milliseconds(200);
  const auto first = Clock::now() + kBetweenBeats;
  auto seldom = [&cluster, beat = std::move(heartbeat), see = std::move(look), next_beat = first,
                 next_check = first]() mutable {
    if (see) see();
    const auto now = Clock::now();
    if (beat && now >= next_beat) {
      beat(totals(cluster));
      next_beat = now + kBetweenBeats;
    }
    if (now < next_check) return;
    check_books(cluster, /*changing=*/true);
    const auto end = Clock::now();
    next_check = end + std::max(kBetweenBeats, 100 * (end - now));
  };
  if (!at_each_event) return cluster.loop.watch(kEventsBetweenLooks, std::move(seldom));
  cluster.loop.watch(1, [seldom = std::move(seldom), often = std::move(at_each_event), &loop = cluster.loop]() mutable {
    often();
    if (loop.events_run() % kEventsBetweenLooks == 0) seldom();
  });
}

namespace {

// Programs on a cluster that has booted, and all that looks on. It begins with start(); `cluster` outlives it.
class Experiment {
 public:
  Experiment(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
      : configuration_(configuration),
        work_(work_of(configuration)),
        cluster_(cluster),
        programs_(configuration, cluster, seed),
        background_(configuration.background, cluster, seed),
        series_(configuration.series, cluster, programs_) {
    programs_.on_finished = [this] { cluster_.loop.stop(); };
    programs_.on_measurement_begins = [this] {
      measured_.before = snapshot(cluster_, configuration_);
      background_.start();
      series_.begin();
      if (on_measurement_begins) on_measurement_begins();
    };
    programs_.on_measurement_ends = [this] {
      series_.end();
      measured_.after = snapshot(cluster_, configuration_);
      measured_.memory = meminfo(cluster_);
      measured_.background = background_.faults();
    };
    watch_kills(cluster, background_, kills_);
  }
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;

  void start() { programs_.start(); }
  std::uint64_t planned() const { return programs_.planned(); }
  double share_done() const { return programs_.work_done() / work_; }
  // Called when the first measured transfer is about to begin.
  std::function<void()> on_measurement_begins;
  // Throws sim::RunFailure when the programs have not come to their end.
  void check() {
    if (!programs_.finished()) check_books(cluster_, /*changing=*/true);
    check_finished(configuration_, cluster_, programs_);
  }
  PointResult result() {
    const sim::ProfileScope turn(cluster_.loop.profile(), kCollecting);
    PointResult result = collect(configuration_, cluster_, programs_, measured_, background_, series_);
    if (!kills_.empty()) {
      const std::string more = kills_.size() > 1 ? fmt::format(" (and {} more)", kills_.size() - 1) : "";
      result.notes.push_back(kills_.front() + more);
    }
    const Totals done = totals(cluster_);
    result.events = done.events;
    result.cell_hops = done.cell_hops;
    result.simulated_ps = done.simulated_ps;
    return result;
  }

 private:
  const Configuration& configuration_;
  const double work_;
  platform::Cluster& cluster_;
  Programs programs_;
  Background background_;
  TimeSeries series_;
  Measured measured_;
  std::vector<std::string> kills_;
};

// The books are compared once more when the programs' last effects have come to their end. Those events belong to no
// result.
void check_at_rest(platform::Cluster& cluster) {
  const sim::ProfileScope turn(cluster.loop.profile(), kChecking);
  cluster.loop.set_profile(nullptr);
  check_books(cluster, /*changing=*/!come_to_rest(cluster.loop));
}

}  // namespace

namespace {

PointResult run_with(const Configuration& configuration, sim::Seed seed, const bool& draws, const Watch& watch) {
  PointResult result;
  const auto start = Clock::now();
  std::optional<sim::Profile> profile;
  if (watch.profile) profile.emplace(kSetUp);
  try {
    platform::Cluster cluster("cluster", configuration.machine, seed);
    if (profile) cluster.loop.set_profile(&*profile);
    std::optional<Recording> recording;
    if (watch.trace) recording.emplace(*watch.trace, configuration.machine, cluster);
    cluster.boot();
    Experiment experiment(configuration, cluster, seed);
    Course course;
    const auto beat = [&](Totals so_far) {
      so_far.draws = draws;
      so_far.seconds_in_all = course.seconds_in_all();
      watch.heartbeat(so_far);
    };
    const auto look = [&] {
      course.look(experiment.share_done(), std::chrono::duration<double>(Clock::now() - start).count());
    };
    watch_run(cluster, watch.heartbeat ? beat : watch.heartbeat, look);
    experiment.start();
    cluster.loop.run(configuration.workload.time_limit);
    const std::string traced = recording ? recording->finish() : "";
    result.traced = traced;  // also of a run that fails
    cluster.loop.rethrow_failure();
    experiment.check();
    result = experiment.result();
    result.traced = traced;
    check_at_rest(cluster);
    if (profile) result.profile = profile->rows();
  } catch (const sim::RunFailure& failure) {
    if (failure.refused() && !configuration.workload.checks_fail) {
      result.refused = failure.what();
      return result;
    }
    result.error = failure.what();
    result.error_keys = configuration.programs.keys_of(failure.keys());
  }
  return result;
}

// The run up to the end of one transfer. A run that fails is told as far as it came.
PointResult tell_with(const Configuration& configuration, sim::Seed seed, const Watch& watch) {
  PointResult result;
  try {
    platform::Cluster cluster("cluster", configuration.machine, seed);
    StoryRecorder recorder(*watch.story, cluster, [&cluster] { cluster.loop.stop(); });
    cluster.boot();
    Experiment experiment(configuration, cluster, seed);
    experiment.on_measurement_begins = [&recorder] { recorder.measurement_begins(); };
    watch_run(cluster, watch.heartbeat, {}, [&recorder] { recorder.look(); });
    experiment.start();
    cluster.loop.run(configuration.workload.time_limit);
    recorder.finish();
    std::string why;
    try {
      cluster.loop.rethrow_failure();
      if (recorder.outcome() == StoryRecorder::Outcome::unfinished) experiment.check();
    } catch (const sim::RunFailure& failure) {
      why = failure.what();
    }
    if (why.empty() && recorder.outcome() == StoryRecorder::Outcome::failed)
      why = "the NIC has given up, and completed it with an error";
    const auto sends_messages = [](const Configuration& each) { return kind_of(each.workload).sends_messages; };
    const bool of_messages = std::ranges::all_of(configurations_of_programs(configuration), sends_messages);
    result.story = story_json(recorder, cluster, {experiment.planned(), of_messages, why});
  } catch (const sim::RunFailure& failure) {
    result.error = failure.what();
    result.error_keys = configuration.programs.keys_of(failure.keys());
  }
  return result;
}

}  // namespace

PointResult run_point(const Configuration& configuration, std::uint64_t seed, const Watch& watch) {
  if (watch.story) return tell_with(configuration, sim::Seed(seed), watch);
  bool draws = false;
  PointResult result = run_with(configuration, sim::Seed(seed, &draws), draws, watch);
  result.draws = draws;
  return result;
}

std::vector<StepDoc> step_docs() { return Breakdown::step_docs(); }

}  // namespace faultline::workloads
