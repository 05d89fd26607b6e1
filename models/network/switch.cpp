// SPDX-License-Identifier: Apache-2.0
#include "models/network/switch.hpp"

#include <algorithm>
#include <utility>

namespace faultline::network {

using namespace sim;

namespace {

// What a cell that started as was decided ahead of time earns is one; what this costs, in events, if it is taken back.
constexpr int kCostOfTakingBack = 4;
constexpr int kMostCredit = 256;
constexpr int kOneByOne = -32;  // where credit ends: so many cells are decided on one by one

}  // namespace

Switch::Switch(Owner& owner, EventLoop& loop, Foresight foresight)
    // Behind all other hardware of an instant: who is ready at that instant takes part in its decisions.
    : owner_(owner), loop_(loop), port_(loop.new_arrival_port()), foresight_(foresight) {}

void Switch::add_output(const std::vector<std::uint32_t>& slots, bool mixes, Outages outages) {
  Output& output = outputs_.emplace_back();
  output.mixes = mixes;
  for (const std::uint32_t count : slots) output.lanes.emplace_back(count);
  output.outages = std::move(outages);
}

void Switch::arrive(Transit& transit, std::uint32_t from) {
  const bool only_behind = transit.waits && from > transit.departures.size();
  if (transit.departures.size() > from) take_back(transit.output, transit.start(from));
  if (!only_behind) {
    queue_up(transit);
    if (transit.waits) {
      const Time arrival = transit.next_arrival();
      const bool between = arrival < queues_[transit.queue].last_arrival;
      const bool fits = between && fits_between(transit);
      if (between && !fits) take_back_behind(transit.queue, arrival);
      if (!go_ahead(transit, fits)) {
        if (fits) take_back_behind(transit.queue, arrival);
        make_room(transit.queue);
      }
    } else {
      make_room(transit.queue);
    }
  }
  tell();
}

void Switch::slots_freed(unsigned index, unsigned channel, const TimeSequence& instants) {
  Output& output = outputs_[index];
  SlotLedger& lane = output.lanes[channel];
  const bool had_none = !lane.any_by(loop_.now());
  lane.free(instants, loop_.now());
  if (had_none && !output.heads.empty()) arm(index);
}

void Switch::slots_held(unsigned index, unsigned channel, const TimeSequence& instants) {
  outputs_[index].lanes[channel].hold(instants);
}

Time Switch::work_left(unsigned index) const {
  const Output& output = outputs_[index];
  const Time now = loop_.now();
  Time waits{0};
  Time under_way = output.gone > now ? output.gone - now : Time{0};
  for (const Transit* transit : output.ahead) {
    const std::uint32_t gone = transit->departures.count_by(now);
    const std::uint32_t started = transit->departures.count_by(now + transit->service);
    if (started > gone) under_way = transit->departures.at(gone) - now;
    waits += transit->service * (transit->departures.size() - started);
  }
  return waits + under_way;
}

void Switch::decide(Transit& transit, const TimeSequence& departures, bool lost) {
  Queue& queue = queues_[transit.queue];
  Output& output = outputs_[transit.output];
  const std::uint32_t first = transit.departures.size();
  transit.departures.append(departures);
  if (!lost) output.lanes[transit.channel].take(departures.size());
  queue.free = std::max(queue.free, departures.back());
  queue.last_arrival = std::max(queue.last_arrival, transit.arrivals->at(transit.departures.size() - 1));
  if (departures.back() > output.free) {
    output.free = departures.back();
    output.served = transit.queue;
  }
  if (!transit.is_ahead) {
    if (transit.last_start() > settled()) {
      output.ahead.push_back(&transit);
      ++queue.ahead;
      transit.is_ahead = true;
      transit.ahead_from = first;
    } else {
      have_started(transit);
    }
  }
  change(transit, first);
  queue_up(transit);
}

// Forgets of trains whose decided cells have started that they were ahead.
void Switch::settle(Output& output) {
  if (output.ahead.empty()) return;
  const Time now = settled();
  SmallVector<Transit*, 8> left;
  const auto kept = std::remove_if(output.ahead.begin(), output.ahead.end(), [&](Transit* transit) {
    if (!transit->departures.empty()) {
      if (transit->last_start() > now) return false;
      have_started(*transit);
      earn(output, *transit, transit->departures.size());
    }
    transit->is_ahead = false;
    --queues_[transit->queue].ahead;
    if (!transit->busy()) left.push_back(transit);
    return true;
  });
  output.ahead.erase(kept, output.ahead.end());
  for (Transit* transit : left) owner_.left(*transit);
}

void Switch::earn(Output& output, Transit& transit, std::uint32_t started) {
  if (started <= transit.ahead_from) return;
  output.credit = std::min(kMostCredit, output.credit + static_cast<int>(started - transit.ahead_from));
  transit.ahead_from = started;
}

void Switch::have_started(const Transit& transit) {
  Output& output = outputs_[transit.output];
  Time& gone = queues_[transit.queue].gone;
  gone = std::max(gone, transit.departures.back());
  if (transit.departures.back() <= output.gone) return;
  output.gone = transit.departures.back();
  output.gone_served = transit.queue;
}

void Switch::take_back(unsigned index, Time from) {
  Output& output = outputs_[index];
  from = std::max(from, settled() + Time{1});
  if (output.free <= from) return;
  settle(output);
  SmallVector<std::pair<unsigned, Time>, 4> queues;  // from which starts on cells of theirs are taken back
  output.free = output.gone;
  output.served = output.gone_served;
  for (Transit* transit : output.ahead) {
    if (transit->departures.empty()) continue;
    if (transit->last_start() >= from) {
      const std::uint32_t kept = transit->departures.count_before(from + transit->service);
      const std::uint32_t gone = transit->departures.size() - kept;
      queues.emplace_back(transit->queue, transit->start(kept));
      output.lanes[transit->channel].give_back(gone);
      earn(output, *transit, kept);
      output.credit -= kCostOfTakingBack;
      transit->departures.drop_back(gone);
      change(*transit, kept);
      queue_up(*transit);
    }
    if (!transit->departures.empty() && transit->departures.back() > output.free) {
      output.free = transit->departures.back();
      output.served = transit->queue;
    }
  }
  if (!queues.empty() && output.credit < 0) output.credit = kOneByOne;
  for (const auto& [queue, start] : queues) {
    if (queues_[queue].ahead == ahead_at(index, queue)) continue;
    for (unsigned other = 0; other < outputs_.size(); ++other) {
      const auto& ahead = outputs_[other].ahead;
      if (other != index && std::any_of(ahead.begin(), ahead.end(), [&, q = queue, s = start](const Transit* transit) {
            return transit->queue == q && !transit->departures.empty() && transit->last_start() >= s;
          })) {
        take_back(other, start);
      }
    }
  }
  for (const auto& [queue, start] : queues) queues_[queue].free = last_departure(queue, index);
  // Others that wait may go earlier. The first cell of each of these queues leaves here, or by an output from which
  // this was called, or is the cell that arrives: those outputs are armed by their callers.
  arm(index);
}

// Trains of the queue that are ahead there.
unsigned Switch::ahead_at(unsigned index, unsigned queue) const {
  const auto& ahead = outputs_[index].ahead;
  return static_cast<unsigned>(
      std::count_if(ahead.begin(), ahead.end(), [queue](const Transit* transit) { return transit->queue == queue; }));
}

// When the last of the queue's cells that are decided on leaves. Most leave by this output.
Time Switch::last_departure(unsigned queue, unsigned index) const {
  Time last = queues_[queue].gone;
  for (unsigned left = queues_[queue].ahead; left > 0; index = index + 1 < outputs_.size() ? index + 1 : 0) {
    for (const Transit* transit : outputs_[index].ahead) {
      if (transit->queue != queue) continue;
      --left;
      if (!transit->departures.empty()) last = std::max(last, transit->departures.back());
    }
  }
  return last;
}

// A cell arrives before others of its queue that are decided on.
void Switch::take_back_behind(unsigned queue, Time arrival) {
  for (unsigned index = 0; index < outputs_.size(); ++index) {
    Time from = kNever;
    for (const Transit* transit : outputs_[index].ahead) {
      if (transit->queue != queue) continue;
      const std::uint32_t before = transit->arrivals->count_before(arrival);
      if (before < transit->departures.size()) from = std::min(from, transit->start(before));
    }
    if (from != kNever) take_back(index, from);
  }
  queues_[queue].last_arrival = arrival;
}

void Switch::change(Transit& transit, std::uint32_t from) {
  transit.changed_from = transit.is_changed ? std::min(transit.changed_from, from) : from;
  if (!std::exchange(transit.is_changed, true)) changed_.push_back(&transit);
}

// Puts the train where its first undecided cell comes in its queue.
void Switch::queue_up(Transit& transit) {
  const unsigned index = transit.queue;
  Queue& queue = queues_[index];
  auto& waiting = queue.waiting;
  auto place = waiting.end();
  if (transit.waits) {
    place = std::find_if(waiting.begin(), waiting.end(), [&](const Waiting& w) { return w.transit == &transit; });
  }
  transit.waits = transit.undecided() > 0;
  if (transit.waits) {
    const Time arrival = transit.next_arrival();
    if (place == waiting.end()) {
      place = waiting.insert(place, Waiting{});
      ++outputs_[transit.output].wanted;
    }
    for (auto next = place + 1; next != waiting.end() && next->arrival <= arrival; ++next) *place++ = *next;
    for (; place != waiting.begin() && place[-1].arrival > arrival; --place) *place = place[-1];
    *place = {arrival, arrival + transit.to_ready, &transit, transit.output, transit.channel};
  } else if (place != waiting.end()) {
    waiting.erase(place);
    --outputs_[transit.output].wanted;
  }
  unsigned leaves_by = kNowhere;
  if (!waiting.empty()) {
    leaves_by = waiting.front().output;
    queue.ready = waiting.front().ready;
    queue.channel = static_cast<std::uint16_t>(waiting.front().channel);
  }
  if (leaves_by == queue.leaves_by) return;
  if (queue.leaves_by != kNowhere) {
    auto& heads = outputs_[queue.leaves_by].heads;
    heads.erase(std::find(heads.begin(), heads.end(), index));
  }
  queue.leaves_by = leaves_by;
  if (leaves_by == kNowhere) return;
  auto& heads = outputs_[leaves_by].heads;
  heads.insert(std::lower_bound(heads.begin(), heads.end(), index), index);
}

// The queue's first cell is another, which may come between others that are decided on.
void Switch::make_room(unsigned index) {
  const Queue& queue = queues_[index];
  if (queue.waiting.empty()) return;
  take_back(queue.leaves_by, std::max(queue.ready, queue.free));
  if (queue.leaves_by != serving_) arm(queue.leaves_by);
}

void Switch::tell() {
  if (std::exchange(tells_, true)) return;  // who does will come to these, too
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    Transit& transit = *changed_[i];
    transit.is_changed = false;
    owner_.decided(transit, transit.changed_from);
  }
  changed_.clear();
  tells_ = false;
}

}  // namespace faultline::network
