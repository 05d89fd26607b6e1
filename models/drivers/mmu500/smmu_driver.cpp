// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/mmu500/smmu_driver.hpp"

#include "models/smmu/config.hpp"
#include "models/smmu/registers.hpp"

namespace faultline::mmu500 {

namespace reg = smmu::reg;
using cpu::Work;

namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;  // the process of a bank that is free

sim::Task<void> nothing() { co_return; }

}  // namespace

SmmuDriver::SmmuDriver(const DriverConfig& config, const sim::Context& context, cpu::Cpu& cpu, std::uint64_t base,
                       unsigned context_banks, os::VaBits va_bits, smmu::DvmSink* dvm, bool stall_holds_interrupt)
    : config_(config),
      context_(context),
      cpu_(cpu),
      base_(base),
      context_banks_(context_banks),
      va_bits_(va_bits),
      dvm_(dvm),
      stall_holds_interrupt_(stall_holds_interrupt),
      interrupts_(context.statistics.counter("driver.fault_interrupts", "count", "context-fault interrupts handled")),
      lost_records_(context.statistics.counter(
          "driver.lost_records", "count", "times the driver found FSR.MULTI: faults whose address the bank lost")) {}

void SmmuDriver::set_up_register(std::uint64_t offset, std::uint64_t value, unsigned bytes) {
  cpu_.mmio_set_up(base_ + offset, value, bytes);
}

void SmmuDriver::probe() {
  std::uint32_t scr0 = reg::scr0::kGFRE | reg::scr0::kUSFCFG | reg::scr0::kVMIDPNE;
  if (!hears_broadcasts()) scr0 |= reg::scr0::kPTM;
  set_up_register(reg::kSCR0, scr0, 4);
}

os::Error SmmuDriver::attach(const os::Process& process, std::uint32_t stream, std::uint64_t table_root,
                             bool stall_on_fault) {
  const auto bank = bank_of(kNobody).value_or(static_cast<unsigned>(banks_.size()));
  if (bank >= context_banks_) return os::Error::again;
  if (bank == banks_.size()) banks_.emplace_back();
  const std::uint64_t page = reg::context_bank(bank);
  set_up_register(reg::cbar(bank), reg::cbar_field::kTypeStage1, 4);
  set_up_register(reg::cba2r(bank), reg::cba2r_field::kVA64, 4);
  set_up_register(page + reg::cb::kTCR, 64u - static_cast<unsigned>(va_bits_), 4);
  set_up_register(page + reg::cb::kTTBR0, table_root | std::uint64_t{process.id()} << reg::ttbr::kAsidShift, 8);
  std::uint32_t sctlr = reg::sctlr::kM | reg::sctlr::kTRE | reg::sctlr::kAFE | reg::sctlr::kCFRE | reg::sctlr::kCFIE;
  if (stall_on_fault) sctlr |= reg::sctlr::kCFCFG;
  if (config_.hupcf) sctlr |= reg::sctlr::kHUPCF;
  set_up_register(page + reg::cb::kSCTLR, sctlr, 4);
  banks_[bank] = {process.id(), table_root, sctlr};

  set_up_register(reg::s2cr(bank), reg::s2cr_field::kTypeTranslate | bank, 4);
  set_up_register(reg::smr(bank), reg::smr_field::kValid | stream, 4);
  return os::Error::none;
}

// As arm_smmu_release_dev() and the end of an SVA domain: first nobody new comes in. Unmatched streams fault.
sim::Task<void> SmmuDriver::detach(cpu::Execution& exec, const os::Process& process) {
  const std::optional<unsigned> bank = bank_of(process.id());
  if (!bank) co_return;
  co_await cpu_.mmio_write(exec, Work::system, base_ + reg::smr(*bank), 0, 4);
  co_await resume(exec, Work::system, *bank, /*retry=*/false);
  const os::TlbFlush everything{.table = banks_[*bank].table_root, .leaves = {}, .whole = true};
  co_await write_maintenance(exec, process, everything);
  banks_[*bank].pdid = kNobody;
}

std::optional<unsigned> SmmuDriver::bank_of(std::uint32_t pdid) const {
  for (unsigned bank = 0; bank < banks_.size(); ++bank) {
    if (banks_[bank].pdid == pdid) return bank;
  }
  return std::nullopt;
}

sim::Task<sim::Vector<BankFault>> SmmuDriver::handle_interrupt(cpu::Execution& irq) {
  ++interrupts_;
  sim::Vector<BankFault> faults;
  co_await cpu_.run(irq, Work::irq, config_.handler_body);
  // One line serves all banks, so each attached bank's FSR has to be read.
  for (unsigned bank = 0; bank < banks_.size(); ++bank) {
    const std::uint64_t page = base_ + reg::context_bank(bank);
    const std::uint64_t fsr = co_await cpu_.mmio_read(irq, Work::irq, page + reg::cb::kFSR, 4);
    const bool stalled = (fsr & reg::fsr::kSS) != 0;
    // Clearing FSR leaves SS, so the interrupt would come again until somebody has resolved the fault. This is
    // looked at for banks without a new fault, too: a fault between a thread's RESUME and its SCTLR may have been
    // read already.
    if (stalled && stall_holds_interrupt_ && !banks_[bank].masked) {
      co_await set_interrupt(irq, Work::irq, bank, false);
    }
    if ((fsr & reg::fsr::kFault) == 0) continue;
    const std::uint64_t syndrome = co_await cpu_.mmio_read(irq, Work::irq, page + reg::cb::kFSYNR0, 4);
    const std::uint64_t address = co_await cpu_.mmio_read(irq, Work::irq, page + reg::cb::kFAR, 8);
    co_await cpu_.mmio_read(irq, Work::irq, base_ + reg::cbfrsynra(bank), 4);
    co_await cpu_.mmio_write(irq, Work::irq, page + reg::cb::kFSR, fsr, 4);
    if ((fsr & reg::fsr::kMULTI) != 0) ++lost_records_;
    // SS is gone where a thread's RESUME has come between. What that tries again may fault before FSR is cleared, so
    // that nothing but this record tells of it. External faults never stall.
    const bool may_stall = (banks_[bank].sctlr & reg::sctlr::kCFCFG) != 0 && (fsr & reg::fsr::kFault) != reg::fsr::kEF;
    faults.push_back({bank, banks_[bank].pdid, address, (syndrome & reg::fsynr0::kWNR) != 0, stalled || may_stall});
  }
  co_return faults;
}

