// SPDX-License-Identifier: Apache-2.0
// Why the device's accesses faulted: found out when the SMMU refuses an access, kept until the driver has told the
// process of it, and counted then. It only looks on: nothing in the model depends on it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>

#include "models/nic/exanest/fault_fifo.hpp"
#include "models/os/vm/fault_reason.hpp"
#include "models/os/vm/vm.hpp"
#include "models/sim/context.hpp"
#include "models/sim/recycling.hpp"
#include "models/smmu/translation.hpp"

namespace faultline::exanest {

class FaultLog final : public smmu::FaultObserver {
 public:
  struct Fault {
    os::FaultReason reason{};
    bool again = false;  // at a page for which the same block, or access, had been tried again already
  };

  FaultLog(const sim::Context& context, const os::Vm& vm);
  FaultLog(const FaultLog&) = delete;
  FaultLog& operator=(const FaultLog&) = delete;

  // The SMMU refuses an access.
  void access_faulted(const smmu::FaultNotice& notice) override;
  // The engine has seen the error response.
  void block_stopped(const FaultRecord& record);
  // What the driver has read: the record of a block, or the registers of a bank whose access is stalled.
  Fault of_block(const FaultRecord& record);
  Fault of_access(std::uint32_t process, os::VirtualAddress page, bool write) const;
  // The process is told.
  void told_of_block(const Fault& fault, const sim::PartKey& key, os::VirtualAddress page, bool at_source);
  void told_of_access(const Fault& fault);
  // Throws std::logic_error unless each of the faults that processes were told of has one cause.
  void audit(std::uint64_t told) const;

 private:
  struct Block {
    std::uint32_t attempt = 0;                         // that was stopped last
    std::optional<Fault> fault;                        // of that one
    sim::SmallVector<os::VirtualAddress, 4> answered;  // pages for which it was to be tried again
  };
  using BlockId = std::tuple<std::uint64_t, std::uint32_t, bool>;        // transfer, block, at its source
  using AccessId = std::tuple<std::uint32_t, os::VirtualAddress, bool>;  // process, page, write
  Block& block(const sim::PartKey& key, bool at_source);

  const sim::Context& context_;
  const os::Vm& vm_;
  sim::Map<AccessId, Fault> latest_;
  sim::Map<BlockId, Block> blocks_;
  sim::Deque<BlockId> known_;  // those of blocks_, by age
  std::array<sim::Counter*, os::kFaultCauses> causes_{};
  sim::Counter& injected_;
  sim::Counter& again_;
};

}  // namespace faultline::exanest
