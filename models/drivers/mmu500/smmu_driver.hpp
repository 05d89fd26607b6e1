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
#include "models/drivers/mmu500/config.hpp"
#include "models/os/vm/vm.hpp"
#include "models/sim/context.hpp"
#include "models/sim/recycling.hpp"
#include "models/smmu/dvm.hpp"

namespace faultline::mmu500 {

// What a context bank said about its first fault.
struct BankFault {
  unsigned bank;
  std::uint32_t pdid;
  std::uint64_t address;
  bool write;
  bool stalled;
};

class SmmuDriver : public os::TlbInvalidator {
 public:
  // `base`: bus address of the SMMU's registers. `dvm` may be null when it is not wired. `stall_holds_interrupt` as in
  // SmmuConfig: such an SMMU's banks are kept from interrupting while they stall.
  SmmuDriver(const DriverConfig& config, const sim::Context& context, cpu::Cpu& cpu, std::uint64_t base,
             unsigned context_banks, os::VaBits va_bits, smmu::DvmSink* dvm, bool stall_holds_interrupt);

  // Boot: enables translation for client traffic; unmatched streams fault. Takes no simulated time.
  void probe();
  // Gives the process a context bank, and the stream of its device's accesses an entry in the stream table;
  // `table_root` is the physical address of the table that the SMMU walks. Set-up, no simulated time.
  // Error::again when all banks are taken.
  os::Error attach(const os::Process& process, std::uint32_t stream, std::uint64_t table_root, bool stall_on_fault);
  // The process is about to end: its accesses get error responses from now on, those that are stalled too, and when
  // this is over no TLB and no access under way knows its pages.
  sim::Task<void> detach(cpu::Execution& exec, const os::Process& process);

  // The context-fault handler: scans the banks of attached processes, reads and clears the records.
  sim::Task<sim::Vector<BankFault>> handle_interrupt(cpu::Execution& irq);
  // HUPCF = 0: further accesses of a process that has faulted are terminated, too, until its record is cleared.
  bool holds_off() const { return !config_.hupcf; }
  // Lets all stalled transactions of the bank go: retried, or terminated with an error.
  sim::Task<void> resume(cpu::Execution& exec, cpu::Work kind, unsigned bank, bool retry);

  bool hears_broadcasts() const override;
  sim::Task<void> invalidate(cpu::Execution& exec, const os::Process& process, const os::TlbFlush& flush) override;
  sim::Task<void> finish(cpu::Execution& exec) override;
  void drop(const os::Process& process, const sim::Vector<os::VirtualAddress>& leaves) override;

 private:
  struct Bank {
    std::uint32_t pdid;  // of the process that owns it, and its ASID
    std::uint64_t table_root;
    std::uint32_t sctlr;
    bool masked = false;  // SCTLR.CFIE is clear, until RESUME
  };

  sim::Task<void> set_interrupt(cpu::Execution& exec, cpu::Work kind, unsigned bank, bool on);
  sim::Task<void> write_late(std::uint16_t process, os::TlbFlush flush);
  sim::Task<void> write_maintenance(cpu::Execution& exec, const os::Process& process, const os::TlbFlush& flush);
  sim::Task<void> await_sync(cpu::Execution& exec, unsigned sync);
  static std::uint64_t tlbi_operand(std::uint16_t process, os::VirtualAddress address);
  void set_up_register(std::uint64_t offset, std::uint64_t value, unsigned bytes);
  std::optional<unsigned> bank_of(std::uint32_t pdid) const;

  const DriverConfig config_;
  sim::Context context_;
  cpu::Cpu& cpu_;
  std::uint64_t base_;
  unsigned context_banks_;
  os::VaBits va_bits_;
  smmu::DvmSink* dvm_;
  bool stall_holds_interrupt_;
  std::vector<Bank> banks_;
  sim::TaskGroup late_;
  sim::Counter& interrupts_;
  sim::Counter& lost_records_;
};

}  // namespace faultline::mmu500
