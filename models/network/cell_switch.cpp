// SPDX-License-Identifier: Apache-2.0
#include "models/network/cell_switch.hpp"

#include <algorithm>
#include <utility>

namespace faultline::network {

using namespace sim;

CellSwitch::CellSwitch(Owner& owner, EventLoop& loop)
    // Behind all other hardware of an instant: who is ready at that instant takes part in its decisions.
    : owner_(owner), loop_(loop), port_(loop.new_arrival_port()) {}

void CellSwitch::add_output(const std::vector<std::uint32_t>& slots, Outages outages) {
  Output& output = outputs_.emplace_back();
  for (const std::uint32_t count : slots) output.behind.emplace_back(count);
  output.outages = std::move(outages);
}

void CellSwitch::arrive(unsigned index, const Cell& cell) {
  Queue& queue = queues_[index];
  queue.cells.push(cell);
  if (queue.cells.size() == 1) arm(line_up(index));
}

void CellSwitch::slot_freed(unsigned index, unsigned channel, Time at) {
  Output& output = outputs_[index];
  Slots& slots = output.behind[channel];
  const Time before = slots.next();
  slots.free(at, loop_.now());
  if (at < before && !output.heads.empty()) arm(index);
}

// Where nodes free their slots, news of a later one may come first.
void CellSwitch::Slots::free(Time at, Time now) {
  collect(now);
  coming_.push(at);
  for (std::uint32_t i = coming_.size() - 1; i > 0 && coming_[i] < coming_[i - 1]; --i) {
    std::swap(coming_[i], coming_[i - 1]);
  }
}

Time CellSwitch::work_left(unsigned index) const { return std::max(outputs_[index].free - loop_.now(), Time{0}); }

// The queue has a first cell now. Returns the output by which it leaves.
unsigned CellSwitch::line_up(unsigned index) {
  const Queue& queue = queues_[index];
  const Cell& cell = queue.cells.front();
  auto& heads = outputs_[cell.output].heads;
  const auto behind = std::find_if(heads.begin(), heads.end(), [&](const Head& head) { return head.queue > index; });
  heads.insert(behind, {std::max(cell.ready, queue.free), index, cell.channel});
  return cell.output;
}

// When it could go, if nobody else did; where a link is about to fail or to come back, when to look again.
Time CellSwitch::start(const Output& output, const Head& head) const {
  const Time ready = std::max({head.ready, output.free, loop_.now()});
  const Time at = std::max(ready, output.behind[head.channel].next());
  if (output.outages.empty()) return at;
  return output.outages.cover(ready) ? ready : std::min(at, output.outages.next_change(ready));
}

void CellSwitch::arm(unsigned index) {
  Output& output = outputs_[index];
  Time due = kNever;
  for (const Head& head : output.heads) due = std::min(due, start(output, head));
  if (due >= output.armed) return;
  output.armed = due;
  loop_.at<&CellSwitch::decide>(due, port_, *this, index);
}

void CellSwitch::decide(std::uint64_t argument) {
  const auto index = static_cast<unsigned>(argument);
  Output& output = outputs_[index];
  if (output.armed != loop_.now()) return;  // there was an earlier one
  output.armed = kNever;
  // In turn, from the queue after the one that was served last.
  const std::size_t heads = output.heads.size();
  std::size_t next = 0;
  while (next < heads && output.heads[next].queue <= output.served) ++next;
  for (std::size_t i = 0; i < heads; ++i, ++next) {
    if (next == heads) next = 0;
    if (start(output, output.heads[next]) == loop_.now()) return serve(index, next);
  }
  arm(index);
}

void CellSwitch::serve(unsigned index, std::size_t place) {
  Output& output = outputs_[index];
  const unsigned from = output.heads[place].queue;
  Queue& queue = queues_[from];
  const Cell cell = queue.cells.front();
  const Time now = loop_.now();
  const bool lost = output.outages.cover(now);
  if (!lost) output.behind[cell.channel].take(now);
  output.served = from;
  output.free = queue.free = now + cell.service;
  output.heads.erase(output.heads.begin() + static_cast<std::ptrdiff_t>(place));
  queue.cells.pop();
  const unsigned other = queue.cells.empty() ? index : line_up(from);
  if (other != index) arm(other);
  arm(index);
  owner_.starts(from, cell, output.free, lost);
}

}  // namespace faultline::network
