// SPDX-License-Identifier: Apache-2.0
// Records that are announced before they fall due: each is handed to its owner at its instant, by an event of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/sim/event_loop.hpp"

namespace faultline::nic {

using sim::Time;

template <typename Record, typename Owner, auto Method>
class Deferred {
 public:
  Deferred(sim::EventLoop& loop, Owner& owner) : loop_(loop), port_(loop.new_port()), owner_(owner) {}
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  // (owner.*Method)(record) at `when`, or now if that has passed. In any order; at one instant the first comes first.
  void at(Time when, Record record) {
    std::uint64_t slot = records_.size();
    if (idle_.empty()) {
      records_.push_back(std::move(record));
    } else {
      slot = idle_.back();
      idle_.pop_back();
      records_[slot] = std::move(record);
    }
    loop_.at<&Deferred::fall_due>(std::max(when, loop_.now()), port_, *this, slot);
  }

 private:
  void fall_due(std::uint64_t slot) {
    const Record record = std::move(records_[slot]);
    idle_.push_back(slot);
    (owner_.*Method)(record);
  }

  sim::EventLoop& loop_;
  sim::Port port_;
  Owner& owner_;
  std::vector<Record> records_;
  std::vector<std::uint64_t> idle_;  // slots of records_
};

}  // namespace faultline::nic
