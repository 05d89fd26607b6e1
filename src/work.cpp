// SPDX-License-Identifier: Apache-2.0
#include "src/work.hpp"

#include <utility>

#include "src/runs/progress.hpp"
#include "src/runs/worker_log.hpp"

namespace faultline::app {

namespace {

constexpr auto kBetweenLooks = std::chrono::seconds(10);

}  // namespace

WorkerState work_on(const Work& work, PointStore& store, const Simulator& simulator, const Console& console,
                    const std::function<void(std::size_t, PointOutcome)>& ended) {
  const std::vector<Point>& points = work.points;
  ClaimedPoints claims(store.folder(), points, work.missing, work.others);
  WorkerRecord record(store.folder(), work.jobs);
  std::optional<WorkerLog> log;
  if (work.log) log.emplace(store.folder(), record.state());
  const auto next = [&] {
    const NextPoint found = claims.next();
    if (found.what != NextPoint::What::point) return found;
    const Point& point = points[found.index];
    record.begins(point.id, point.label());
    if (log) log->begins(point.label());
    return found;
  };
  const auto one = [&](std::size_t index, const Heartbeat& heartbeat) {
    store.leave();
    return simulate(points[index], simulator, {heartbeat, /*profile=*/false, /*trace=*/{}});
  };
  const auto keep = [&](std::size_t index, PointOutcome outcome) {
    store.keep(points[index], outcome);
    claims.let_go(index);
    record.ended(points[index].id, outcome.status != PointStatus::complete);
    if (log) log->ended(points[index].label(), outcome);
    ended(index, std::move(outcome));
    return store.failure().empty();
  };
  Progress progress(console.err, console.err_is_terminal ? console.err_width : 0, points.size(), Progress::Clock::now(),
                    "points", points.size() - work.missing.size());
  std::string silent;
  Progress::Clock::time_point looked;
  run_points(next, one, {work.jobs, work.timeout}, keep, [&](Standing standing) {
    record.keep();
    if (const auto now = Progress::Clock::now(); !work.quiet && now - looked > kBetweenLooks) {
      looked = now;
      silent = silent_workers(store.folder());
    }
    standing.elsewhere = silent;
    if (log) log->heartbeat(standing, record.state(), WorkerLog::Clock::now());
    standing.done += claims.found();
    if (!work.quiet) progress.update(standing, Progress::Clock::now());
  });
  if (log) log->ends(record.state());
  return record.state();
}

void tell_damage(const std::vector<std::string>& files, const Console& console) {
  for (const std::string& file : files) console.err << file << ": was damaged; its point is simulated again\n";
}

}  // namespace faultline::app
