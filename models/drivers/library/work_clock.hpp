// SPDX-License-Identifier: Apache-2.0
// For how long a thread has had something to deal with.
#pragma once

#include "models/sim/event_loop.hpp"
#include "models/sim/units.hpp"

namespace faultline::library {

class WorkClock {
 public:
  explicit WorkClock(const sim::EventLoop& loop) : loop_(loop) {}

  // Begins where it does not run already, and ends.
  void begin() {
    if (!runs()) since_ = loop_.now();
  }
  void end() {
    past_ = worked();
    since_ = sim::kNever;
  }
  bool runs() const { return since_ != sim::kNever; }
  // Until now.
  sim::Time worked() const { return runs() ? past_ + (loop_.now() - since_) : past_; }

 private:
  const sim::EventLoop& loop_;
  sim::Time past_{0};              // up to end()
  sim::Time since_ = sim::kNever;  // begin()
};

}  // namespace faultline::library
