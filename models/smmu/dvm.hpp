// SPDX-License-Identifier: Apache-2.0
// Broadcast TLB maintenance (DVM): what a CPU's TLBI to the inner shareable domain does to the SMMU.
#pragma once

#include <cstdint>
#include <systemc>

namespace faultline::smmu {

// Honoured only while sCR0.PTM = 0. The entries are gone SmmuConfig::dvm_invalidate_latency after the
// call; the caller charges its DSB at least that long. `va` is a byte address. Broadcasts carry VMID 0.
class DvmSink : public virtual sc_core::sc_interface {
 public:
  virtual void tlbi_va(std::uint16_t asid, std::uint64_t va) = 0;
  virtual void tlbi_asid(std::uint16_t asid) = 0;
  virtual void tlbi_all() = 0;
};

}  // namespace faultline::smmu
