// SPDX-License-Identifier: Apache-2.0
// An SSD or flash card as the kernel's block layer sees it: so many commands at once, each takes its latency, and their
// data share the device's bandwidth. Whole pages; what it holds is its user's business.
#pragma once

#include <cstdint>

#include "models/os/os_config.hpp"
#include "models/sim/event_loop.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

class BlockDevice {
 public:
  struct Timing {
    sim::Time read_latency;
    sim::Time write_latency;
    sim::ByteRate bandwidth;
    unsigned queue_depth;  // commands that the device works on; more wait, first come first served
  };
  BlockDevice(sim::EventLoop& loop, const Timing& timing)
      : loop_(loop), timing_(timing), queue_(loop, timing.queue_depth) {}

  // End with the command's completion, the interrupt and its handling excluded.
  sim::Task<void> read(std::uint64_t bytes) { return transfer(timing_.read_latency, bytes); }
  sim::Task<void> write(std::uint64_t bytes) { return transfer(timing_.write_latency, bytes); }

 private:
  sim::Task<void> transfer(sim::Time latency, std::uint64_t bytes) {
    co_await queue_.acquire();
    co_await loop_.delay(latency);
    bus_free_ = std::max(bus_free_, loop_.now()) + timing_.bandwidth.time_for(bytes);
    co_await loop_.until(bus_free_);
    queue_.release();
  }

  sim::EventLoop& loop_;
  const Timing timing_;
  sim::Semaphore queue_;
  sim::Time bus_free_{0};
};

}  // namespace faultline::os
