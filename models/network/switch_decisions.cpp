// SPDX-License-Identifier: Apache-2.0
// How a switch takes decisions: on one cell, or on many ahead of time. How they are taken back is in switch.cpp.
#include <algorithm>
#include <utility>

#include "models/network/switch.hpp"

namespace faultline::network {

using namespace sim;

void Switch::arm(unsigned index) {
  Output& output = outputs_[index];
  if (output.armed <= std::max(output.free, loop_.now())) return;
  Time due = kNever;
  for (const unsigned queue : output.heads) due = std::min(due, eligible(queue, output));
  if (due >= output.armed) return;
  output.armed = due;
  loop_.at<&Switch::wake>(due, port_, *this, index);
}

void Switch::wake(std::uint64_t index) {
  Output& output = outputs_[index];
  if (output.armed != loop_.now()) return;  // there was an earlier one
  output.armed = kNever;
  settle(output);
  serving_ = static_cast<unsigned>(index);
  if (output.free <= loop_.now()) serve(serving_);
  arm(std::exchange(serving_, kNowhere));
  tell();
}

// When the queue's first cell could start.
Time Switch::eligible(unsigned index, const Output& output) const {
  const Queue& queue = queues_[index];
  const Time ready = std::max({queue.ready, queue.free, output.free, loop_.now()});
  const SlotLedger& lane = output.lanes[queue.channel];
  const Time at = lane.any_by(ready) ? ready : lane.next();  // the order of slots matters only where none is free
  if (output.outages.empty()) return at;
  return output.outages.cover(ready) ? ready : std::min(at, output.outages.next_change(ready));
}

void Switch::serve(unsigned index) {
  Output& output = outputs_[index];
  const Time now = loop_.now();
  const bool plans_ahead = plans(output);
  Competitors competitors;
  // In turn, from the queue after the one that was served last.
  auto next = std::upper_bound(output.heads.begin(), output.heads.end(), output.served);
  for (std::size_t i = 0; i < output.heads.size(); ++i, ++next) {
    if (next == output.heads.end()) next = output.heads.begin();
    if (eligible(*next, output) != now) continue;
    competitors.push_back(*next);
    if (!plans_ahead) break;
  }
  if (competitors.empty()) return;
  if (plans_ahead && competitors.size() == 1) {
    const unsigned queue = competitors.front();
    if (!serve_stream(queue)) decide(head_of(queue), alone(index, head_of(queue)));
  } else if (!plans_ahead || !output.mixes || !serve_rounds(index, competitors)) {
    if (output.credit < 0) ++output.credit;
    competitors.resize(1);
    Transit& transit = head_of(competitors.front());
    decide(transit, TimeSequence::single(now + transit.service), output.outages.cover(now));
  }
  // A queue whose next cell leaves here, too, has its turn behind those that are decided on now.
  for (const unsigned queue : competitors) {
    if (queues_[queue].leaves_by != index) make_room(queue);
  }
}

// How many of the cells of a queue's first train come before those of its others.
std::uint32_t Switch::first_cells(unsigned index) const {
  const auto& waiting = queues_[index].waiting;
  const Transit& first = *waiting.front().transit;
  if (waiting.size() == 1) return first.undecided();
  return first.arrivals->count_before(waiting[1].arrival) - first.departures.size();
}

// As many of the train's cells as go before anybody else's.
TimeSequence Switch::alone(unsigned index, const Transit& transit) const {
  const Time now = loop_.now();
  const std::uint32_t first = transit.departures.size();
  const std::uint32_t slots = outputs_[index].lanes[transit.channel].by(now);
  const std::uint32_t cells = std::min(first_cells(transit.queue), slots);
  const Time until = cells == 1 ? now : next_rival(index, {&transit.queue, 1});
  if (until <= now + transit.service) return TimeSequence::single(now + transit.service);
  TimeSequence departures =
      serve_in_order(transit.arrivals->slice(first, cells).shifted(transit.to_ready), now, transit.service);
  if (until != kNever) departures.drop_back(cells - departures.count_before(until + transit.service));
  return departures;
}

// Where cells of several trains take equally long, arrive at least that far apart and find their outputs free, each
// leaves when it is ready: the one before has left by then.
bool Switch::serve_stream(unsigned index) {
  const Queue& queue = queues_[index];
  const Time now = loop_.now();
  if (foresight_ != Foresight::at_once || queue.waiting.size() == 1 || queue.ready != now) return false;
  const Transit& head = head_of(index);
  if (head.spacing < head.service) return false;
  for (const Waiting& waiting : queue.waiting) {
    const Output& output = outputs_[waiting.output];
    if (!output.mixes || !plans(output) || output.free > waiting.ready) return false;
  }
  Time until = kNever;
  for (const Waiting& waiting : queue.waiting) {
    const Transit* transit = waiting.transit;
    if (transit->service != head.service || transit->to_ready != head.to_ready) return false;
    until = std::min(until, next_rival(waiting.output, {&index, 1}));
    if (until <= now) return false;
    std::uint32_t cells = 0;
    for (const Waiting& other : queue.waiting) {
      if (other.output == waiting.output && other.channel == waiting.channel) cells += other.transit->undecided();
    }
    if (outputs_[waiting.output].lanes[waiting.channel].by(now) < cells) return false;
  }
  const auto trains = queue.waiting;  // which decisions change
  for (const Waiting& waiting : trains) {
    Transit* transit = waiting.transit;
    const std::uint32_t first = transit->departures.size();
    std::uint32_t before = transit->arrivals->size();
    if (until != kNever) before = transit->arrivals->count_before(until - transit->to_ready);
    if (before <= first) continue;
    decide(*transit, transit->arrivals->slice(first, before - first).shifted(transit->to_ready + transit->service));
  }
  return true;
}

// With all k competitors ready whenever it is their turn, the j-th goes at start + s(0) + ... + s(j-1), and again each
// s(0) + ... + s(k-1) after that. Those that have cells left when one has none go on in turn.
bool Switch::serve_rounds(unsigned index, Competitors competitors) {
  const Time now = loop_.now();
  Time start = now;
  for (std::uint32_t least = 2; !competitors.empty(); least = 1) {
    auto [rounds, period] = rounds_in_time(index, competitors, start, least);
    if (rounds == 0) break;
    const Time until = next_rival(index, {competitors.data(), competitors.size()});
    if (until != kNever) {
      // Only rounds whose last cell starts before.
      const Time last_turn = start + period - head_of(competitors.back()).service;
      if (until <= last_turn + (least - 1) * period) break;
      const std::int64_t whole = divide_up((until - last_turn).count(), period.count());
      rounds = static_cast<std::uint32_t>(std::min<std::int64_t>(rounds, whole));
    }
    Time departure = start;
    for (const unsigned queue : competitors) {
      Transit& transit = head_of(queue);
      departure += transit.service;
      decide(transit, TimeSequence::regular(departure, period, rounds));
    }
    start += rounds * period;
    // A train of the queue that has not begun is a rival.
    const auto ends = [&](unsigned queue) {
      return queues_[queue].leaves_by != index || head_of(queue).departures.empty();
    };
    competitors.erase(std::remove_if(competitors.begin(), competitors.end(), ends), competitors.end());
  }
  return start > now;
}

// For how many rounds from `start` on all competitors have slots at hand, and cells that certainly come in time: those
// of one progression that is not slower than the rounds. None if that is less than `least`.
Switch::Rounds Switch::rounds_in_time(unsigned index, const Competitors& competitors, Time start,
                                      std::uint32_t least) const {
  auto [rounds, period] = Rounds{UINT32_MAX, Time{0}};
  for (const unsigned queue : competitors) {
    const Transit& transit = head_of(queue);
    if (queues_[queue].ready > start || transit.undecided() < least) return {};
    period += transit.service;
  }
  for (const unsigned queue : competitors) {
    const Transit& transit = head_of(queue);
    const TimeSequence::Segment next = transit.arrivals->segment_at(transit.departures.size());
    const std::uint32_t in_time = next.gap <= period ? std::min(next.count, first_cells(queue)) : 1;
    // Others of the channel take slots, too.
    const std::uint32_t slots =
        outputs_[index].lanes[transit.channel].by(loop_.now()) / static_cast<std::uint32_t>(competitors.size());
    rounds = std::min({rounds, in_time, slots});
    if (rounds < least) return {};
  }
  return {rounds, period};
}

// The instant before which no cell that is known of another queue can want the output; any that is not later than now,
// if that is.
Time Switch::next_rival(unsigned index, std::span<const unsigned> but) const {
  Time first = kNever;
  unsigned rivals = outputs_[index].wanted;
  for (const unsigned queue : but) {
    for (const Waiting& waiting : queues_[queue].waiting) rivals -= waiting.output == index;
  }
  for (unsigned i = 0; rivals > 0 && first > loop_.now(); ++i) {
    if (std::find(but.begin(), but.end(), i) != but.end()) continue;
    for (const Waiting& waiting : queues_[i].waiting) {
      if (waiting.output != index) continue;
      first = std::min(first, waiting.ready);
      --rivals;
    }
  }
  return first;
}

// A train that goes behind everything that is known, or passes between without anybody's waiting.
bool Switch::go_ahead(Transit& transit, bool between) {
  Queue& queue = queues_[transit.queue];
  Output& output = outputs_[transit.output];
  if (foresight_ != Foresight::at_once || !output.mixes || !plans(output)) return false;
  if (queue.waiting.size() > 1 || output.heads.size() > 1) return false;
  const std::uint32_t first = transit.departures.size();
  std::uint32_t cells = transit.undecided();
  const std::uint32_t slots = output.lanes[transit.channel].by(loop_.now());
  if (slots == 0 || (between && slots < cells)) return false;
  cells = std::min(cells, slots);
  const Time ready = transit.ready();
  settle(output);
  Time free = output.gone;  // of others' cells, where those of its own queue do not make it wait
  for (const Transit* other : output.ahead) {
    if (other->queue == transit.queue && between) continue;
    if (other->queue != transit.queue && other->last_start() >= ready) return false;
    free = std::max(free, other->departures.back());
  }
  if (between && free > ready) return false;
  if (next_rival(transit.output, {&transit.queue, 1}) != kNever) return false;
  if (!between) free = std::max({free, queue.free, loop_.now()});
  decide(transit,
         serve_in_order(transit.arrivals->slice(first, cells).shifted(transit.to_ready), free, transit.service));
  if (transit.waits) make_room(transit.queue);
  return true;
}

// Whether this train's cells can go as soon as they are ready, between others of their queue that are decided on, and
// those as soon as they are.
bool Switch::fits_between(const Transit& transit) const {
  const Time arrival = transit.next_arrival();
  const Time ready = transit.ready();
  if (transit.spacing < transit.service || queues_[transit.queue].gone > ready) return false;
  for (const Output& output : outputs_) {
    for (const Transit* other : output.ahead) {
      if (other->queue != transit.queue) continue;
      const std::uint32_t decided = other->departures.size();
      const std::uint32_t before = std::min(other->arrivals->count_before(arrival), decided);
      if (before > 0 && other->departures.at(before - 1) > ready) return false;
      if (before == decided) continue;
      if (other->service != transit.service || other->to_ready != transit.to_ready) return false;
      const TimeSequence at_once = other->arrivals->slice(before, decided - before);
      if (at_once.shifted(other->to_ready + other->service) != other->departures.suffix(before)) return false;
    }
  }
  return true;
}

}  // namespace faultline::network
