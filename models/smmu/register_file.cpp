// SPDX-License-Identifier: Apache-2.0
#include "models/smmu/register_file.hpp"

namespace faultline::smmu {

namespace {

using reg::Offset;
namespace cb = reg::cb;
using Scope = Invalidation::Scope;

constexpr std::uint64_t kAddressField = (std::uint64_t{1} << 44) - 1;  // VA[55:12]

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }
void set_low(std::uint64_t& whole, std::uint32_t value) { whole = (whole & ~std::uint64_t{UINT32_MAX}) | value; }
void set_high(std::uint64_t& whole, std::uint32_t value) { whole = (whole & UINT32_MAX) | std::uint64_t{value} << 32; }

bool in_bank(Offset at) { return at >= reg::kContextBankBase; }
unsigned bank_of(Offset at) { return static_cast<unsigned>((at - reg::kContextBankBase) / reg::kContextBankStride); }
Offset within_bank(Offset at) { return at % reg::kContextBankStride; }

bool invalidates_by_address(Offset in_bank_at) {
  return in_bank_at == cb::kTLBIVA || in_bank_at == cb::kTLBIVAA || in_bank_at == cb::kTLBIVAL ||
         in_bank_at == cb::kTLBIVAAL;
}

}  // namespace

std::uint32_t RegisterFile::unknown() {
  ++state_.counters.register_errors;
  return 0;
}

bool RegisterFile::read(Offset at, unsigned bytes, std::uint64_t& value) {
  value = read_word(at);
  if (bytes == 8) value |= std::uint64_t{read_word(at + 4)} << 32;
  return true;
}

bool RegisterFile::write(Offset at, unsigned bytes, std::uint64_t value) {
  maintenance_.registers_changed();
  if (bytes == 4) return write_word(at, low(value));
  if (in_bank(at) && invalidates_by_address(within_bank(at))) return write_invalidation_by_address(at, value);
  return write_word(at, low(value)) && write_word(at + 4, high(value));
}

std::uint32_t RegisterFile::read_word(Offset at) {
  if (!in_bank(at)) return read_global(at);
  return bank_of(at) < state_.banks.size() ? read_bank(bank_of(at), within_bank(at)) : unknown();
}

bool RegisterFile::write_word(Offset at, std::uint32_t value) {
  if (!in_bank(at)) {
    write_global(at, value);
  } else if (bank_of(at) >= state_.banks.size()) {
    unknown();
  } else if (invalidates_by_address(within_bank(at))) {
    // A word holds no AArch64 address: the operation needs all 64 bits at once.
    unknown();
    return false;
  } else {
    write_bank(bank_of(at), within_bank(at), value);
  }
  return true;
}

// The registers of global space 1 that there is one of for each context bank.
std::uint32_t* RegisterFile::indexed_word(Offset at) {
  const auto index = [&](Offset first) {
    return at >= first && at < first + 4 * state_.banks.size() ? (at - first) / 4 : SIZE_MAX;
  };
  if (const auto n = index(reg::kCBAR0); n != SIZE_MAX) return &state_.banks[n].cbar;
  if (const auto n = index(reg::kCBA2R0); n != SIZE_MAX) return &state_.banks[n].cba2r;
  if (const auto n = index(reg::kCBFRSYNRA0); n != SIZE_MAX) return &state_.banks[n].cbfrsynra;
  return nullptr;
}

std::uint32_t RegisterFile::read_global(Offset at) {
  const auto users = static_cast<unsigned>(state_.banks.size());
  switch (at) {
    case reg::kSCR0: return state_.scr0;
    case reg::kSCR1: return state_.scr1;
    case reg::kSCR2: return state_.scr2;
    case reg::kSACR: return state_.sacr;
    case reg::kIDR0: return (reg::kIDR0Value & ~0xffu) | state_.streams.groups();
    case reg::kIDR1: return (reg::kIDR1Value & ~0xffu) | users;
    case reg::kIDR2: return reg::kIDR2Value;
    case reg::kIDR7: return reg::kIDR7Value;
    case reg::kSGFAR: return low(state_.sgfar);
    case reg::kSGFAR + 4: return high(state_.sgfar);
    case reg::kSGFSR: return state_.sgfsr;
    case reg::kSGFSYNR0: return state_.sgfsynr0;
    case reg::kSGFSYNR1: return state_.sgfsynr1;
    case reg::kSTLBGSTATUS: return maintenance_.sync_active(users) ? reg::tlbstatus::kSACTIVE : 0;
    default: break;
  }
  if (at >= reg::kSMR0 && at < reg::smr(state_.streams.groups())) {
    return state_.streams.smr(static_cast<unsigned>((at - reg::kSMR0) / 4));
  }
  if (at >= reg::kS2CR0 && at < reg::s2cr(state_.streams.groups())) {
    return state_.streams.s2cr(static_cast<unsigned>((at - reg::kS2CR0) / 4));
  }
  if (const std::uint32_t* word = indexed_word(at)) return *word;
  return unknown();
}

