// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/os/error.hpp"
#include "models/os/vm/device_table.hpp"
#include "models/os/vm/mmu_notifier.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

class Vm;
class VmCore;

// A device table that follows the process's own (what HMM and on-demand paging do): filled when the device faults,
// emptied by the MMU notifiers before the process's table changes. Pins nothing.
class MirroredTable : public DeviceTable, public MmuNotifier {
 public:
  MirroredTable(Vm& vm, VmCore& core, Process& process, std::unique_ptr<PageTable> table)
      : DeviceTable(process, std::move(table)), vm_(vm), core_(core) {}

  // hmm_range_fault: makes the pages present in the process, then here, and begins anew when the process's table
  // changes between. The value is the number of pages present from the range's begin on.
  sim::Task<Result<std::uint64_t>> fill(cpu::Execution& exec, Range range, bool write);

  sim::Task<bool> begin(cpu::Execution& exec, TableChange change) override;
  void end(Range /*range*/) override {}  // the device's next fault fills it again
  void drop(Range range, Taking by) override;
  void explain(VirtualAddress va, bool write, FaultReason& reason) const override;

 private:
  // What the driver fills at present (Linux's mmu_interval_notifier and its sequence count).
  struct Filling {
    Range range;
    bool overtaken = false;  // by a change that has begun since
  };
  void overtake(Range range);
  sim::Vector<VirtualAddress> empty(Range range, Taking by);
  Range whole_pages(Range range) const;
  std::int64_t descriptors(Range range) const;
  bool map(Range range, bool write, sim::Vector<VirtualAddress>& upgraded);
  void mapped(VirtualAddress begin, PageSize size);
  Taking taken_from(VirtualAddress va) const;
  // A block is told from its first page.
  static VirtualAddress key_of(VirtualAddress begin, PageSize size) { return begin + (size == PageSize::huge ? 1 : 0); }

  Vm& vm_;
  VmCore& core_;
  sim::Map<VirtualAddress, PageSize> mapped_;
  sim::Map<VirtualAddress, Taking> taken_;  // why descriptors have gone, until others come to their places
  sim::Vector<Filling*> fillings_;
};

}  // namespace faultline::os
