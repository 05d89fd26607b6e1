// SPDX-License-Identifier: Apache-2.0
// The kernel's SMMU driver: sets up streams and context banks, reads and clears fault records in the
// interrupt handler, resumes stalled transactions, invalidates translations. It reaches the SMMU by
// MMIO only (and by broadcast TLBI where that is switched on).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/cpu/cpu.hpp"
#include "models/os/kernel_config.hpp"
#include "models/os/vm.hpp"
#include "models/sim/context.hpp"
#include "models/smmu/dvm.hpp"

namespace faultline::os {

// What a context bank said about its first fault.
struct BankFault {
  unsigned bank;
  std::uint32_t pdid;
  std::uint64_t address;
  bool write;
  bool stalled;
};

class SmmuDriver : public TlbInvalidator {
 public:
  // `base`: bus address of the SMMU's registers. `dvm` may be null when it is not wired.
  SmmuDriver(const KernelConfig& config, const sim::Context& context, cpu::Cpu& cpu, std::uint64_t base,
             unsigned context_banks, VaBits va_bits, smmu::DvmSink* dvm);

  // Boot: enables translation for client traffic; unmatched streams fault. Takes no simulated time.
  void probe();
  // Gives the process a context bank and its stream (HPC0, AXI ID = PDID) an entry in the stream table;
  // `table_root` is the physical address of the table that the SMMU walks. Set-up, no simulated time.
  // Error::again when all banks or stream ids are taken.
  Error attach(const Process& process, std::uint64_t table_root, bool stall_on_fault);

  // The context-fault handler: scans the banks of attached processes, reads and clears the records.
  sim::Task<std::vector<BankFault>> handle_interrupt(cpu::Execution& irq);
  // Lets the bank's stalled transactions go: retried, or terminated with an error.
  sim::Task<void> resume(cpu::Execution& thread, unsigned bank, bool retry);

  sim::Task<void> invalidate(cpu::Execution& thread, Process& process, VirtualAddress address,
                             std::uint64_t length) override;
  void drop(Process& process, VirtualAddress address, std::uint64_t length) override;

 private:
  void set_up_register(std::uint64_t offset, std::uint64_t value, unsigned bytes);
  std::optional<unsigned> bank_of(std::uint32_t pdid) const;

  const KernelConfig config_;
  sim::Context context_;
  cpu::Cpu& cpu_;
  std::uint64_t base_;
  unsigned context_banks_;
  VaBits va_bits_;
  smmu::DvmSink* dvm_;
  std::vector<std::uint32_t> banks_;  // PDID (and ASID) of the process that owns each bank
  sim::Counter& interrupts_;
  sim::Counter& lost_records_;
};

}  // namespace faultline::os
