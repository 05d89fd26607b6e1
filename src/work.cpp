// SPDX-License-Identifier: Apache-2.0
#include "src/work.hpp"

#include <utility>

#include "src/runs/progress.hpp"

namespace faultline::app {

WorkerState work_on(const Work& work, PointStore& store, const Simulator& simulator, const Console& console,
                    const std::function<void(std::size_t, PointOutcome)>& ended) {
  const std::vector<Point>& points = work.points;
  ClaimedPoints claims(store.folder(), points, work.missing, work.others);
  WorkerRecord record(store.folder(), work.jobs);
  const auto next = [&] {
    const NextPoint found = claims.next();
    if (found.what == NextPoint::What::point) record.begins(points[found.index].id, points[found.index].label());
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
    ended(index, std::move(outcome));
    return store.failure().empty();
  };
  Progress progress(console.err, console.err_is_terminal ? console.err_width : 0, work.missing.size(),
                    Progress::Clock::now());
  run_points(next, one, {work.jobs, work.timeout}, keep, [&](Standing standing) {
    record.keep();
    standing.done += claims.found();
    if (!work.quiet) progress.update(standing, Progress::Clock::now());
  });
  return record.state();
}

}  // namespace faultline::app
