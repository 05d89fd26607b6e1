// SPDX-License-Identifier: Apache-2.0
#include "models/sim/train_server.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace faultline::sim {

TimeSequence TrainServer::serve(Time now, const TimeSequence& arrivals, Time service, std::uint32_t rank, void* owner) {
  assert(!arrivals.empty() && arrivals.front() >= now);
  forget_until(now);
  Job* job = find(owner);
  if (job == nullptr) job = &jobs_.emplace_back(owner, next_number_++, rank, service);
  const std::uint32_t first = job->arrivals.size();
  job->arrivals.append(arrivals);
  const Place from = place_of(*job, first);
  if (from > last_) {
    const TimeSequence departures = serve_in_order(arrivals, free_, job->service);
    free_ = departures.back();
    job->departures.append(departures);
  } else {
    serve_again_from(from);
  }
  job->told = job->departures.size();
  last_ = std::max(last_, place_of(*job, job->arrivals.size() - 1));
  return job->departures.suffix(first);
}

void TrainServer::recall(Time now, void* owner, std::uint32_t cells) {
  if (cells == 0) return;
  forget_until(now);
  Job* job = find(owner);
  if (job == nullptr) return;  // it has not been added yet
  const std::uint32_t kept = job->arrivals.size() - cells;
  const Place from = place_of(*job, kept);
  job->arrivals.drop_back(cells);
  serve_again_from(from);
  if (kept == 0) jobs_.erase(jobs_.begin() + (job - jobs_.data()));
}

void TrainServer::part(Time now, void* owner, std::uint32_t first, void* other) {
  forget_until(now);
  Job* job = find(owner);
  if (job == nullptr) return;  // all have left
  const std::uint64_t number = job->number;
  Job rest(other, number, job->rank, job->service);
  rest.arrivals = job->arrivals.suffix(first);
  rest.departures = job->departures.suffix(first);
  rest.told = std::max(job->told, first) - first;
  job->arrivals.drop_back(rest.arrivals.size());
  job->departures.drop_back(rest.departures.size());
  job->told = std::min(job->told, first);
  // It comes in line directly behind the job, and before what was added later.
  const auto later = jobs_.insert(jobs_.begin() + (job - jobs_.data()) + 1, std::move(rest));
  std::for_each(later, jobs_.end(), [](Job& j) { ++j.number; });
  if (last_.number >= number) ++last_.number;
  ++next_number_;
}

TrainServer::Job* TrainServer::find(void* owner) {
  const auto job = std::find_if(jobs_.begin(), jobs_.end(), [owner](const Job& j) { return j.owner == owner; });
  return job == jobs_.end() ? nullptr : &*job;
}

void TrainServer::forget_until(Time now) {
  std::erase_if(jobs_, [this, now](const Job& job) {
    const bool gone = job.departures.back() <= now;
    if (gone) served_ += job.service * job.departures.size();
    return gone;
  });
}

Time TrainServer::busy(Time now) const {
  Time sum = served_;
  for (const Job& job : jobs_) {
    sum += job.service * job.departures.size() - work_left(job.departures, job.service, now);
  }
  return sum;
}

// How many of the job's cells, counted from `from`, stand before the place.
std::uint32_t TrainServer::cells_before(const Job& job, std::uint32_t from, const Place& place) {
  const bool wins_tie = std::pair(job.rank, job.number) < std::pair(place.rank, place.number);
  const std::uint32_t before = job.arrivals.count_before(wins_tie ? place.arrival + Time{1} : place.arrival);
  return std::max(before, from) - from;
}

// The cells before the place keep their departures; the others are served anew, in runs of cells of one train that
// stand before all cells of the others.
void TrainServer::serve_again_from(const Place& place) {
  Time free{0};
  for (Job& job : jobs_) {
    job.next = cells_before(job, 0, place);
    if (job.next > 0) free = std::max(free, job.departures.at(job.next - 1));
  }
  for (;;) {
    Job* first = nullptr;
    Place second{kNever, 0, 0};
    for (Job& job : jobs_) {
      if (job.next == job.arrivals.size()) continue;
      const Place next = place_of(job, job.next);
      if (first == nullptr || next < place_of(*first, first->next)) {
        if (first != nullptr) second = place_of(*first, first->next);
        first = &job;
      } else {
        second = std::min(second, next);
      }
    }
    if (first == nullptr) break;
    const std::uint32_t cells = cells_before(*first, first->next, second);
    const TimeSequence served = serve_in_order(first->arrivals.slice(first->next, cells), free, first->service);
    free = served.back();
    first->next += cells;
    first->fresh.append(served);
  }
  for (Job& job : jobs_) {
    TimeSequence departures = job.departures.prefix(job.next - job.fresh.size());
    departures.append(std::exchange(job.fresh, {}));
    job.told = std::min(job.told, departures.common_prefix(job.departures));
    job.departures = std::move(departures);
  }
  free_ = free;
}

}  // namespace faultline::sim
