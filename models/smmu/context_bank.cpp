// SPDX-License-Identifier: Apache-2.0
#include "models/smmu/context_bank.hpp"

namespace faultline::smmu {

namespace {

std::uint32_t status_bit(FaultKind kind) {
  switch (kind) {
    case FaultKind::translation: return reg::fsr::kTF;
    case FaultKind::access_flag: return reg::fsr::kAFF;
    case FaultKind::permission: return reg::fsr::kPF;
    case FaultKind::external: return reg::fsr::kEF;
    case FaultKind::none: break;
  }
  return 0;
}

}  // namespace

unsigned ContextBank::va_bits() const {
  const unsigned bits = 64 - (tcr & reg::tcr::kT0SZMask);
  const bool walkable = (tcr & reg::tcr::kEPD0) == 0 && (tcr & reg::tcr::kTG0Mask) == 0;
  return walkable && bits >= 25 && bits <= 48 ? bits : 0;
}

bool ContextBank::record(const FaultReport& report) {
  if ((status_ & reg::fsr::kFault) != 0) {
    // The record registers keep the first fault: what the others were is lost to software.
    status_ |= reg::fsr::kMULTI;
    return false;
  }
  status_ |= status_bit(report.kind);
  far = report.va;
  fsynr0 = (report.level & reg::fsynr0::kPLVLMask) | (report.write ? reg::fsynr0::kWNR : 0);
  cbfrsynra = report.stream;
  return true;
}

bool ContextBank::interrupts(bool stall_holds_interrupt) const {
  const std::uint32_t causes = reg::fsr::kFault | (stall_holds_interrupt ? reg::fsr::kSS : 0);
  return (sctlr & reg::sctlr::kCFIE) != 0 && (status_ & causes) != 0;
}

}  // namespace faultline::smmu
