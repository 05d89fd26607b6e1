// SPDX-License-Identifier: Apache-2.0
// The free slots of a neighbour's bounded buffer, as far as they are known: how a train is cut by
// back-pressure without an event for each cell.
#pragma once

#include <algorithm>
#include <cassert>

#include "models/sim/time_sequence.hpp"

namespace faultline::sim {

class CreditPool {
 public:
  // All `slots` are free from the start.
  explicit CreditPool(std::uint32_t slots) : capacity_(slots) {
    if (slots > 0) known_ = TimeSequence::regular(Time{0}, Time{0}, slots);
  }

  std::uint32_t capacity() const { return capacity_; }
  // Slots whose instant is known, now free or later.
  std::uint32_t known() const { return known_.size(); }
  // The instant from which the next cell may use a slot; kNever while none is known.
  Time next() const { return known_.empty() ? kNever : known_.front(); }

  // What take(count) would return.
  TimeSequence peek(std::uint32_t count) const { return known_.prefix(count); }
  // The instants from which the next `count` cells may use a slot each, the earliest first. Requires count <= known().
  TimeSequence take(std::uint32_t count) {
    assert(count <= known_.size());
    TimeSequence taken = known_.prefix(count);
    known_.drop_front(count);
    return taken;
  }

  // Slots that become free at these instants, which are announced in any order.
  void give(const TimeSequence& freed) {
    known_ = merged(known_, freed);
    assert(known_.size() <= capacity_);
  }
  // Takes back what take() gave and nobody used: as if it had never been taken.
  void give_back(const TimeSequence& unused) { give(unused); }
  // Whether there is a slot for each of these instants.
  bool has(const TimeSequence& instants) const;
  // Slots do not become free at these instants, which give() announced. Requires has(freed).
  void withdraw(const TimeSequence& freed) { known_ = without(known_, freed); }

 private:
  std::uint32_t capacity_;
  TimeSequence known_;
};

inline bool CreditPool::has(const TimeSequence& instants) const {
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < known_.size() && found < instants.size(); ++i) {
    if (known_.at(i) == instants.at(found)) ++found;
  }
  return found == instants.size();
}

}  // namespace faultline::sim
