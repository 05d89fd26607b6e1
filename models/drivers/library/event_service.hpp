// SPDX-License-Identifier: Apache-2.0
// The kernel's half of waiting for a notice: a thread that sleeps in a call of the driver, and the handler of the
// engine's interrupt that wakes it.
#pragma once

#include <cstdint>
#include <map>

#include "models/cpu/cpu.hpp"
#include "models/drivers/library/config.hpp"
#include "models/sim/task.hpp"

namespace faultline::library {

class EventService {
 public:
  // `engine_base`: bus address of the privileged page of the NIC.
  EventService(const EventConfig& config, const sim::Context& context, cpu::Cpu& cpu, std::uint64_t engine_base);

  // The handler of the NIC's interrupt: one process for each time that the line is found high.
  sim::Task<void> handle();

  // System call of a process: arms its events (`channel_base`: its channel's registers; what and count: as kEventArm
  // and kEventCount), and sleeps until the engine says that it has come so far. Ends at once where it has, and on
  // wake(). One thread of a process at a time.
  sim::Task<void> sleep(cpu::Execution& thread, std::uint32_t pdid, std::uint64_t channel_base, std::uint64_t what,
                        std::uint64_t count);
  // Whoever sleeps for the process returns.
  void wake(std::uint32_t pdid);

 private:
  struct Sleeper {
    explicit Sleeper(sim::EventLoop& loop) : woken(loop) {}
    sim::Signal woken;
    bool is_due = false;
  };
  Sleeper& sleeper(std::uint32_t pdid) { return sleepers_.try_emplace(pdid, context_.loop).first->second; }

  const EventConfig config_;
  sim::Context context_;
  cpu::Cpu& cpu_;
  std::uint64_t engine_;
  std::map<std::uint32_t, Sleeper> sleepers_;
};

}  // namespace faultline::library
