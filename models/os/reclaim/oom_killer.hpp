// SPDX-License-Identifier: Apache-2.0
// What the kernel does when nothing can be reclaimed any more: it ends the process that has most memory, and takes its
// memory away at once (mm/oom_kill.c).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "models/cpu/cpu.hpp"
#include "models/os/vm/memory_group.hpp"
#include "models/os/vm/process.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

class Swap;
class VmCore;

// As the kernel's log has it.
struct OomKill {
  std::string process;
  std::uint16_t id = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t swapped_bytes = 0;
  bool by_limit = false;  // of its group; else the node was out of memory
  sim::Time at{0};
};

class OomKiller {
 public:
  OomKiller(VmCore& core, const Swap& swap);

  // On behalf of a process that asks for memory. `group`: whose limit is reached; nullptr: the node's memory is. Ends
  // when the victim's memory is free, at once where that is the process itself. False: there is nobody to end.
  sim::Task<bool> kill(cpu::Execution& exec, const Process& asking, const MemoryGroup* group);

  // Called when a process is chosen; before its memory goes.
  std::function<void(const Process& process, const OomKill& kill)> on_kill = [](const Process&, const OomKill&) {};

 private:
  Process* victim(const MemoryGroup* group) const;
  std::int64_t badness(const Process& process, const MemoryGroup* group) const;
  sim::Task<void> reap(Process& process);

  VmCore& core_;
  const Swap& swap_;
  cpu::Execution* reaper_ = nullptr;
  sim::Semaphore turn_;  // of the reaper, who takes one process after the other
  sim::Signal reaped_;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::os
