// SPDX-License-Identifier: Apache-2.0
// What is to be done at which instant, and can be struck off until then: an event of the loop cannot.
#pragma once

#include <cstdint>
#include <tuple>

#include "models/sim/event_loop.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/wakeup.hpp"

namespace faultline::adapters {

// When something is due; of one instant the lower rank goes first, then the lower number. Nothing else has the same.
struct Due {
  sim::Time when = sim::kNever;
  std::uint32_t rank = 0;
  std::uint64_t number = 0;

  bool operator<(const Due& other) const {
    return std::tie(when, rank, number) < std::tie(other.when, other.rank, other.number);
  }
};

// Calls (owner.*Method)() at the instants of its items, behind all other hardware's events, which may still take back
// what is to happen now. The method takes items with next() until there are no more.
template <typename Item, typename Owner, auto Method>
class Agenda {
 public:
  Agenda(sim::EventLoop& loop, Owner& owner) : loop_(loop), wakeup_(loop, owner, loop.new_arrival_port()) {}

  // At once, if its instant has passed.
  void add(const Due& due, Item& item) {
    items_.emplace(due, &item);
    wakeup_.at(due.when);
  }
  void strike(const Due& due) { items_.erase(due); }
  void clear() { items_.clear(); }

  // The first item that is due; nullptr if none is.
  Item* next() {
    if (items_.empty()) return nullptr;
    const auto first = items_.begin();
    if (first->first.when > loop_.now()) {
      wakeup_.at(first->first.when);
      return nullptr;
    }
    Item* item = first->second;
    items_.erase(first);
    return item;
  }

 private:
  sim::EventLoop& loop_;
  sim::Wakeup<Owner, Method> wakeup_;
  sim::Map<Due, Item*> items_;
};

}  // namespace faultline::adapters
