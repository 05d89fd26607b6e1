// SPDX-License-Identifier: Apache-2.0
// Why the device's accesses faulted: found out when an MMU refuses an access, kept until the driver has told the
// process of it, and counted then. It only looks on: nothing in the model depends on it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>

#include "models/nic/path/fault_fifo.hpp"
#include "models/os/vm/fault_reason.hpp"
#include "models/os/vm/vm.hpp"
#include "models/sim/context.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::library {

class FaultBook {
 public:
  struct Fault {
    os::FaultReason reason{};
    bool again = false;  // at a page for which the same block, or access, had been tried again already
  };

  FaultBook(const sim::Context& context, const os::Vm& vm);
  FaultBook(const FaultBook&) = delete;
  FaultBook& operator=(const FaultBook&) = delete;

  // An MMU refuses an access of the process, which `step` tells of. `held_off`: because of another one.
  struct Refusal {
    std::uint32_t process;
    os::VirtualAddress address;
    bool write;
    bool held_off = false;
  };
  void access_refused(const Refusal& refusal, const Fault& fault, sim::Step step);
  // The engine has seen the error response.
  void block_stopped(const nic::FaultRecord& record);
  // What the driver has read: the record of a block, or the registers of a bank whose access is stalled.
  Fault of_block(const nic::FaultRecord& record);
  Fault of_access(std::uint32_t process, os::VirtualAddress page, bool write) const;
  // The process is told.
  void told_of_block(const Fault& fault, const sim::PartKey& key, os::VirtualAddress page, bool at_source);
  void told_of_access(const Fault& fault);
  // Throws std::logic_error unless each of the faults that processes were told of has one cause.
  void audit(std::uint64_t told) const;

 protected:
  const sim::Context& context_;
  const os::Vm& vm_;

 private:
  struct Block {
    std::uint32_t attempt = 0;                         // that was stopped last
    std::optional<Fault> fault;                        // of that one
    sim::SmallVector<os::VirtualAddress, 4> answered;  // pages for which it was to be tried again
  };
  using BlockId = std::tuple<std::uint64_t, std::uint32_t, bool>;        // transfer, block, at its source
  using AccessId = std::tuple<std::uint32_t, os::VirtualAddress, bool>;  // process, page, write
  Block& block(const sim::PartKey& key, bool at_source);

  sim::Map<AccessId, Fault> latest_;
  sim::Map<BlockId, Block> blocks_;
  sim::Deque<BlockId> known_;  // those of blocks_, by age
  std::array<sim::Counter*, os::kFaultCauses> causes_{};
  sim::Counter& injected_;
  sim::Counter& again_;
};

}  // namespace faultline::library
