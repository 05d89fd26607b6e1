// SPDX-License-Identifier: Apache-2.0
// Everybody who caches translations and must forget them when a table changes: the CPUs, and devices through their
// drivers.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cpu/cpu.hpp"
#include "models/os/os_config.hpp"
#include "models/os/page_table.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/statistics.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

class Process;

// The TLB maintenance that a change of a table asks for, the same on the CPUs and on the SMMU.
struct TlbFlush {
  Address table = 0;                   // root of the table that has changed
  sim::Vector<VirtualAddress> leaves;  // one address of each page or block whose descriptor was changed
  bool whole = false;                  // one operation for the process's ASID instead of one a leaf
  std::uint64_t operations() const { return whole ? 1 : leaves.size(); }
};

// Whoever else caches translations of a process (the SMMU's driver).
class TlbInvalidator {
 public:
  virtual ~TlbInvalidator() = default;
  // Its TLBs obey what the CPUs broadcast, so that tables need broadcasts even when no CPU walks them.
  virtual bool hears_broadcasts() const = 0;
  // Called when the CPU that does the flush has come to the last of its operations (or at once, when the CPUs' TLBs
  // are not concerned). The task is awaited once those are over, and ends when no cached translation of a leaf, nor
  // of the tables above it, can be used nor is in use: frames are freed only then. `flush` lives until then.
  virtual sim::Task<void> invalidate(cpu::Execution& exec, const Process& process, const TlbFlush& flush) = 0;
  // The same, leaf by leaf and in no time (Vm::discard).
  virtual void drop(const Process& process, const sim::Vector<VirtualAddress>& leaves) = 0;
};

class Tlbs {
 public:
  Tlbs(const OsConfig& config, cpu::Cpu& cpu, sim::Counter& invalidations)
      : config_(config), cpu_(cpu), invalidations_(invalidations) {}

  void add(TlbInvalidator& invalidator) { invalidators_.push_back(&invalidator); }

  // Ends when nobody uses the leaves any more. `cpus_walk`: not only devices walk the table with this root.
  sim::Task<void> invalidate(cpu::Execution& exec, const Process& process, Address table,
                             sim::Vector<VirtualAddress> leaves, bool cpus_walk);
  // Takes no time.
  void drop(const Process& process, const sim::Vector<VirtualAddress>& leaves);

 private:
  const OsConfig& config_;
  cpu::Cpu& cpu_;
  sim::Counter& invalidations_;
  std::vector<TlbInvalidator*> invalidators_;
};

}  // namespace faultline::os
