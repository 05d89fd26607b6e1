// SPDX-License-Identifier: Apache-2.0
// What lets a program that reads its event counters again and again be simulated without its reads.
#pragma once

#include <cstdint>

#include "models/sim/task.hpp"

namespace faultline::nic {

class EventSource {
 public:
  virtual ~EventSource() = default;
  // Notifies the signal whenever an event counter of the process changes, until its channel is closed.
  virtual void watch_events(std::uint32_t pdid, sim::Signal& counted) = 0;
  // What a read gives now; 0: there is no such counter. And the greatest value that one can have.
  virtual std::uint64_t event_counter(std::uint32_t pdid, unsigned index) const = 0;
  virtual std::uint64_t event_counter_mask() const = 0;
};

}  // namespace faultline::nic
