// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/mmu500/config.hpp"

namespace faultline::mmu500 {

void DriverConfig::declare(sim::ParameterTable& table) {
  using sim::Standing;
  const auto group = table.group("smmu_driver");
  table.add_time("handler_body", handler_body, sim::kAnyTime,
                 {"context-fault handler besides its register accesses (with them 2.7 us)",
                  "1 to 3 us with them; fitted with the rest of the fault path to the 38 us that a small transfer's "
                  "fault takes (PART, TPDS 2022)",
                  Standing::fitted,
                  {"340 ns", "2.34 us"}});
  table.add_flag("hupcf", hupcf,
                 {"SCTLR.HUPCF: other accesses of a process go on while one of its faults is outstanding",
                  "true at reset; the stock Linux driver clears it, which the fault-tolerant engine cannot use",
                  Standing::derived});
  table.add_choice(
      "tlb_maintenance", tlb_maintenance,
      {{"dvm", TlbMaintenance::dvm}, {"mmio", TlbMaintenance::mmio}, {"none", TlbMaintenance::none}},
      {"how the SMMU learns that a translation is gone: broadcast, or register writes by the driver, or not "
       "at all, which is a mistake to be shown",
       "the stock Linux driver turns broadcast off (sCR0.PTM)",
       Standing::derived,
       {"mmio", "dvm"}});
  table.add_time(
      "tlb_maintenance_delay", tlb_maintenance_delay, sim::kAnyTime,
      {"with mmio, how much later than it should the driver writes, while the kernel goes on: a mistake to be "
       "shown, or lazy invalidation",
       "0: Linux waits for each; IOMMUs in lazy mode flush every 10 ms", Standing::published});
}

}  // namespace faultline::mmu500
