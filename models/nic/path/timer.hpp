// SPDX-License-Identifier: Apache-2.0
// The engine's deadlines. All are one block timeout long, so they come in the order in which they were set and one
// pending event at the earliest that still matters is enough.
#pragma once

#include <cstdint>

#include "models/sim/context.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/trace.hpp"

namespace faultline::nic {

using sim::Time;

class TimerClient {
 public:
  virtual ~TimerClient() = default;
  // False when what the deadline was set for has happened.
  virtual bool deadline_matters(std::uint64_t what, const sim::PartKey& key) = 0;
  virtual void deadline_passed(std::uint64_t what, const sim::PartKey& key) = 0;
};

class Timer {
 public:
  Timer(Time timeout, const sim::Context& context)
      : timeout_(timeout), context_(context), port_(context.loop.new_port()) {}

  // One timeout from now. `what` and `key` are the client's.
  void start(TimerClient& client, std::uint64_t what, const sim::PartKey& key) {
    deadlines_.push_back({context_.now() + timeout_, &client, what, key});
    arm();
  }

 private:
  struct Deadline {
    Time at;
    TimerClient* client;
    std::uint64_t what;
    sim::PartKey key;
  };

  void arm() {
    if (armed_) return;
    while (!deadlines_.empty() &&
           !deadlines_.front().client->deadline_matters(deadlines_.front().what, deadlines_.front().key)) {
      deadlines_.pop_front();
    }
    if (deadlines_.empty()) return;
    armed_ = true;
    context_.loop.at<&Timer::expire>(deadlines_.front().at, port_, *this);
  }
  void expire() {
    while (!deadlines_.empty() && deadlines_.front().at <= context_.now()) {
      const Deadline passed = deadlines_.front();
      deadlines_.pop_front();
      if (passed.client->deadline_matters(passed.what, passed.key))
        passed.client->deadline_passed(passed.what, passed.key);
    }
    armed_ = false;
    arm();
  }

  Time timeout_;
  const sim::Context& context_;
  sim::Port port_;
  sim::Deque<Deadline> deadlines_;
  bool armed_ = false;
};

}  // namespace faultline::nic