sim::Task<void> SmmuDriver::resume(cpu::Execution& exec, Work kind, unsigned bank, bool retry) {
  co_await cpu_.mmio_write(exec, kind, base_ + reg::context_bank(bank) + reg::cb::kRESUME,
                           retry ? reg::resume::kRetry : reg::resume::kTerminate, 4);
  // What faulted meanwhile has waited in FSR, and interrupts now.
  if (banks_[bank].masked) co_await set_interrupt(exec, kind, bank, true);
}

sim::Task<void> SmmuDriver::set_interrupt(cpu::Execution& exec, Work kind, unsigned bank, bool on) {
  const std::uint32_t sctlr = on ? banks_[bank].sctlr : banks_[bank].sctlr & ~reg::sctlr::kCFIE;
  co_await cpu_.mmio_write(exec, kind, base_ + reg::context_bank(bank) + reg::cb::kSCTLR, sctlr, 4);
  banks_[bank].masked = !on;
}

bool SmmuDriver::hears_broadcasts() const { return config_.tlb_maintenance == TlbMaintenance::dvm && dvm_ != nullptr; }

std::uint64_t SmmuDriver::tlbi_operand(std::uint16_t process, os::VirtualAddress address) {
  return std::uint64_t{process} << reg::ttbr::kAsidShift | address >> 12;
}

sim::Task<void> SmmuDriver::invalidate(cpu::Execution& exec, const os::Process& process, const os::TlbFlush& flush) {
  if (config_.tlb_maintenance == TlbMaintenance::none) return nothing();
  if (!hears_broadcasts() && config_.tlb_maintenance_delay > sim::Time{0}) {
    late_.start(write_late(process.id(), flush));
    return nothing();
  }
  if (!hears_broadcasts()) return write_maintenance(exec, process, flush);
  // The instructions and their cost are the CPU's; the SMMU hears them now, and the DSB if there is one.
  if (flush.whole) {
    dvm_->tlbi_asid(process.id());
  } else {
    flush.for_each_operation([&](os::VirtualAddress va) { dvm_->tlbi_va(process.id(), va); });
  }
  return flush.waits ? await_sync(exec, dvm_->start_sync()) : nothing();
}

sim::Task<void> SmmuDriver::finish(cpu::Execution& exec) {
  return hears_broadcasts() ? await_sync(exec, dvm_->start_sync()) : nothing();
}

// The core stands still in its DSB.
sim::Task<void> SmmuDriver::await_sync(cpu::Execution& exec, unsigned sync) {
  for (;;) {
    const sim::Time end = dvm_->sync_end(sync);
    if (end <= context_.now()) co_return;
    co_await cpu_.run_unscaled(exec, Work::system, end - context_.now());
  }
}

// By whichever core comes to it; the time that this takes there is left out.
sim::Task<void> SmmuDriver::write_late(std::uint16_t process, os::TlbFlush flush) {
  co_await context_.loop.delay(config_.tlb_maintenance_delay);
  const std::optional<unsigned> bank = bank_of(process);
  if (!bank || banks_[*bank].table_root != flush.table) co_return;
  const std::uint64_t at = reg::context_bank(*bank) + reg::cb::kTLBIVA;
  for (const os::VirtualAddress leaf : flush.leaves) set_up_register(at, tlbi_operand(process, leaf), 8);
}

sim::Task<void> SmmuDriver::write_maintenance(cpu::Execution& exec, const os::Process& process,
                                              const os::TlbFlush& flush) {
  const std::optional<unsigned> bank = bank_of(process.id());
  if (!bank || banks_[*bank].table_root != flush.table) co_return;  // a table that the SMMU does not walk
  const std::uint64_t page = base_ + reg::context_bank(*bank);
  if (flush.whole) {
    co_await cpu_.mmio_write(exec, Work::system, page + reg::cb::kTLBIASID, process.id(), 4);
  } else {
    sim::Vector<os::VirtualAddress> operations;
    flush.for_each_operation([&](os::VirtualAddress va) { operations.push_back(va); });
    for (const os::VirtualAddress va : operations) {
      co_await cpu_.mmio_write(exec, Work::system, page + reg::cb::kTLBIVA, tlbi_operand(process.id(), va), 8);
    }
  }
  co_await cpu_.mmio_write(exec, Work::system, page + reg::cb::kTLBSYNC, 0, 4);
  for (;;) {
    const std::uint64_t status = co_await cpu_.mmio_read(exec, Work::system, page + reg::cb::kTLBSTATUS, 4);
    if ((status & reg::tlbstatus::kSACTIVE) == 0) break;
  }
}

void SmmuDriver::drop(const os::Process& process, const sim::Vector<os::VirtualAddress>& leaves) {
  const std::optional<unsigned> bank = bank_of(process.id());
  if (!bank) return;
  const std::uint64_t at = reg::context_bank(*bank) + reg::cb::kTLBIVA;
  for (const os::VirtualAddress leaf : leaves) set_up_register(at, tlbi_operand(process.id(), leaf), 8);
}

}  // namespace faultline::mmu500
