// SPDX-License-Identifier: Apache-2.0
// Broadcast TLB maintenance (DVM): what a CPU's TLBI to the inner shareable domain, and its DSB, do to the SMMU.
#pragma once

#include <cstdint>
#include <systemc>

#include "models/sim/time.hpp"

namespace faultline::smmu {

// Honoured only while sCR0.PTM = 0. The entries are gone SmmuConfig::dvm_invalidate_latency after the
// call; what had left with a translation by then may still be on its way. `va` is a byte address.
// Broadcasts carry VMID 0.
class DvmSink : public virtual sc_core::sc_interface {
 public:
  virtual void tlbi_va(std::uint16_t asid, std::uint64_t va) = 0;
  virtual void tlbi_asid(std::uint16_t asid) = 0;
  virtual void tlbi_all() = 0;

  // DVM Sync, which a DSB sends after its TLBIs. It follows them: complete once they have acted and all that
  // had left with a translation by then has been answered. While PTM is set the SMMU has no part in it, and it is
  // complete at once.
  virtual unsigned start_sync() = 0;
  // When it is complete, or, while that is not known, when to ask again. Its number is given back by the answer that
  // does not lie in the future.
  virtual sim::Time sync_end(unsigned sync) = 0;
};

}  // namespace faultline::smmu
