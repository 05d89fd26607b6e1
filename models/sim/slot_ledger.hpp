// SPDX-License-Identifier: Apache-2.0
// The free slots of a neighbour's bounded buffer, now and as far as they are known.
//
// The n-th cell that is sent takes the n-th slot in the order in which slots come free, so only the number of cells
// that took one has to be kept, and cells that do not go after all give back the last ones.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>

#include "models/sim/time_sequence.hpp"

namespace faultline::sim {

class SlotLedger {
 public:
  explicit SlotLedger(std::uint32_t slots) : at_hand_(slots) {}

  // How many more cells can have a slot by then; how many can have one of which the instant is known.
  std::uint32_t by(Time t) const { return positive(at_hand_ + freed_.count_by(t)); }
  std::uint32_t known() const { return positive(at_hand_ + freed_.size()); }
  // The instant from which the next cell may have a slot: 0 if it is free, kNever while it is not known.
  Time next() const {
    if (at_hand_ > 0) return Time{0};
    return -at_hand_ < freed_.size() ? freed_.at(static_cast<std::uint32_t>(-at_hand_)) : kNever;
  }
  // The slot of the last cell that took one: 0 if it is free, kNever while it is not known.
  Time last_taken() const {
    if (at_hand_ >= 0) return Time{0};
    return -at_hand_ <= freed_.size() ? freed_.at(static_cast<std::uint32_t>(-at_hand_ - 1)) : kNever;
  }
  // The last slot of which the instant is kept; 0 if none is.
  Time last() const { return freed_.empty() ? Time{0} : freed_.back(); }
  // When the last `cells` that took a slot have it: of the first ones, as far as known, 0 for those that are free.
  TimeSequence taken(std::uint32_t cells) const {
    const std::int64_t first = -at_hand_ - cells;  // of freed_
    const auto free = static_cast<std::uint32_t>(std::clamp<std::int64_t>(-first, 0, cells));
    TimeSequence instants = TimeSequence::regular(Time{0}, Time{0}, free);
    const std::uint32_t begin = positive(first);
    if (begin < freed_.size()) instants.append(freed_.slice(begin, std::min(cells - free, freed_.size() - begin)));
    return instants;
  }

  void take(std::uint32_t cells) { at_hand_ -= cells; }
  // The last cells that took one do not go.
  void give_back(std::uint32_t cells) { at_hand_ += cells; }

  // Slots come free at these instants, none of which has passed; or they do not, after all.
  void free(const TimeSequence& instants, Time now) {
    const std::uint32_t passed = freed_.count_before(now);
    at_hand_ += passed;
    freed_.drop_front(passed);
    freed_ = merged(freed_, instants);
  }
  void hold(const TimeSequence& instants) { freed_ = without(freed_, instants); }

 private:
  static std::uint32_t positive(std::int64_t n) { return static_cast<std::uint32_t>(std::max<std::int64_t>(n, 0)); }

  std::int64_t at_hand_;  // free ones; negative: of freed_, that many are taken
  TimeSequence freed_;    // come free, or have come
};

}  // namespace faultline::sim
