// SPDX-License-Identifier: Apache-2.0
// Events by (time, port, sequence). The few that come first stand in order before a heap of the others: what an event
// schedules is mostly what runs next, and does not go through the heap.
#pragma once

#include <algorithm>
#include <array>
#include <boost/heap/d_ary_heap.hpp>
#include <cstddef>
#include <cstdint>

#include "models/sim/time.hpp"

namespace faultline::sim {

// Decides ties: of the events of one instant the one with the lowest port goes first, and within a
// port the one scheduled first. A part asks for its ports while it is constructed.
using Port = std::uint32_t;

struct Event {
  Time when;
  Port port;
  std::uint64_t sequence;  // each number once: no two events are equal
  void (*callback)(void* object, std::uint64_t argument);
  void* object;
  std::uint64_t argument;
};

class EventQueue {
 public:
  std::size_t size() const { return first_count_ + others_.size(); }
  // The event that runs first. Requires size() > 0, as does pop().
  const Event& top() const { return first_count_ > 0 ? first_[first_count_ - 1] : others_.top(); }

  void push(const Event& event) {
    const bool is_full = first_count_ == kMostFirst;
    const bool may_be_later = is_full || !others_.empty();
    if (may_be_later && runs_later(event, first_count_ > 0 ? first_[0] : others_.top())) {
      others_.push(event);
      return;
    }
    if (is_full) {
      others_.push(first_[0]);
      std::move(first_.begin() + 1, first_.end(), first_.begin());
      --first_count_;
    }
    std::size_t place = first_count_++;
    for (; place > 0 && runs_later(event, first_[place - 1]); --place) first_[place] = first_[place - 1];
    first_[place] = event;
  }

  void pop() {
    if (first_count_ > 0) {
      --first_count_;
    } else {
      others_.pop();
    }
  }

 private:
  static bool runs_later(const Event& a, const Event& b) {
    if (a.when != b.when) return a.when > b.when;
    if (a.port != b.port) return a.port > b.port;
    return a.sequence > b.sequence;
  }
  // The heap's top is its greatest element.
  struct RunsLater {
    bool operator()(const Event& a, const Event& b) const { return runs_later(a, b); }
  };

  static constexpr std::size_t kMostFirst = 8;
  std::array<Event, kMostFirst> first_;  // the last of first_count_ runs first; none of others_ runs before them
  std::size_t first_count_ = 0;
  // Four children a parent: fewer cache lines a pop than a binary heap.
  boost::heap::d_ary_heap<Event, boost::heap::arity<4>, boost::heap::compare<RunsLater>> others_;
};

}  // namespace faultline::sim