void RegisterFile::write_global(Offset at, std::uint32_t value) {
  switch (at) {
    case reg::kSCR0:
      state_.scr0 = value | reg::scr0::kSMCFCFG;
      state_.update_interrupt();
      return;
    case reg::kSCR1: state_.scr1 = value; return;
    case reg::kSCR2: state_.scr2 = value; return;
    case reg::kSACR: state_.sacr = value; return;
    case reg::kSGFSR:
      state_.sgfsr &= ~(value & reg::sgfsr::kAll);
      state_.update_interrupt();
      return;
    case reg::kSTLBIALL:
    case reg::kTLBIALLNSNH:
    case reg::kTLBIALLH: maintenance_.invalidate({}); return;
    case reg::kTLBIVMID:
      maintenance_.invalidate({Scope::vmid, {0, static_cast<std::uint8_t>(value)}, 0, false});
      return;
    case reg::kSTLBGSYNC: maintenance_.start_sync(static_cast<unsigned>(state_.banks.size())); return;
    default: break;
  }
  if (at >= reg::kSMR0 && at < reg::smr(state_.streams.groups())) {
    state_.streams.set_smr(static_cast<unsigned>((at - reg::kSMR0) / 4), value);
  } else if (at >= reg::kS2CR0 && at < reg::s2cr(state_.streams.groups())) {
    state_.streams.set_s2cr(static_cast<unsigned>((at - reg::kS2CR0) / 4), value);
  } else if (std::uint32_t* word = indexed_word(at)) {
    *word = value;
  } else {
    unknown();
  }
}

std::uint32_t RegisterFile::read_bank(unsigned index, Offset at) {
  const ContextBank& bank = state_.banks[index];
  switch (at) {
    case cb::kSCTLR: return bank.sctlr;
    case cb::kACTLR: return bank.actlr;
    case cb::kTCR2: return bank.tcr2;
    case cb::kTTBR0: return low(bank.ttbr0);
    case cb::kTTBR0 + 4: return high(bank.ttbr0);
    case cb::kTTBR1: return low(bank.ttbr1);
    case cb::kTTBR1 + 4: return high(bank.ttbr1);
    case cb::kTCR: return bank.tcr;
    case cb::kCONTEXTIDR: return bank.contextidr;
    case cb::kMAIR0: return bank.mair0;
    case cb::kMAIR1: return bank.mair1;
    case cb::kFSR: return bank.fsr();
    case cb::kFAR: return low(bank.far);
    case cb::kFAR + 4: return high(bank.far);
    case cb::kFSYNR0: return bank.fsynr0;
    case cb::kFSYNR1: return 0;
    case cb::kTLBSTATUS: return maintenance_.sync_active(index) ? reg::tlbstatus::kSACTIVE : 0;
    default: return unknown();
  }
}

void RegisterFile::write_bank(unsigned index, Offset at, std::uint32_t value) {
  ContextBank& bank = state_.banks[index];
  switch (at) {
    case cb::kSCTLR:
      bank.sctlr = value;
      maintenance_.bank_changed(index);
      return;
    case cb::kFSR:
      bank.clear_fsr(value);
      maintenance_.bank_changed(index);
      return;
    case cb::kRESUME: maintenance_.resume(index, (value & reg::resume::kTerminate) != 0); return;
    case cb::kACTLR: bank.actlr = value; return;
    case cb::kTCR2: bank.tcr2 = value; return;
    case cb::kTTBR0: set_low(bank.ttbr0, value); return;
    case cb::kTTBR0 + 4: set_high(bank.ttbr0, value); return;
    case cb::kTTBR1: set_low(bank.ttbr1, value); return;
    case cb::kTTBR1 + 4: set_high(bank.ttbr1, value); return;
    case cb::kTCR: bank.tcr = value; return;
    case cb::kCONTEXTIDR: bank.contextidr = value; return;
    case cb::kMAIR0: bank.mair0 = value; return;
    case cb::kMAIR1: bank.mair1 = value; return;
    case cb::kTLBIASID:
      maintenance_.invalidate({Scope::asid, {static_cast<std::uint16_t>(value), bank.tag().vmid}, 0, false});
      return;
    case cb::kTLBIALL: maintenance_.invalidate({Scope::vmid, bank.tag(), 0, false}); return;
    case cb::kTLBSYNC: maintenance_.start_sync(index); return;
    default: unknown(); return;
  }
}

bool RegisterFile::write_invalidation_by_address(Offset at, std::uint64_t value) {
  if (bank_of(at) >= state_.banks.size()) {
    unknown();
    return true;
  }
  const Offset op = within_bank(at);
  const bool any_asid = op == cb::kTLBIVAA || op == cb::kTLBIVAAL;
  Invalidation what;
  what.scope = any_asid ? Scope::address_any_asid : Scope::address;
  what.tag = {static_cast<std::uint16_t>(value >> reg::ttbr::kAsidShift), state_.banks[bank_of(at)].tag().vmid};
  what.va = (value & kAddressField) << 12;
  what.last_level_only = op == cb::kTLBIVAL || op == cb::kTLBIVAAL;
  maintenance_.invalidate(what);
  return true;
}

}  // namespace faultline::smmu
