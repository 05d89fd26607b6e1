// SPDX-License-Identifier: Apache-2.0
// The free slots of a neighbour's bounded buffer, as far as they are known: how a train is cut by
// back-pressure without an event for each cell.
#pragma once

#include <algorithm>
#include <cassert>
#include <utility>

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

  // What take(count) would return.
  TimeSequence peek(std::uint32_t count) const { return known_.prefix(count); }
  // The instants from which the next `count` cells may use a slot each. Requires count <= known().
  TimeSequence take(std::uint32_t count) {
    assert(count <= known_.size());
    TimeSequence taken = known_.prefix(count);
    known_.drop_front(count);
    return taken;
  }

  // Slots that become free at these instants. Slots come free in the order in which they were taken,
  // so instants that precede the last known one are held up to it (a FIFO buffer's rule).
  void give(const TimeSequence& freed) {
    if (freed.empty()) return;
    known_.append(known_.empty() ? freed : not_before(freed, known_.back()));
    assert(known_.size() <= capacity_);
  }

  // Takes back what take() gave last and nobody used: as if it had never been taken, whatever came free meanwhile.
  void give_back(const TimeSequence& unused) {
    if (unused.empty()) return;
    const TimeSequence later = std::exchange(known_, unused);
    give(later);
  }

 private:
  std::uint32_t capacity_;
  TimeSequence known_;
};

}  // namespace faultline::sim
