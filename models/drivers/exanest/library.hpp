// SPDX-License-Identifier: Apache-2.0
// The user library of a process: beside what any NIC's library does, its fault thread talks to the firmware on the R5s.
#pragma once

#include "models/drivers/exanest/library_config.hpp"
#include "models/drivers/library/library.hpp"

namespace faultline::exanest {

class Library final : public library::Library {
 public:
  Library(const LibraryConfig& config, const sim::Context& context, cpu::Cpu& cpu, os::Vm& vm, os::Process& process,
          soc::DdrController& memory, std::uint64_t engine_base, unsigned channel)
      : library::Library(config, context, cpu, vm, process, memory, engine_base, channel), config_(config) {}

  // Asks the firmware of `node` to send a block again (RAPF; a local retry when it is the own node), or
  // to end a transfer with an error. `faulted`: the block counts as one that has faulted (exanest.refault_limit).
  sim::Task<void> request_retry(cpu::Execution& thread, sim::NodeId node, sim::PartKey key, bool faulted = true);
  sim::Task<void> request_abort(cpu::Execution& thread, sim::NodeId node, std::uint64_t transfer);

  const LibraryConfig& config() const { return config_; }

 private:
  const LibraryConfig config_;
};

}  // namespace faultline::exanest
