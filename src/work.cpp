// SPDX-License-Identifier: Apache-2.0
#include "src/work.hpp"

#include <optional>
#include <utility>

#include "src/runs/worker_log.hpp"

namespace faultline::app {

namespace {

using Clock = runs::Progress::Clock;

constexpr auto kBetweenLooks = std::chrono::seconds(10);

}  // namespace

runs::WorkerState work_on(const Work& work, runs::PointStore& store, const Call& call,
                          const std::function<void(std::size_t, runs::PointOutcome)>& ended) {
  const std::vector<experiment::Point>& points = store.points();
  runs::ClaimedPoints claims(store, work.missing, work.others);
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
    record.ended(points[index].id, outcome.status != runs::PointStatus::complete);
    if (log) log->ended(points[index].label(), outcome);
    ended(index, std::move(outcome));
    return store.failure().empty();
  };
  auto progress = progress_of(call, points.size(), "points", points.size() - work.missing.size());
  std::string silent;
  Clock::time_point looked;
  runs::run_points(next, one, {work.jobs, call.options.timeout}, keep, [&](runs::Standing standing) {
    const auto now = Clock::now();
    record.keep();
    if (!work.quiet && now - looked > kBetweenLooks) {
      looked = now;
      silent = silent_workers(store.folder());
    }
    standing.elsewhere = silent;
    if (log) log->heartbeat(standing, record.state(), now);
    standing.done += claims.found();
    if (!work.quiet) progress.update(standing, now);
  });
  if (log) log->ends(record.state());
  return record.state();
}

void tell_damage(const std::vector<std::string>& files, const Console& console) {
  for (const std::string& file : files) console.err << file << ": was damaged; its point is simulated again\n";
}

}  // namespace faultline::app
