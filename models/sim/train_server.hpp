// SPDX-License-Identifier: Apache-2.0
// A first-come server for the trains of several initiators, exact to the cell.
//
// A train is served as a whole when it is announced: its departures are what serving cell by cell gives if nobody else
// comes. When somebody does, cells that have not arrived yet change places: the server then serves all cells behind
// the newcomer anew, and tells whose departures have become others.
//
// Cells are served in order of arrival; at one instant the lower rank goes first, then the train that was added first.
// With cells c(1), c(2), ... in that order: departure(k) = max(arrival(k), departure(k-1)) + service(k). A departure
// depends on nothing that comes later in the order, so what has arrived by now never changes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "models/sim/time_sequence.hpp"

namespace faultline::sim {

class TrainServer {
 public:
  // Serves the next cells of the owner's train; returns their departures. `now` never decreases from call to call, and
  // arrivals do not precede it, nor those of the owner's cells before. A train is forgotten when its last cell has
  // left; what its owner then adds is another one. Rank and service are those of the train's first cells.
  TimeSequence serve(Time now, const TimeSequence& arrivals, Time service, std::uint32_t rank, void* owner);
  // The owner's last cells, of those that have not arrived, do not come.
  void recall(Time now, void* owner, std::uint32_t cells);
  // The owner's cells from `first` on are another owner's, which has none yet. Nothing else changes.
  void part(Time now, void* owner, std::uint32_t first, void* other);

  // For how long it has served cells up to now. `now` never decreases.
  Time busy(Time now) const;

  // Calls changed(owner, departures) for each train whose last departures.size() departures, of all that serve() and
  // this have told, have become these. The callback must neither serve nor cut.
  template <typename Callback>
  void tell_changed(Callback&& changed);

 private:
  struct Job {
    Job(void* its_owner, std::uint64_t its_number, std::uint32_t its_rank, Time its_service)
        : owner(its_owner), number(its_number), rank(its_rank), service(its_service) {}
    void* owner;
    std::uint64_t number;  // of addition
    std::uint32_t rank;
    Time service;
    TimeSequence arrivals;
    TimeSequence departures;
    std::uint32_t told = 0;  // departures from here on are not known to the owner
    // While cells are served again: the next one, and the departures of those before it that were served.
    std::uint32_t next = 0;
    TimeSequence fresh;
  };
  // Where a cell stands in line.
  struct Place {
    Time arrival;
    std::uint32_t rank;
    std::uint64_t number;
    auto operator<=>(const Place&) const = default;
  };

  void forget_until(Time now);
  Job* find(void* owner);
  static Place place_of(const Job& job, std::uint32_t cell) { return {job.arrivals.at(cell), job.rank, job.number}; }
  static std::uint32_t cells_before(const Job& job, std::uint32_t from, const Place& place);
  void serve_again_from(const Place& place);

  std::vector<Job> jobs_;  // in order of addition
  Place last_{Time{-1}, 0, 0};
  Time free_{0};
  Time served_{0};  // all trains that are forgotten
  std::uint64_t next_number_ = 0;
};

template <typename Callback>
void TrainServer::tell_changed(Callback&& changed) {
  for (Job& job : jobs_) {
    if (job.told == job.departures.size()) continue;
    const std::uint32_t first = std::exchange(job.told, job.departures.size());
    changed(job.owner, job.departures.suffix(first));
  }
}

}  // namespace faultline::sim
