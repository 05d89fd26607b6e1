// SPDX-License-Identifier: Apache-2.0
// The free slots of a neighbour's bounded buffer, now and as far as they are known.
//
// The n-th cell that is sent takes the n-th slot in the order in which slots come free, so only the number of cells
// that took one has to be kept, and cells that do not go after all give back the last ones.
//
// Instants of several trains come one train after the other, and are put in order only when somebody asks for the n-th:
// whoever has slots at hand asks how many there are, which needs no order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "models/sim/recycling.hpp"
#include "models/sim/time_sequence.hpp"

namespace faultline::sim {

class SlotLedger {
 public:
  explicit SlotLedger(std::uint32_t slots) : at_hand_(slots) {}

  // How many more cells can have a slot by then, and whether any; how many can have one of which the instant is known.
  std::uint32_t by(Time t) const {
    std::int64_t slots = at_hand_;
    for (const TimeSequence& part : freed_) slots += part.count_by(t);
    return positive(slots);
  }
  bool any_by(Time t) const {
    std::int64_t slots = at_hand_;
    for (auto part = freed_.begin(); slots <= 0 && part != freed_.end(); ++part) slots += part->count_by(t);
    return slots > 0;
  }
  std::uint32_t known() const {
    std::int64_t slots = at_hand_;
    for (const TimeSequence& part : freed_) slots += part.size();
    return positive(slots);
  }
  // The instant from which the next cell may have a slot: 0 if it is free, kNever while it is not known.
  Time next() const { return at_hand_ > 0 ? Time{0} : number(-at_hand_); }
  // The slot of the last cell that took one: 0 if it is free, kNever while it is not known.
  Time last_taken() const { return at_hand_ >= 0 ? Time{0} : number(-at_hand_ - 1); }
  // The last slot of which the instant is kept; 0 if none is.
  Time last() const {
    Time last{0};
    for (const TimeSequence& part : freed_) last = std::max(last, part.back());
    return last;
  }
  // When the last `cells` that took a slot have it: of the first ones, as far as known, 0 for those that are free.
  TimeSequence taken(std::uint32_t cells) const {
    const std::int64_t first = -at_hand_ - cells;
    const auto free = static_cast<std::uint32_t>(std::clamp<std::int64_t>(-first, 0, cells));
    TimeSequence instants = TimeSequence::regular(Time{0}, Time{0}, free);
    const std::uint32_t begin = positive(first);
    const TimeSequence& freed = in_order();
    if (begin < freed.size()) instants.append(freed.slice(begin, std::min(cells - free, freed.size() - begin)));
    return instants;
  }

  void take(std::uint32_t cells) { at_hand_ -= cells; }
  // The last cells that took one do not go.
  void give_back(std::uint32_t cells) { at_hand_ += cells; }

  // Slots come free at these instants, none of which has passed; or they do not, after all.
  void free(const TimeSequence& instants, Time now) {
    bool is_over = false;
    for (TimeSequence& part : freed_) {
      const std::uint32_t passed = part.count_before(now);
      at_hand_ += passed;
      if (passed > 0) part.drop_front(passed);
      is_over |= part.empty();
    }
    if (is_over) {
      freed_.erase(std::remove_if(freed_.begin(), freed_.end(), [](const TimeSequence& part) { return part.empty(); }),
                   freed_.end());
    }
    if (!freed_.empty() && freed_.back().back() <= instants.front()) {
      freed_.back().append(instants);
    } else {
      freed_.push_back(instants);
    }
  }
  void hold(const TimeSequence& instants) {
    const auto has_all = [&](const TimeSequence& part) {
      const std::uint32_t before = part.count_before(instants.front());
      return part.size() >= before + instants.size() && part.slice(before, instants.size()) == instants;
    };
    auto part = std::find_if(freed_.begin(), freed_.end(), has_all);
    if (part == freed_.end()) {
      if (freed_.empty()) throw std::logic_error("taking back a slot that was never given");
      in_order();
      part = freed_.begin();
    }
    *part = without(*part, instants);
    if (part->empty()) freed_.erase(part);
  }

 private:
  static std::uint32_t positive(std::int64_t n) { return static_cast<std::uint32_t>(std::max<std::int64_t>(n, 0)); }
  Time number(std::int64_t n) const {
    if (freed_.empty()) return kNever;
    const TimeSequence& freed = in_order();
    return n < freed.size() ? freed.at(static_cast<std::uint32_t>(n)) : kNever;
  }
  const TimeSequence& in_order() const {
    static const TimeSequence kNone;
    if (freed_.empty()) return kNone;
    while (freed_.size() > 1) {
      freed_[freed_.size() - 2] = merged(freed_[freed_.size() - 2], freed_.back());
      freed_.pop_back();
    }
    return freed_.front();
  }

  std::int64_t at_hand_;                        // free ones; negative: of freed_, that many are taken
  mutable SmallVector<TimeSequence, 1> freed_;  // come free, or have come; each in order
};

}  // namespace faultline::sim
