// SPDX-License-Identifier: Apache-2.0
#include "models/network/switch_plan.hpp"

#include <algorithm>
#include <utility>

namespace faultline::network {

using namespace sim;

void SwitchPlan::add_output(const std::vector<std::uint32_t>& slots, bool mixed, Outages outages) {
  Output& output = outputs_.emplace_back();
  output.mixed = mixed;
  for (const std::uint32_t count : slots) output.lanes.push_back({SlotLedger(count)});
  output.outages = std::move(outages);
}

bool SwitchPlan::enter(Transit& transit, Time now) {
  Queue& queue = queues_[transit.queue];
  const bool passes = may_pass(transit, now);
  queue.transits.push_back(&transit);
  queue.last_arrival = std::max(queue.last_arrival, transit.arrivals.back());
  if (!passes) {
    disturb(transit, transit.arrivals.front(), now);
    return false;
  }
  now_ = now;
  const Time free = std::max({queue.free, outputs_[transit.output].free, now});
  plan(transit, serve_in_order(transit.arrivals.shifted(transit.to_ready), free, transit.service), false);
  queue.free = std::max(queue.free, transit.departures.back());
  return true;
}

// Whether the train goes behind all cells that are known and share its queue or output, whatever they are, with slots.
// While something is to be undone, plans may contradict arrivals.
bool SwitchPlan::may_pass(const Transit& transit, Time now) const {
  const Queue& queue = queues_[transit.queue];
  const Output& output = outputs_[transit.output];
  const Lane& lane = output.lanes[transit.channel];
  if (!output.mixed || !disturbances_.empty() || queue.head != nullptr || !output.heads.empty()) return false;
  if (queue.last_arrival > transit.arrivals.front()) return false;
  if (lane.lacks_from != kNever || lane.slots.by(now) < transit.arrivals.size()) return false;
  const bool comes_last = output.free <= transit.ready() ||
                          std::none_of(output.transits.begin(), output.transits.end(), [&](const Transit* other) {
                            return other->queue != transit.queue && other->last_start() >= transit.ready();
                          });
  return comes_last && next_rival(transit.output, {transit.queue}) == kNever;
}

std::uint32_t SwitchPlan::rearrive(Transit& transit, TimeSequence arrivals, Time now) {
  const std::uint32_t same = transit.arrivals.common_prefix(arrivals);
  Time first = kNever;
  if (same < transit.arrivals.size()) first = transit.arrivals.at(same);
  if (same < arrivals.size()) first = std::min(first, arrivals.at(same));
  transit.arrivals = std::move(arrivals);
  if (!transit.arrivals.empty()) {
    Time& last = queues_[transit.queue].last_arrival;
    last = std::max(last, transit.arrivals.back());
  }
  if (first != kNever) disturb(transit, first, now);
  return same;
}

// The transit's cells from this arrival on are others than was known, and so is what comes behind them in the queue.
void SwitchPlan::disturb(Transit& transit, Time arrival, Time now) {
  Time from = arrival + transit.to_ready;
  for (const Transit* each : queues_[transit.queue].transits) {
    const std::uint32_t before = each->arrivals.count_before(arrival);
    if (before < each->departures.size()) from = std::min(from, each->start(before));
  }
  disturb({from, transit.queue, kNowhere}, now);
}

void SwitchPlan::disturb(Disturbance what, Time now) {
  disturbed_at_ = std::min(disturbed_at_, std::max(what.from, now));
  what.from = std::max(what.from, settled_ + Time{1});
  disturbances_.push_back(what);
}

void SwitchPlan::slots_freed(unsigned index, unsigned channel, const TimeSequence& instants, Time now) {
  Lane& lane = outputs_[index].lanes[channel];
  lane.slots.free(instants, now);
  const Time first = instants.front();
  if (lane.waited_for >= first) disturb({first, kNowhere, index}, now);
  if (lane.lacks_from != kNever) {
    lane.has_more = true;
    // What was decided before still rests on the wait for this one.
    const Time from = std::max(first, lane.lacks_from);
    lane.waited_for = std::max(lane.waited_for, from);
    disturb({from, kNowhere, index}, now);
  }
}

void SwitchPlan::slots_held(unsigned index, unsigned channel, const TimeSequence& instants, Time now) {
  Lane& lane = outputs_[index].lanes[channel];
  lane.slots.hold(instants);
  if (lane.counted_on >= instants.front()) disturb({instants.front(), kNowhere, index}, now);
}

Time SwitchPlan::due() {
  Time first = disturbed_at_;
  for (const Transit* transit : awaited_) first = std::min(first, transit->start(transit->told.size()));
  for (Output& output : outputs_) first = std::min(first, decision(output));
  return first;
}

void SwitchPlan::advance(Time now) {
  now_ = now;
  if (std::exchange(disturbed_at_, kNever) != kNever) {
    undo_disturbed();
    for (unsigned i = 0; i < queues_.size(); ++i) {
      if (queues_[i].is_stale) find_head(i);
    }
  }
  while (decide(now)) {
  }
  settled_ = now;
}

// The earliest first: a later one would take back cells whose queues the earlier one has to follow.
void SwitchPlan::undo_disturbed() {
  std::sort(disturbances_.begin(), disturbances_.end(), [](auto& a, auto& b) { return a.from < b.from; });
  for (const Disturbance& what : disturbances_) {
    if (what.output == kNowhere) {
      undo_queue(what.queue, what.from);
      continue;
    }
    Output& output = outputs_[what.output];
    output.is_stale = true;
    for (Lane& lane : output.lanes) {
      if (std::exchange(lane.has_more, false)) lane.lacks_from = kNever;
    }
    undo(what.output, what.from);
    // What waits here may leave earlier than was thought, and other cells of its queue by other outputs after it.
    for (const unsigned queue : output.heads) undo_queue(queue, what.from);
  }
  disturbances_.clear();
}

void SwitchPlan::announced(Transit& transit) {
  const bool more = transit.departures.size() > transit.told.size();
  if (more == std::exchange(transit.awaited, more)) return;
  if (more) {
    awaited_.push_back(&transit);
  } else {
    std::erase(awaited_, &transit);
  }
}

std::uint32_t SwitchPlan::piece_end(const Transit& transit, std::uint32_t cell) const {
  const auto next = std::upper_bound(transit.breaks.begin(), transit.breaks.end(), cell);
  return next == transit.breaks.end() ? transit.departures.size() : *next;
}

std::uint32_t SwitchPlan::still_together(const Transit& transit, std::uint32_t cells) const {
  const auto next = std::lower_bound(transit.breaks.begin(), transit.breaks.end(), transit.undone_from);
  return next == transit.breaks.end() ? cells : std::min(cells, *next);
}

// Takes back the cells that start at `from` or later, and whatever may depend on them.
void SwitchPlan::undo(unsigned index, Time from) {
  Output& output = outputs_[index];
  if (output.free <= from) return;
  SmallVector<unsigned, 8> queues;  // whose cells may leave at other instants now
  output.free = output.gone;
  output.served = output.gone_served;
  std::erase_if(output.transits, [&](Transit* transit) {
    const bool stays = transit->last_start() < from;
    const std::uint32_t kept =
        stays ? transit->departures.size() : transit->departures.count_before(from + transit->service);
    if (!stays) {
      queues.push_back(transit->queue);
      take_back(*transit, transit->departures.size() - kept);
    }
    if (kept == 0) return true;
    if (transit->departures.back() > output.free) {
      output.free = transit->departures.back();
      output.served = transit->queue;
    }
    return false;
  });
  output.is_stale = true;
  if (queues.empty()) return;
  // Those that wait here, too: they may leave before cells that were planned elsewhere in the meantime.
  queues.insert(queues.end(), output.heads.begin(), output.heads.end());
  for (const unsigned queue : queues) undo_queue(queue, from);
}

void SwitchPlan::undo_queue(unsigned index, Time from) {
  Queue& queue = queues_[index];
  queue.is_stale = true;
  unsigned undone = kNowhere;  // most of a queue leaves by one output
  for (const Transit* transit : queue.transits) {
    if (transit->output == undone) continue;
    if (!transit->is_planned() || (!transit->departures.empty() && transit->last_start() >= from)) {
      undone = transit->output;
      undo(undone, from);
    }
  }
}

void SwitchPlan::take_back(Transit& transit, std::uint32_t cells) {
  const std::uint32_t left = transit.departures.size() - cells;
  Output& output = outputs_[transit.output];
  std::uint32_t with_slots = cells;
  if (!output.outages.empty()) {
    for (std::uint32_t i = 0; i < cells; ++i) with_slots -= is_lost(transit, left + i) ? 1 : 0;
  }
  output.lanes[transit.channel].slots.give_back(with_slots);
  transit.departures.drop_back(cells);
  while (!transit.breaks.empty() && transit.breaks.back() >= left) transit.breaks.pop_back();
  if (left < transit.told.size()) {
    transit.undone_from = transit.revised ? std::min(transit.undone_from, left) : left;
    if (!std::exchange(transit.revised, true)) revised_.push_back(&transit);
    if (transit.use != nullptr) put_slots_aside(transit);
  }
  if (transit.awaited && left <= transit.told.size()) {
    transit.awaited = false;
    std::erase(awaited_, &transit);
  }
}

// A cell that is to be decided on anew must not count on its own slot.
void SwitchPlan::put_slots_aside(Transit& transit) {
  SlotUse& use = *transit.use;
  const std::uint32_t kept = transit.departures.size() - use.first;
  if (use.freed.size() <= kept) return;
  TimeSequence gone = use.freed.suffix(kept);
  outputs_[transit.output].lanes[transit.channel].slots.hold(gone);
  use.freed.drop_back(gone.size());
  gone.append(use.aside);
  use.aside = std::move(gone);
}

void SwitchPlan::put_slots_back(Transit& transit) {
  SlotUse& use = *transit.use;
  const std::uint32_t same = transit.told.common_prefix(transit.departures);
  const std::uint32_t known = use.first + use.freed.size();
  if (same <= known) return;
  const std::uint32_t cells = std::min(same - known, use.aside.size());
  const TimeSequence back = use.aside.prefix(cells);
  outputs_[transit.output].lanes[transit.channel].slots.free(back, now_);
  use.freed.append(back);
  use.aside.drop_front(cells);
}

}  // namespace faultline::network
