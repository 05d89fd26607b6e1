// SPDX-License-Identifier: Apache-2.0
// Costs and settings of the kernel's SMMU driver.
#pragma once

#include "models/sim/parameters.hpp"
#include "models/sim/time.hpp"

namespace faultline::mmu500 {

using namespace std::chrono_literals;

// How the SMMU learns that a translation is gone.
enum class TlbMaintenance {
  dvm,   // broadcast TLBI: sCR0.PTM = 0, ASIDs shared with the CPU
  none,  // forgotten: it does not, a mistake that shows as stale accesses
  mmio,  // a TLBIVA write a descriptor (or one TLBIASID) by the driver, then TLBSYNC
};

struct DriverConfig {
  sim::Time handler_body = 1400ns;
  bool hupcf = true;
  TlbMaintenance tlb_maintenance = TlbMaintenance::mmio;
  sim::Time tlb_maintenance_delay{0};

  void declare(sim::ParameterTable& table);
};

}  // namespace faultline::mmu500
