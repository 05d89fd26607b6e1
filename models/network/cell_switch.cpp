// SPDX-License-Identifier: Apache-2.0
#include "models/network/cell_switch.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace faultline::network {

using namespace sim;

namespace {

// Into a buffer that grows, and does not shrink.
template <typename T>
void push(boost::circular_buffer<T>& buffer, const T& item) {
  if (buffer.full()) buffer.set_capacity(std::max<std::size_t>(4, 2 * buffer.capacity()));
  buffer.push_back(item);
}

}  // namespace

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
  if (std::exchange(queue.has_first, true)) return push(queue.behind, cell);
  arm(cell.output, line_up(index, cell));
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
  push(coming_, at);
  for (std::size_t i = coming_.size() - 1; i > 0 && coming_[i] < coming_[i - 1]; --i) {
    std::swap(coming_[i], coming_[i - 1]);
  }
}

Time CellSwitch::work_left(unsigned index) const { return std::max(outputs_[index].free - loop_.now(), Time{0}); }

Time CellSwitch::line_up(unsigned index, const Cell& cell) {
  Output& output = outputs_[cell.output];
  auto place = output.heads.end();
  while (place != output.heads.begin() && std::prev(place)->queue > index) --place;
  place = output.heads.insert(place, {cell, index});
  place->cell.ready = std::max(cell.ready, queues_[index].free);
  return start(output, *place);
}

// When it could go, if nobody else did; where a link is about to fail or to come back, when to look again.
inline Time CellSwitch::start(const Output& output, const Head& head) const {
  const Time ready = std::max({head.cell.ready, output.free, loop_.now()});
  const Time at = std::max(ready, output.behind[head.cell.channel].next());
  if (output.outages.empty()) return at;
  return output.outages.cover(ready) ? ready : std::min(at, output.outages.next_change(ready));
}

inline void CellSwitch::arm(unsigned index, Time due) {
  Output& output = outputs_[index];
  if (due >= output.armed) return;
  output.armed = due;
  loop_.at<&CellSwitch::decide>(due, port_, *this, index);
}

void CellSwitch::arm(unsigned index) {
  const Output& output = outputs_[index];
  Time due = kNever;
  for (const Head& head : output.heads) due = std::min(due, start(output, head));
  arm(index, due);
}

void CellSwitch::decide(std::uint64_t argument) {
  const auto index = static_cast<unsigned>(argument);
  Output& output = outputs_[index];
  if (output.armed != loop_.now()) return;  // there was an earlier one
  output.armed = kNever;
  // In turn, from the queue after the one that was served last.
  Head* const first = output.heads.data();
  Head* const end = first + output.heads.size();
  Head* head = first;
  while (head != end && head->queue <= output.served) ++head;
  for (auto left = end - first; left > 0; --left, ++head) {
    if (head == end) head = first;
    if (start(output, *head) == loop_.now()) return serve(index, head);
  }
  arm(index);
}

void CellSwitch::serve(unsigned index, Head* head) {
  Output& output = outputs_[index];
  const Cell cell = head->cell;
  // Nobody has looked at these for long. The host fetches them while it goes on here.
  __builtin_prefetch(cell.payload);
  __builtin_prefetch(cell.train);
  __builtin_prefetch(cell.header);
  const unsigned from = head->queue;
  const Time now = loop_.now();
  const bool lost = output.outages.cover(now);
  if (!lost) output.behind[cell.channel].take(now);
  output.heads.erase(output.heads.begin() + (head - output.heads.data()));
  output.served = from;
  output.free = now + cell.service;
  Queue& queue = queues_[from];
  queue.free = output.free;
  queue.has_first = !queue.behind.empty();
  if (queue.has_first) {
    const unsigned other = queue.behind.front().output;
    const Time due = line_up(from, queue.behind.front());
    if (other != index) arm(other, due);
    queue.behind.pop_front();
  }
  arm(index);
  owner_.starts(from, cell, output.free, lost);
}

}  // namespace faultline::network
