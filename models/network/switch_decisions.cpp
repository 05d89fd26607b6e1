// SPDX-License-Identifier: Apache-2.0
// How a plan takes decisions: one at a time, or many in closed form. What it knows, and how it is undone, is in
// switch_plan.cpp.
#include <algorithm>
#include <utility>

#include "models/network/switch_plan.hpp"

namespace faultline::network {

using namespace sim;

void SwitchPlan::complete(const Transit& transit, std::uint32_t cells) {
  while (transit.departures.size() < std::min(cells, transit.arrivals.size()) && decide(kNever)) {
  }
}

void SwitchPlan::find_head(unsigned index) {
  Queue& queue = queues_[index];
  queue.is_stale = false;
  if (queue.head != nullptr) --heads_;
  queue.head = nullptr;
  queue.behind = kNever;
  queue.free = queue.gone;
  Time first = kNever;
  for (Transit* transit : queue.transits) {
    if (!transit->departures.empty()) queue.free = std::max(queue.free, transit->departures.back());
    if (transit->is_planned()) continue;
    const Time arrival = transit->arrivals.at(transit->departures.size());
    if (arrival < first) {
      queue.behind = std::exchange(first, arrival);
      queue.head = transit;
    } else {
      queue.behind = std::min(queue.behind, arrival);
    }
  }
  const unsigned leaves_by = queue.head == nullptr ? kNowhere : queue.head->output;
  if (queue.head != nullptr) {
    ++heads_;
    queue.ready = first + queue.head->to_ready;
    outputs_[leaves_by].is_stale = true;
  }
  if (leaves_by == queue.leaves_by) return;
  if (queue.leaves_by != kNowhere) {
    std::erase(outputs_[queue.leaves_by].heads, index);
    outputs_[queue.leaves_by].is_stale = true;
  }
  queue.leaves_by = leaves_by;
  if (leaves_by == kNowhere) return;
  std::vector<unsigned>& heads = outputs_[leaves_by].heads;
  heads.insert(std::lower_bound(heads.begin(), heads.end(), index), index);
}

// When the queue's first cell could start, from an instant on.
Time SwitchPlan::eligible(const Queue& queue, Output& output, Time from) const {
  const Time ready = std::max({queue.ready, queue.free, from});
  const bool may_fail = !output.outages.empty();
  if (may_fail && output.outages.cover(ready)) return ready;
  Lane& lane = output.lanes[queue.head->channel];
  const Time slot = lane.slots.next();
  Time at = kNever;
  if (slot == kNever) {
    lane.lacks_from = std::min(lane.lacks_from, ready);
  } else {
    at = std::max(ready, slot);
    if (slot > now_) lane.counted_on = std::max(lane.counted_on, at);
    if (slot > ready) lane.waited_for = std::max(lane.waited_for, at);
  }
  return may_fail ? std::min(at, output.outages.next_change(ready)) : at;
}

Time SwitchPlan::decision(Output& output) const {
  if (!output.is_stale) return output.decision;
  output.is_stale = false;
  output.decision = kNever;
  const Time from = std::max(output.free, now_);
  for (const unsigned queue : output.heads) {
    output.decision = std::min(output.decision, eligible(queues_[queue], output, from));
  }
  return output.decision;
}

bool SwitchPlan::decide(Time until) {
  unsigned next = kNowhere;
  Time first = kNever;
  for (unsigned i = 0; i < outputs_.size(); ++i) {
    const Time at = decision(outputs_[i]);
    if (at >= first) continue;
    first = at;
    next = i;
  }
  if (next == kNowhere || first > until) return false;
  serve(next);
  return true;
}

void SwitchPlan::serve(unsigned index) {
  Output& output = outputs_[index];
  const Time now = output.decision;
  // In turn, from the queue after the one that was served last.
  Competitors competitors;
  auto next = std::upper_bound(output.heads.begin(), output.heads.end(), output.served);
  for (std::size_t i = 0; i < output.heads.size(); ++i, ++next) {
    if (next == output.heads.end()) next = output.heads.begin();
    // One alone made the decision.
    if (output.heads.size() == 1 || eligible(queues_[*next], output, now) == now) competitors.push_back(*next);
  }
  const unsigned winner = competitors.front();
  Transit& transit = *queues_[winner].head;
  if (competitors.size() == 1) {
    if (queues_[winner].behind != kNever && serve_stream(winner)) return;
    return serve_alone(index, transit);
  }
  if (output.mixed && serve_rounds(index, competitors)) return;
  plan(transit, TimeSequence::single(now + transit.service), output.outages.cover(now));
  find_head(winner);
}

void SwitchPlan::serve_alone(unsigned index, Transit& transit) {
  Output& output = outputs_[index];
  const Queue& queue = queues_[transit.queue];
  const Time now = output.decision;
  const bool lost = output.outages.cover(now);
  const std::uint32_t first = transit.departures.size();
  std::uint32_t cells = transit.arrivals.count_before(queue.behind) - first;
  if (!lost) cells = std::min(cells, output.lanes[transit.channel].slots.by(now));
  const Time until = cells == 1 ? now : std::min(next_rival(index, {transit.queue}), output.outages.next_change(now));
  if (until <= now + transit.service) {
    plan(transit, TimeSequence::single(now + transit.service), lost);
  } else {
    TimeSequence departures =
        serve_in_order(transit.arrivals.slice(first, cells).shifted(transit.to_ready), now, transit.service);
    if (until != kNever) departures.drop_back(cells - departures.count_before(until + transit.service));
    plan(transit, departures, lost);
  }
  find_head(transit.queue);
}

// With all k competitors ready whenever it is their turn, the j-th goes at now + s(0) + ... + s(j-1), and again each
// s(0) + ... + s(k-1) after that.
bool SwitchPlan::serve_rounds(unsigned index, const Competitors& competitors) {
  Output& output = outputs_[index];
  Time period{0};
  for (const unsigned queue : competitors) period += queues_[queue].head->service;
  std::uint32_t rounds = UINT32_MAX;
  Time turn = output.decision;
  for (const unsigned index_of : competitors) {
    const Queue& queue = queues_[index_of];
    const Transit& transit = *queue.head;
    // As many cells as certainly come in time: those of one progression that is not slower than the rounds.
    const std::uint32_t first = transit.departures.size();
    const std::uint32_t cells = transit.arrivals.count_before(queue.behind) - first;
    const TimeSequence next = transit.arrivals.slice(first, cells);
    const TimeSequence::Segment& progression = next.segments().front();
    std::uint32_t in_time = progression.gap <= period ? progression.count : 1;
    // Others of the channel take slots, too.
    const std::uint32_t slots =
        output.lanes[transit.channel].slots.by(output.decision) / static_cast<std::uint32_t>(competitors.size());
    rounds = std::min({rounds, in_time, slots});
    turn += transit.service;
  }
  if (rounds < 2) return false;
  const Time until = std::min(next_rival(index, competitors), output.outages.next_change(output.decision));
  const Time last_turn = turn - queues_[competitors.back()].head->service;
  if (until != kNever) {
    // Only rounds whose last cell starts before.
    if (until <= last_turn + period) return false;
    const std::int64_t whole = divide_up((until - last_turn).count(), period.count());
    rounds = static_cast<std::uint32_t>(std::min<std::int64_t>(rounds, whole));
  }
  Time departure = output.decision;
  for (const unsigned queue : competitors) {
    Transit& transit = *queues_[queue].head;
    departure += transit.service;
    plan(transit, TimeSequence::regular(departure, period, rounds), false);
  }
  for (const unsigned queue : competitors) find_head(queue);
  return true;
}

// Where cells that take equally long arrive at least that far apart and find their outputs free, each leaves when it is
// ready: the one before has left by then.
bool SwitchPlan::serve_stream(unsigned index) {
  const Queue& queue = queues_[index];
  const Transit& head = *queue.head;
  if (outputs_[head.output].decision != queue.ready) return false;
  Time until = kNever;
  for (const Transit* transit : queue.transits) {
    if (transit->is_planned()) continue;
    const Output& output = outputs_[transit->output];
    const bool alike = transit->service == head.service && transit->to_ready == head.to_ready;
    if (!alike || transit->spacing < head.service || !output.mixed || output.free > transit->ready()) return false;
    until = std::min(until, next_rival(transit->output, {index}));
  }
  if (until <= queue.ready) return false;
  const Lane* has_slots = nullptr;  // most of a queue leaves by one lane
  for (const Transit* transit : queue.transits) {
    const Lane* lane = &outputs_[transit->output].lanes[transit->channel];
    if (transit->is_planned() || lane == has_slots) continue;
    has_slots = lane;
    std::uint32_t cells = 0;
    for (const Transit* other : queue.transits) {
      if (other->output == transit->output && other->channel == transit->channel) cells += other->unplanned();
    }
    if (lane->slots.by(queue.ready) < cells) return false;
  }
  for (Transit* transit : queue.transits) {
    const std::uint32_t first = transit->departures.size();
    const std::uint32_t before =
        until == kNever ? transit->arrivals.size() : transit->arrivals.count_before(until - transit->to_ready);
    if (before <= first) continue;
    plan(*transit, transit->arrivals.slice(first, before - first).shifted(transit->to_ready + transit->service), false);
  }
  find_head(index);
  return true;
}

Time SwitchPlan::next_rival(unsigned output, const Competitors& but) const {
  Time first = kNever;
  if (heads_ == 0) return first;
  for (unsigned i = 0; i < queues_.size(); ++i) {
    if (queues_[i].head == nullptr || std::find(but.begin(), but.end(), i) != but.end()) continue;
    for (const Transit* transit : queues_[i].transits) {
      if (transit->output == output && !transit->is_planned()) first = std::min(first, transit->ready());
    }
  }
  return first;
}

void SwitchPlan::plan(Transit& transit, const TimeSequence& departures, bool lost) {
  Output& output = outputs_[transit.output];
  const std::uint32_t first = transit.departures.size();
  if (!output.mixed && first > 0 && (transit.departures.back() != output.free || lost != is_lost(transit, first - 1))) {
    transit.breaks.push_back(first);
  }
  if (first == 0) output.transits.push_back(&transit);
  transit.departures.append(departures);
  if (!lost) {
    Lane& lane = output.lanes[transit.channel];
    if (lane.slots.by(now_) < departures.size()) {
      lane.counted_on = std::max(lane.counted_on, departures.back() - transit.service);
    }
    lane.slots.take(departures.size());
  }
  if (departures.back() > output.free) {
    output.free = departures.back();
    output.served = transit.queue;
  }
  output.is_stale = true;
  if (transit.revised) {
    if (transit.use != nullptr && !transit.use->aside.empty()) put_slots_back(transit);
  } else if (!transit.awaited) {
    announced(transit);
  }
}

}  // namespace faultline::network
