// SPDX-License-Identifier: Apache-2.0
// The programmer's view of the MMU-500 (an SMMUv2, Arm IHI 0062 and DDI 0517) as ZynqMP integrates it:
// register offsets within its 128 KiB window, bit fields, identification values. Every offset has a row
// in README.md's compliance table, which says what stands behind it.
#pragma once

#include <cstdint>

namespace faultline::smmu::reg {

using Offset = std::uint64_t;

// Global address space: 16 pages of 4 KiB (IDR1); the context banks follow, a page each.
inline constexpr Offset kWindowBytes = 0x20000;
inline constexpr Offset kContextBankBase = 0x10000;
inline constexpr Offset kContextBankStride = 0x1000;
inline constexpr unsigned kMaxContextBanks = (kWindowBytes - kContextBankBase) / kContextBankStride;
constexpr Offset context_bank(unsigned bank) { return kContextBankBase + kContextBankStride * bank; }

// --- Global register space 0 -------------------------------------------------------------------
inline constexpr Offset kSCR0 = 0x000;
inline constexpr Offset kSCR1 = 0x004;
inline constexpr Offset kSCR2 = 0x008;
inline constexpr Offset kSACR = 0x010;
inline constexpr Offset kIDR0 = 0x020;
inline constexpr Offset kIDR1 = 0x024;
inline constexpr Offset kIDR2 = 0x028;
inline constexpr Offset kIDR7 = 0x03c;
inline constexpr Offset kSGFAR = 0x040;  // 64-bit
inline constexpr Offset kSGFSR = 0x048;  // write 1 to clear
inline constexpr Offset kSGFSRRESTORE = 0x04c;
inline constexpr Offset kSGFSYNR0 = 0x050;
inline constexpr Offset kSGFSYNR1 = 0x054;
inline constexpr Offset kSTLBIALL = 0x060;
inline constexpr Offset kTLBIVMID = 0x064;
inline constexpr Offset kTLBIALLNSNH = 0x068;
inline constexpr Offset kTLBIALLH = 0x06c;
inline constexpr Offset kSTLBGSYNC = 0x070;
inline constexpr Offset kSTLBGSTATUS = 0x074;
inline constexpr Offset kSMR0 = 0x800;
inline constexpr Offset kS2CR0 = 0xc00;
constexpr Offset smr(unsigned n) { return kSMR0 + Offset{4} * n; }
constexpr Offset s2cr(unsigned n) { return kS2CR0 + Offset{4} * n; }

// --- Global register space 1: one word a context bank ------------------------------------------
inline constexpr Offset kCBAR0 = 0x1000;
inline constexpr Offset kCBFRSYNRA0 = 0x1400;
inline constexpr Offset kCBA2R0 = 0x1800;
constexpr Offset cbar(unsigned bank) { return kCBAR0 + Offset{4} * bank; }
constexpr Offset cbfrsynra(unsigned bank) { return kCBFRSYNRA0 + Offset{4} * bank; }
constexpr Offset cba2r(unsigned bank) { return kCBA2R0 + Offset{4} * bank; }

// --- Context bank: offsets from context_bank(n) ------------------------------------------------
namespace cb {
inline constexpr Offset kSCTLR = 0x000;
inline constexpr Offset kACTLR = 0x004;
inline constexpr Offset kRESUME = 0x008;
inline constexpr Offset kTCR2 = 0x010;
inline constexpr Offset kTTBR0 = 0x020;  // 64-bit
inline constexpr Offset kTTBR1 = 0x028;  // 64-bit
inline constexpr Offset kTCR = 0x030;
inline constexpr Offset kCONTEXTIDR = 0x034;
inline constexpr Offset kMAIR0 = 0x038;
inline constexpr Offset kMAIR1 = 0x03c;
inline constexpr Offset kPAR = 0x050;  // 64-bit
inline constexpr Offset kFSR = 0x058;  // write 1 to clear, except SS
inline constexpr Offset kFSRRESTORE = 0x05c;
inline constexpr Offset kFAR = 0x060;  // 64-bit
inline constexpr Offset kFSYNR0 = 0x068;
inline constexpr Offset kFSYNR1 = 0x06c;
inline constexpr Offset kTLBIVA = 0x600;    // 64-bit: ASID [63:48], VA[55:12] in [43:0]
inline constexpr Offset kTLBIVAA = 0x608;   // 64-bit: VA[55:12] in [43:0], every ASID
inline constexpr Offset kTLBIASID = 0x610;  // ASID [15:0]
inline constexpr Offset kTLBIALL = 0x618;
inline constexpr Offset kTLBIVAL = 0x620;   // as TLBIVA, last level only: keeps the walk cache
inline constexpr Offset kTLBIVAAL = 0x628;  // as TLBIVAA, last level only
inline constexpr Offset kTLBSYNC = 0x7f0;
inline constexpr Offset kTLBSTATUS = 0x7f4;
inline constexpr Offset kATS1PR = 0x800;  // 64-bit
inline constexpr Offset kATSR = 0x8f0;
}  // namespace cb

// --- Fields ------------------------------------------------------------------------------------
namespace scr0 {
inline constexpr std::uint32_t kCLIENTPD = 1u << 0;  // all client traffic bypasses; set at reset
inline constexpr std::uint32_t kGFRE = 1u << 1;      // global faults answer with an error, else RAZ/WI
inline constexpr std::uint32_t kGFIE = 1u << 2;      // global faults interrupt
inline constexpr std::uint32_t kUSFCFG = 1u << 10;   // unmatched streams fault, else bypass
inline constexpr std::uint32_t kVMIDPNE = 1u << 11;
inline constexpr std::uint32_t kPTM = 1u << 12;      // ignore broadcast (DVM) TLB maintenance
inline constexpr std::uint32_t kSMCFCFG = 1u << 21;  // stream match conflicts fault; reads as one
inline constexpr std::uint32_t kReset = 0x00200001;  // DDI 0517
}  // namespace scr0

namespace sgfsr {
inline constexpr std::uint32_t kICF = 1u << 0;   // invalid context: S2CR type fault, or a bank set up for stage 2
inline constexpr std::uint32_t kUSF = 1u << 1;   // unidentified stream
inline constexpr std::uint32_t kSMCF = 1u << 2;  // stream match conflict
inline constexpr std::uint32_t kUCBF = 1u << 3;  // unimplemented context bank
inline constexpr std::uint32_t kMULTI = 1u << 31;
inline constexpr std::uint32_t kAll = kICF | kUSF | kSMCF | kUCBF | kMULTI;
}  // namespace sgfsr
namespace sgfsynr0 {
inline constexpr std::uint32_t kWNR = 1u << 1;  // the access was a write
}

namespace smr_field {
inline constexpr std::uint32_t kIdMask = 0x7fff;  // ID [14:0]
inline constexpr unsigned kMaskShift = 16;        // MASK [30:16]: 1 = ignore this bit
inline constexpr std::uint32_t kValid = 1u << 31;
}  // namespace smr_field
namespace s2cr_field {
inline constexpr std::uint32_t kCbndxMask = 0xff;
inline constexpr std::uint32_t kTypeMask = 3u << 16;
inline constexpr std::uint32_t kTypeTranslate = 0u << 16;
inline constexpr std::uint32_t kTypeBypass = 1u << 16;
inline constexpr std::uint32_t kTypeFault = 2u << 16;
}  // namespace s2cr_field
namespace cbar_field {
inline constexpr std::uint32_t kVmidMask = 0xff;
inline constexpr std::uint32_t kTypeMask = 3u << 16;
inline constexpr std::uint32_t kTypeStage1 = 1u << 16;  // stage 1, stage 2 bypass: the only one modelled
}  // namespace cbar_field
namespace cba2r_field {
inline constexpr std::uint32_t kVA64 = 1u << 0;  // AArch64 tables: the only ones modelled
}

namespace sctlr {
inline constexpr std::uint32_t kM = 1u << 0;  // translate; 0: this bank's traffic bypasses
inline constexpr std::uint32_t kTRE = 1u << 1;
inline constexpr std::uint32_t kAFE = 1u << 2;    // short descriptors only; without effect here
inline constexpr std::uint32_t kAFFD = 1u << 3;   // no access-flag faults
inline constexpr std::uint32_t kCFRE = 1u << 5;   // terminated accesses answer with an error, else RAZ/WI
inline constexpr std::uint32_t kCFIE = 1u << 6;   // context faults interrupt
inline constexpr std::uint32_t kCFCFG = 1u << 7;  // 1 stall, 0 terminate
inline constexpr std::uint32_t kHUPCF = 1u << 8;  // hit under previous context fault
inline constexpr std::uint32_t kReset = kHUPCF;
}  // namespace sctlr
namespace actlr {
inline constexpr std::uint32_t kCPRE = 1u << 1;  // next-page prefetch: not modelled
inline constexpr std::uint32_t kCMTLB = 1u << 0;
inline constexpr std::uint32_t kReset = kCPRE | kCMTLB;
}  // namespace actlr
namespace tcr {
inline constexpr std::uint32_t kT0SZMask = 0x3f;     // 25: 39-bit VA, 16: 48-bit VA
inline constexpr std::uint32_t kEPD0 = 1u << 7;      // no walks from TTBR0
inline constexpr std::uint32_t kTG0Mask = 3u << 14;  // 0: 4 KiB, the only granule modelled
}  // namespace tcr
namespace ttbr {
inline constexpr unsigned kAsidShift = 48;
inline constexpr std::uint64_t kAddressMask = 0x0000'ffff'ffff'f000;
}  // namespace ttbr

namespace fsr {
inline constexpr std::uint32_t kTF = 1u << 1;             // translation fault
inline constexpr std::uint32_t kAFF = 1u << 2;            // access-flag fault
inline constexpr std::uint32_t kPF = 1u << 3;             // permission fault
inline constexpr std::uint32_t kEF = 1u << 4;             // external fault: the walker's read was refused
inline constexpr std::uint32_t kFormatAArch64 = 2u << 9;  // reads as this while any other bit is set
inline constexpr std::uint32_t kSS = 1u << 30;            // a transaction is stalled; only RESUME clears it
inline constexpr std::uint32_t kMULTI = 1u << 31;         // further faults while a record stood; only this bit tells
// What raises the interrupt, and what is cleared by writing 1. MULTI may stand alone: when a further fault
// comes between a handler's reading and its clearing. A handler must clear it then, too.
inline constexpr std::uint32_t kFault = kTF | kAFF | kPF | kEF | kMULTI;
}  // namespace fsr
namespace fsynr0 {
inline constexpr std::uint32_t kPLVLMask = 3u;  // level of the walk at which it failed, 0 to 3
inline constexpr std::uint32_t kWNR = 1u << 4;  // the access was a write
}  // namespace fsynr0
namespace resume {
inline constexpr std::uint32_t kRetry = 0;
inline constexpr std::uint32_t kTerminate = 1;
}  // namespace resume
namespace tlbstatus {
inline constexpr std::uint32_t kSACTIVE = 1u << 0;  // also sTLBGSTATUS.GSACTIVE
}

// --- Values that ZynqMP's SMMU identifies itself with -------------------------------------------
inline constexpr std::uint32_t kIDR0Value = 0xfc013e30;  // stages 1, 2, nested; stream matching; BTM; 48 groups
inline constexpr std::uint32_t kIDR1Value = 0x30000f10;  // 16 banks, 4 KiB pages, 16 global pages
inline constexpr std::uint32_t kIDR2Value = 0x00005555;  // 48-bit addresses, 4 and 64 KiB granules
inline constexpr std::uint32_t kIDR7Value = 0x00000021;  // r2p1
inline constexpr std::uint32_t kSACRReset = 0x0400001c;

}  // namespace faultline::smmu::reg
