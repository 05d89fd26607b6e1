// SPDX-License-Identifier: Apache-2.0
// Attributes of a memory-mapped (AXI) train beside the generic payload's address and command.
#pragma once

#include <cstdint>
#include <tlm>

namespace faultline::soc {

struct AxiAttributes : tlm::tlm_extension<AxiAttributes> {
  // 10-bit master id as UG1085 gives it (HPC0 is 0b1000 ++ AXI ID[5:0]); the TBU prepends its number
  // to make the 15-bit StreamID.
  std::uint32_t master_id = 0;
  // Set by the SMMU: the memory's mapping epoch when the translation was walked; untranslated traffic
  // (walker, CPU) leaves kUntranslated and is never stale.
  static constexpr std::uint64_t kUntranslated = UINT64_MAX;
  std::uint64_t translation_epoch = kUntranslated;
  // Zeroing and copying by a core, for which only the time at the controller matters.
  bool bulk = false;

  tlm::tlm_extension_base* clone() const override { return new AxiAttributes(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const AxiAttributes&>(other); }
};

}  // namespace faultline::soc
