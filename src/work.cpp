// SPDX-License-Identifier: Apache-2.0
#include "src/application.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "src/runs/cost_estimate.hpp"
#include "src/runs/worker_record.hpp"

namespace faultline::app {

namespace {

using Clock = runs::Progress::Clock;

constexpr auto kBetweenLooks = std::chrono::seconds(10);

// What others have simulated since.
void look_at_others(const runs::PointStore& store, runs::CostEstimate& costs) {
  const std::set<std::string> files = store.folder().names_in("points");
  for (std::size_t i = 0; i < store.points().size(); ++i) {
    const std::string& id = store.points()[i].id;
    if (costs.is_done(i) || !files.contains(id + ".json")) continue;
    const auto outcome = result_in(store.folder(), id).outcome;
    if (outcome) costs.ended(i, outcome->host_seconds, stands_for_all(*outcome));
  }
}

}  // namespace

runs::WorkerState work_on(const Work& work, runs::PointStore& store, const Call& call,
                          const std::function<void(std::size_t, runs::PointOutcome)>& ended) {
  const std::vector<experiment::Point>& points = store.points();
  const std::vector<runs::PlannedPoint> plan = runs::planned(points);
  runs::ClaimedPoints claims(store, telling_order(plan, work.missing), work.others);
  runs::CostEstimate costs(plan);
  std::vector<bool> is_missing(points.size());
  for (const std::size_t index : work.missing) is_missing[index] = true;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!is_missing[i]) costs.is_there(i);
  }
  runs::WorkerRecord record(store.folder(), work.jobs);
  std::optional<runs::WorkerLog> log;
  if (work.log) log.emplace(store.folder(), record.state());
  const auto next = [&] {
    const runs::NextPoint found = claims.next();
    if (found.what != runs::NextPoint::What::point) return found;
    const experiment::Point& point = points[found.index];
    record.begins(point.id, point.label());
    if (log) log->begins(point.label());
    return found;
  };
  const auto one = [&](std::size_t index, const runs::Heartbeat& heartbeat) {
    store.leave();
    return simulate(points[index], call.simulator, {heartbeat, /*profile=*/false, /*trace=*/{}});
  };
  const auto keep = [&](std::size_t index, runs::PointOutcome outcome) {
    store.keep(index, outcome);
    claims.let_go(index);
    costs.ended(index, outcome.host_seconds, stands_for_all(outcome));
    record.ended(points[index].id, outcome.status != runs::PointStatus::complete);
    if (log) log->ended(points[index].label(), outcome);
    ended(index, std::move(outcome));
    return store.failure().empty();
  };
  const std::size_t there = points.size() - work.missing.size();
  auto progress = progress_of(call, points.size(), "points", there);
  double jobs = work.jobs;
  std::string silent;
  Clock::time_point looked;
  runs::run_points(next, one, {work.jobs, call.options.timeout}, keep, [&](runs::Standing standing) {
    const auto now = Clock::now();
    record.keep();
    claims.have_drawn(standing.drawing);
    if (!work.quiet && now - looked > kBetweenLooks) {
      looked = now;
      silent = silent_workers(store.folder());
      jobs = std::max<double>(work.jobs, jobs_at_work(store.folder()));
      if (jobs > work.jobs) look_at_others(store, costs);
    }
    standing.elsewhere = silent;
    if (log) log->heartbeat(standing, record.state(), now);
    standing.done = costs.done() - there;
    standing.shared = costs.shared();
    if (work.quiet) return;
    standing.seconds_left = costs.seconds_left(standing.at, jobs);
    progress.update(standing, now);
  });
  if (log) log->ends(record.state());
  return record.state();
}

void tell_damage(const std::vector<std::string>& files, const Console& console) {
  for (const std::string& file : files) console.err << file << ": was damaged; its point is simulated again\n";
}

}  // namespace faultline::app
