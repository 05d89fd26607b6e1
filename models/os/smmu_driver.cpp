// SPDX-License-Identifier: Apache-2.0
#include "models/os/smmu_driver.hpp"

#include "models/smmu/config.hpp"
#include "models/smmu/registers.hpp"

namespace faultline::os {

namespace reg = smmu::reg;
using cpu::Work;

namespace {

// HPC0's master ids are 1000b followed by AXI ID [5:0] (UG1085); the engine drives its PDID there.
constexpr std::uint32_t kHpc0 = 0b1000u << 6;
constexpr std::uint32_t kStreamsPerPort = 64;
constexpr unsigned kHpcTbu = 0;

}  // namespace

SmmuDriver::SmmuDriver(const KernelConfig& config, const sim::Context& context, cpu::Cpu& cpu, std::uint64_t base,
                       unsigned context_banks, VaBits va_bits, smmu::DvmSink* dvm)
    : config_(config),
      context_(context),
      cpu_(cpu),
      base_(base),
      context_banks_(context_banks),
      va_bits_(va_bits),
      dvm_(dvm),
      interrupts_(context.statistics.counter("driver.fault_interrupts", "count", "context-fault interrupts handled")),
      lost_records_(context.statistics.counter(
          "driver.lost_records", "count", "times the driver found FSR.MULTI: faults whose address the bank lost")) {}

void SmmuDriver::set_up_register(std::uint64_t offset, std::uint64_t value, unsigned bytes) {
  cpu_.mmio_set_up(base_ + offset, value, bytes);
}

void SmmuDriver::probe() {
  std::uint32_t scr0 = reg::scr0::kGFRE | reg::scr0::kUSFCFG | reg::scr0::kVMIDPNE;
  if (config_.tlb_maintenance == TlbMaintenance::mmio) scr0 |= reg::scr0::kPTM;
  set_up_register(reg::kSCR0, scr0, 4);
}

Error SmmuDriver::attach(const Process& process, std::uint64_t table_root, bool stall_on_fault) {
  if (banks_.size() >= context_banks_ || process.id() >= kStreamsPerPort) return Error::again;
  const auto bank = static_cast<unsigned>(banks_.size());
  const std::uint64_t page = reg::context_bank(bank);
  banks_.push_back(process.id());

  set_up_register(reg::cbar(bank), reg::cbar_field::kTypeStage1, 4);
  set_up_register(reg::cba2r(bank), reg::cba2r_field::kVA64, 4);
  set_up_register(page + reg::cb::kTCR, 64u - static_cast<unsigned>(va_bits_), 4);
  set_up_register(page + reg::cb::kTTBR0, table_root | std::uint64_t{process.id()} << reg::ttbr::kAsidShift, 8);
  std::uint32_t sctlr = reg::sctlr::kM | reg::sctlr::kTRE | reg::sctlr::kAFE | reg::sctlr::kCFRE | reg::sctlr::kCFIE;
  if (stall_on_fault) sctlr |= reg::sctlr::kCFCFG;
  if (config_.hupcf) sctlr |= reg::sctlr::kHUPCF;
  set_up_register(page + reg::cb::kSCTLR, sctlr, 4);

  const std::uint32_t stream = smmu::stream_id(kHpcTbu, kHpc0 | process.id());
  set_up_register(reg::s2cr(bank), reg::s2cr_field::kTypeTranslate | bank, 4);
  set_up_register(reg::smr(bank), reg::smr_field::kValid | stream, 4);
  return Error::none;
}

std::optional<unsigned> SmmuDriver::bank_of(std::uint32_t pdid) const {
  for (unsigned bank = 0; bank < banks_.size(); ++bank) {
    if (banks_[bank] == pdid) return bank;
  }
  return std::nullopt;
}

sim::Task<std::vector<BankFault>> SmmuDriver::handle_interrupt(cpu::Execution& irq) {
  ++interrupts_;
  std::vector<BankFault> faults;
  co_await cpu_.run(irq, Work::irq, config_.handler_body);
  // One line serves all banks, so each attached bank's FSR has to be read.
  for (unsigned bank = 0; bank < banks_.size(); ++bank) {
    const std::uint64_t page = base_ + reg::context_bank(bank);
    const std::uint64_t fsr = co_await cpu_.mmio_read(irq, Work::irq, page + reg::cb::kFSR, 4);
    if ((fsr & reg::fsr::kFault) == 0) continue;
    const std::uint64_t syndrome = co_await cpu_.mmio_read(irq, Work::irq, page + reg::cb::kFSYNR0, 4);
    const std::uint64_t address = co_await cpu_.mmio_read(irq, Work::irq, page + reg::cb::kFAR, 8);
    co_await cpu_.mmio_read(irq, Work::irq, base_ + reg::cbfrsynra(bank), 4);
    co_await cpu_.mmio_write(irq, Work::irq, page + reg::cb::kFSR, fsr, 4);
    if ((fsr & reg::fsr::kMULTI) != 0) ++lost_records_;
    faults.push_back({bank, banks_[bank], address, (syndrome & reg::fsynr0::kWNR) != 0, (fsr & reg::fsr::kSS) != 0});
  }
  co_return faults;
}

sim::Task<void> SmmuDriver::resume(cpu::Execution& thread, unsigned bank, bool retry) {
  co_await cpu_.run(thread, Work::system, config_.resume_call);
  co_await cpu_.mmio_write(thread, Work::system, base_ + reg::context_bank(bank) + reg::cb::kRESUME,
                           retry ? reg::resume::kRetry : reg::resume::kTerminate, 4);
}

sim::Task<void> SmmuDriver::invalidate(cpu::Execution& thread, Process& process, VirtualAddress address,
                                       std::uint64_t length) {
  const std::optional<unsigned> bank = bank_of(process.id());
  if (!bank) co_return;
  const std::uint64_t asid = process.id();
  const std::uint64_t pages = (length + kPage - 1) / kPage;
  const bool whole = pages > config_.tlbi_page_limit;
  if (config_.tlb_maintenance == TlbMaintenance::dvm && dvm_ != nullptr) {
    // The CPU's own TLBI, charged by the caller, carries the broadcast.
    if (whole) {
      dvm_->tlbi_asid(process.id());
    } else {
      for (std::uint64_t i = 0; i < pages; ++i) dvm_->tlbi_va(process.id(), address + i * kPage);
    }
    co_return;
  }
  const std::uint64_t page = base_ + reg::context_bank(*bank);
  if (whole) {
    co_await cpu_.mmio_write(thread, Work::system, page + reg::cb::kTLBIASID, asid, 4);
  } else {
    for (std::uint64_t i = 0; i < pages; ++i) {
      const std::uint64_t value = asid << reg::ttbr::kAsidShift | (address + i * kPage) >> 12;
      co_await cpu_.mmio_write(thread, Work::system, page + reg::cb::kTLBIVA, value, 8);
    }
  }
  co_await cpu_.mmio_write(thread, Work::system, page + reg::cb::kTLBSYNC, 0, 4);
  for (;;) {
    const std::uint64_t status = co_await cpu_.mmio_read(thread, Work::system, page + reg::cb::kTLBSTATUS, 4);
    if ((status & reg::tlbstatus::kSACTIVE) == 0) break;
  }
}

void SmmuDriver::drop(Process& process, VirtualAddress, std::uint64_t) {
  const std::optional<unsigned> bank = bank_of(process.id());
  if (bank) set_up_register(reg::context_bank(*bank) + reg::cb::kTLBIASID, process.id(), 4);
}

}  // namespace faultline::os
