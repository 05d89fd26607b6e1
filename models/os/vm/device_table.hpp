// SPDX-License-Identifier: Apache-2.0
// A table of a process that only devices walk.
#pragma once

#include <memory>
#include <utility>

#include "models/os/vm/fault_reason.hpp"
#include "models/os/vm/page_table.hpp"

namespace faultline::os {

class Process;

// Belongs to its process, and goes with it.
class DeviceTable {
 public:
  DeviceTable(Process& process, std::unique_ptr<PageTable> table) : process_(process), table_(std::move(table)) {}
  virtual ~DeviceTable() = default;
  DeviceTable(const DeviceTable&) = delete;
  DeviceTable& operator=(const DeviceTable&) = delete;

  Process& process() const { return process_; }
  const PageTable& table() const { return *table_; }
  Address root() const { return table_->root(); }

  // Whether it leads to the frame without a pin, and does not follow the process's table either.
  virtual bool hopes_for(Address /*frame*/) const { return false; }
  // Why an access by this table would fail now: the cause in `reason`, and who took what it needs. `reason` has what
  // the process knows of the page.
  virtual void explain(VirtualAddress va, bool write, FaultReason& reason) const = 0;

 protected:
  Process& process_;
  std::unique_ptr<PageTable> table_;
};

}  // namespace faultline::os
