// SPDX-License-Identifier: Apache-2.0
// The free slots of a neighbour's bounded buffer, now and as far as they are known.
//
// The n-th cell that is sent takes the n-th slot in the order in which slots come free, so only their number has to be
// kept of those that are free, and cells that do not go after all give back the last ones.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "models/sim/time_sequence.hpp"

namespace faultline::sim {

class SlotLedger {
 public:
  explicit SlotLedger(std::uint32_t slots) : at_hand_(slots) {}

  // How many more cells can have a slot by then.
  std::uint32_t by(Time t) const {
    const auto more = std::upper_bound(freed_.begin(), freed_.end(), t) - freed_.begin();
    return static_cast<std::uint32_t>(std::max<std::int64_t>(at_hand_ + more, 0));
  }
  // The instant from which the next cell may have a slot: 0 if it is free, kNever while it is not known.
  Time next() const {
    if (at_hand_ > 0) return Time{0};
    const auto taken = static_cast<std::size_t>(-at_hand_);
    return taken < freed_.size() ? freed_[taken] : kNever;
  }
  void take(std::uint32_t cells) { at_hand_ -= cells; }
  // The last cells that took one do not go.
  void give_back(std::uint32_t cells) { at_hand_ += cells; }

  // Slots come free at these instants, none of which has passed; or they do not, after all.
  void free(const TimeSequence& instants, Time now) {
    const auto passed = std::lower_bound(freed_.begin(), freed_.end(), now);
    at_hand_ += passed - freed_.begin();
    freed_.erase(freed_.begin(), passed);
    for (std::uint32_t i = 0; i < instants.size(); ++i) {
      const Time at = instants.at(i);
      freed_.insert(std::upper_bound(freed_.begin(), freed_.end(), at), at);
    }
  }
  void hold(const TimeSequence& instants) {
    for (std::uint32_t i = 0; i < instants.size(); ++i) {
      const auto at = std::lower_bound(freed_.begin(), freed_.end(), instants.at(i));
      assert(at != freed_.end() && *at == instants.at(i));
      freed_.erase(at);
    }
  }

 private:
  std::int64_t at_hand_;     // free ones; negative: of freed_, that many are taken
  std::vector<Time> freed_;  // in order
};

}  // namespace faultline::sim
