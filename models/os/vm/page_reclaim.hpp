// SPDX-License-Identifier: Apache-2.0
// What VmCore asks of page replacement when somebody needs frames. Virtual, because Reclaim (reclaim/reclaim.hpp),
// which implements it, is itself made of VmCore.
#pragma once

#include <cstdint>

#include "models/cpu/cpu.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

class Process;

class PageReclaim {
 public:
  virtual ~PageReclaim() = default;

  // To be awaited before frames are taken for a process: wakes kswapd below the low watermark; below the lowest, or at
  // the limit of the process's group, the caller reclaims by itself, and waits; where that is in vain a process is
  // killed. True: the frames are free until the caller waits again. False: out of memory, or the process was killed.
  virtual sim::Task<bool> make_room(cpu::Execution& exec, const Process& process, std::uint64_t pages) = 0;
  // The same for tables, which no group is charged for.
  virtual sim::Task<bool> make_room_for_tables(cpu::Execution& exec, const Process& process, std::uint64_t pages) = 0;
  // Without reclaiming (huge pages on a fault: Linux's GFP_TRANSHUGE_LIGHT).
  virtual bool has_room(const Process& process, std::uint64_t pages) const = 0;
  virtual bool has_room(std::uint64_t pages) const = 0;  // in the node alone

  // From now on there is something to take back.
  virtual void begin() = 0;
  // Pages have become clean, the flusher has nothing left, or a killed process's memory is free.
  virtual void progressed() = 0;
};

}  // namespace faultline::os
