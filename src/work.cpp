// SPDX-License-Identifier: Apache-2.0
#include "src/work.hpp"

#include <utility>

#include "src/runs/progress.hpp"
#include "src/runs/worker_log.hpp"

namespace faultline::app {

namespace {

constexpr auto kBetweenLooks = std::chrono::seconds(10);

}  // namespace

runs::WorkerState work_on(const Work& work, runs::PointStore& store, const experiment::Simulator& simulator,
                          const Console& console, const std::function<void(std::size_t, runs::PointOutcome)>& ended) {
  const std::vector<experiment::Point>& points = work.points;
  runs::ClaimedPoints claims(store.folder(), points, work.missing, work.others);
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
    return simulate(points[index], simulator, {heartbeat, /*profile=*/false, /*trace=*/{}});
  };
  const auto keep = [&](std::size_t index, runs::PointOutcome outcome) {
    store.keep(points[index], outcome);
    claims.let_go(index);
    record.ended(points[index].id, outcome.status != runs::PointStatus::complete);
    if (log) log->ended(points[index].label(), outcome);
    ended(index, std::move(outcome));
    return store.failure().empty();
  };
  runs::Progress progress(console.err, console.err_is_terminal ? console.err_width : 0, points.size(),
                          runs::Progress::Clock::now(), "points", points.size() - work.missing.size());
  std::string silent;
  runs::Progress::Clock::time_point looked;
  runs::run_points(next, one, {work.jobs, work.timeout}, keep, [&](runs::Standing standing) {
    record.keep();
    if (const auto now = runs::Progress::Clock::now(); !work.quiet && now - looked > kBetweenLooks) {
      looked = now;
      silent = silent_workers(store.folder());
    }
    standing.elsewhere = silent;
    if (log) log->heartbeat(standing, record.state(), runs::WorkerLog::Clock::now());
    standing.done += claims.found();
    if (!work.quiet) progress.update(standing, runs::Progress::Clock::now());
  });
  if (log) log->ends(record.state());
  return record.state();
}

void tell_damage(const std::vector<std::string>& files, const Console& console) {
  for (const std::string& file : files) console.err << file << ": was damaged; its point is simulated again\n";
}

}  // namespace faultline::app
