// SPDX-License-Identifier: Apache-2.0
// One pending wake-up of a part at the earliest instant it asked for.
#pragma once

#include <algorithm>

#include "models/sim/event_loop.hpp"

namespace faultline::sim {

template <typename T, auto Method>
class Wakeup {
 public:
  Wakeup(EventLoop& loop, T& object) : Wakeup(loop, object, loop.new_port()) {}
  Wakeup(EventLoop& loop, T& object, Port port) : loop_(loop), port_(port), object_(object) {}
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  // Not before now; an earlier pending wake-up stands for this one too (the part asks again).
  void at(Time when) {
    when = std::max(when, loop_.now());
    if (when >= armed_) return;
    armed_ = when;
    loop_.at<&Wakeup::fire>(when, port_, *this);
  }
  void now() { at(loop_.now()); }

 private:
  void fire() {
    if (armed_ != loop_.now()) return;  // was replaced by an earlier one
    armed_ = kNever;
    (object_.*Method)();
  }

  EventLoop& loop_;
  Port port_;
  T& object_;
  Time armed_ = kNever;
};

}  // namespace faultline::sim
