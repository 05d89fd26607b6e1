// SPDX-License-Identifier: Apache-2.0
#include "models/memory/train_server.hpp"

#include <algorithm>

namespace faultline::memory {

using sim::Time;
using sim::TimeSequence;

TimeSequence TrainServer::serve(Time now, const TimeSequence& arrivals, Time service, std::uint32_t rank) {
  if (arrivals.empty()) return {};
  forget_until(now);
  const bool behind_all = Order{arrivals.front(), rank} >= last_order_;
  last_order_ = std::max(last_order_, Order{arrivals.back(), rank});
  if (!behind_all) return serve_between(arrivals, service, rank);

  TimeSequence departures = serve_in_order(arrivals, free_, service);
  free_ = departures.back();
  runs_.push_back({arrivals, departures, service, rank});
  return departures;
}

void TrainServer::forget_until(Time now) {
  std::erase_if(runs_, [now](const Run& run) { return run.departures.back() <= now; });
  std::erase_if(cells_, [now](const Cell& cell) { return cell.end <= now; });
}

void TrainServer::expand_runs() {
  for (const Run& run : runs_) {
    for (std::uint32_t i = 0; i < run.arrivals.size(); ++i) {
      const Time end = run.departures.at(i);
      cells_.push_back({{run.arrivals.at(i), run.rank}, end - run.service, end});
    }
  }
  runs_.clear();
  std::stable_sort(cells_.begin(), cells_.end(), [](const Cell& a, const Cell& b) { return a.begin < b.begin; });
}

TimeSequence TrainServer::serve_between(const TimeSequence& arrivals, Time service, std::uint32_t rank) {
  expand_runs();
  TimeSequence departures;
  for (std::uint32_t i = 0; i < arrivals.size(); ++i) departures.append(place({arrivals.at(i), rank}, service));
  free_ = std::max(free_, departures.back());
  return departures;
}

// Puts one cell into the first gap behind all cells that precede it in order. This includes the cells of
// its own train, so a train's departures never decrease.
Time TrainServer::place(Order order, Time service) {
  Time begin = order.first;
  for (const Cell& cell : cells_) {
    if (cell.order <= order) begin = std::max(begin, cell.end);
  }
  auto next = cells_.begin();
  for (; next != cells_.end(); ++next) {
    if (next->end <= begin) continue;
    if (begin + service <= next->begin) break;
    begin = std::max(begin, next->end);
  }
  const auto goes_first = [&](const Cell& cell) { return cell.order > order; };
  if (std::any_of(cells_.begin(), next, goes_first)) ++out_of_order_;
  cells_.insert(next, {order, begin, begin + service});
  return begin + service;
}

}  // namespace faultline::memory
