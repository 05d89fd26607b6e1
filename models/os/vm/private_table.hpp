// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "models/os/error.hpp"
#include "models/os/vm/device_table.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

// A device table of a process that is filled once and kept (what verbs registration and VFIO build): of pinned frames,
// or of frames that somebody hopes will stay. Always 4 KiB descriptors. Filled and emptied by os::Vm.
class PrivateTable : public DeviceTable {
 public:
  using DeviceTable::DeviceTable;

  // By the numbers of pins. False: it is mapped already, or is not.
  bool add_pin(std::uint64_t pin) { return pins_.insert(pin).second; }
  bool remove_pin(std::uint64_t pin) { return pins_.erase(pin) > 0; }
  bool has_pin(std::uint64_t pin) const { return pins_.contains(pin); }

  // One more user of the page. again: another frame is there; no_memory. `upgraded`: where TLBs may hold that the page
  // must not be written.
  Error map(VirtualAddress va, Address frame, bool write, sim::Vector<VirtualAddress>& upgraded);
  // The same for good, without a pin: from here on the table leads to the frame, whoever has it.
  Error map_unpinned(VirtualAddress va, Address frame, bool write);
  // What walkers may still know of.
  struct Unmapped {
    sim::Vector<VirtualAddress> leaves;  // where a descriptor was cleared: other users may need those that remain
    sim::Vector<Address> tables;
  };
  Unmapped unmap(VirtualAddress begin, std::size_t pages);
  // That no walker knows of any more.
  void free_tables(const sim::Vector<Address>& tables) { table_->free_tables(tables); }

  bool hopes_for(Address frame) const override { return unpinned_.contains(frame); }
  void explain(VirtualAddress va, bool write, FaultReason& reason) const override;

 private:
  sim::Set<std::uint64_t> pins_;  // mapped here
  // Overlapping pins share a descriptor: how many pins each mapped page serves.
  sim::HashMap<VirtualAddress, unsigned> users_;
  sim::Set<Address> unpinned_;
};

}  // namespace faultline::os
