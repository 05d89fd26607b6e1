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

  // Slots whose instant is known, now free or later.
  std::uint32_t known() const { return known_.size(); }
  // The instant from which the next cell may use a slot; kNever while none is known.
  Time next() const { return known_.empty() ? kNever : known_.front(); }

  // The instants from which the next `count` cells may use a slot each, the earliest first. Requires count <= known().
  TimeSequence take(std::uint32_t count) {
    assert(count <= known_.size());
    TimeSequence taken = known_.prefix(count);
    known_.drop_front(count);
    return taken;
  }

  // Slots that become free at these instants, which are announced in any order.
  void give(const TimeSequence& freed) {
    give_back(freed);
    assert(known_.size() <= capacity_ + owed_.size());
  }
  // Takes back what take() gave and nobody used: as if it had never been taken. What its use has given is to be
  // withdrawn then.
  void give_back(const TimeSequence& freed) {
    if (owed_.empty()) {
      known_ = merged(known_, freed);
    } else {
      for (std::uint32_t i = 0; i < freed.size(); ++i) settle(freed.at(i));
    }
  }
  // Slots do not become free at these instants, which give() announced. Those that were taken are owed until they are
  // given back.
  void withdraw(const TimeSequence& freed);
  // The earliest instant of a slot that was taken and does not come free then; kNever: there is none.
  Time owed() const { return owed_.empty() ? kNever : owed_.front(); }

 private:
  void settle(Time freed);

  std::uint32_t capacity_;
  TimeSequence known_;
  TimeSequence owed_;
};

inline void CreditPool::settle(Time freed) {
  const TimeSequence one = TimeSequence::single(freed);
  if (owed_.contains(freed)) {
    owed_ = without(owed_, one);
  } else {
    known_ = merged(known_, one);
  }
}

inline void CreditPool::withdraw(const TimeSequence& freed) {
  for (std::uint32_t i = 0; i < freed.size(); ++i) {
    const TimeSequence one = TimeSequence::single(freed.at(i));
    if (known_.contains(freed.at(i))) {
      known_ = without(known_, one);
    } else {
      owed_ = merged(owed_, one);
    }
  }
}

}  // namespace faultline::sim
