// SPDX-License-Identifier: Apache-2.0
// One translation context: its registers, what they mean, and the fault record.
#pragma once

#include <cstdint>

#include "models/smmu/registers.hpp"
#include "models/smmu/translation.hpp"

namespace faultline::smmu {

class ContextBank {
 public:
  // Registers that hold what was written to them.
  std::uint32_t sctlr = reg::sctlr::kReset;
  std::uint32_t actlr = reg::actlr::kReset;
  std::uint32_t tcr = 0;
  std::uint32_t tcr2 = 0;
  std::uint64_t ttbr0 = 0;
  std::uint64_t ttbr1 = 0;
  std::uint32_t contextidr = 0;
  std::uint32_t mair0 = 0;
  std::uint32_t mair1 = 0;
  std::uint32_t cbar = 0;
  std::uint32_t cba2r = 0;
  // Fault record.
  std::uint64_t far = 0;
  std::uint32_t fsynr0 = 0;
  std::uint32_t cbfrsynra = 0;

  // Set up for what the model does: stage 1 with AArch64 tables.
  bool supported() const {
    return (cbar & reg::cbar_field::kTypeMask) == reg::cbar_field::kTypeStage1 &&
           (cba2r & reg::cba2r_field::kVA64) != 0;
  }
  bool translates() const { return (sctlr & reg::sctlr::kM) != 0; }
  bool stalls_faults() const { return (sctlr & reg::sctlr::kCFCFG) != 0; }
  bool reports_errors() const { return (sctlr & reg::sctlr::kCFRE) != 0; }
  bool faults_on_access_flag() const { return (sctlr & reg::sctlr::kAFFD) == 0; }
  // A fault stands and the bank wants all its traffic treated as faulting.
  bool holds_off() const { return fault_stands() && (sctlr & reg::sctlr::kHUPCF) == 0; }
  bool fault_stands() const { return status_ != 0; }

  Tag tag() const {
    return {static_cast<std::uint16_t>(ttbr0 >> reg::ttbr::kAsidShift),
            static_cast<std::uint8_t>(cbar & reg::cbar_field::kVmidMask)};
  }
  // Bits of the input address; 0 when TCR asks for what the model does not walk.
  unsigned va_bits() const;
  std::uint64_t table() const { return ttbr0 & reg::ttbr::kAddressMask; }

  std::uint32_t fsr() const { return status_ == 0 ? 0 : status_ | reg::fsr::kFormatAArch64; }
  // Write 1 to clear; a standing stall stays until resumed().
  void clear_fsr(std::uint32_t written) { status_ &= ~(written & reg::fsr::kFault); }
  // Records a fault, or sets MULTI when a record stands. True when it was recorded.
  bool record(const FaultReport& report);
  void stalled() { status_ |= reg::fsr::kSS; }
  void resumed() { status_ &= ~reg::fsr::kSS; }
  bool interrupts(bool stall_holds_interrupt) const;

 private:
  std::uint32_t status_ = 0;  // FSR without FORMAT
};

}  // namespace faultline::smmu
