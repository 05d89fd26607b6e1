// SPDX-License-Identifier: Apache-2.0
#include "models/os/kernel_config.hpp"

namespace faultline::os {

void KernelConfig::declare(sim::ParameterTable& table) {
  using sim::Standing;
  const auto group = table.group("kernel");
  table.add_time("handler_body", handler_body, {0ns, 10us},
                 {"context-fault handler besides its register accesses (with them 1.5 us)", "assumed: 1-3 us with them",
                  Standing::assumed});
  table.add_time(
      "netlink_send", netlink_send, {0ns, 20us},
      {"tasklet: building and queueing one netlink message",
       "assumed: with wake-up and receive 12 us; half an AF_UNIX round trip on A53 boards is 13.5 us (TI, lmbench)",
       Standing::assumed});
  table.add_time(
      "netlink_receive", netlink_receive, {0ns, 20us},
      {"fault thread: return from recvmsg() after the wake-up", "assumed: see kernel.netlink_send", Standing::assumed});
  table.add_time("resume_call", resume_call, {0ns, 10us},
                 {"system call that asks the driver to resume a stalled transaction, besides its register writes",
                  "null system call on A53: 0.45-0.5 us (TI, lmbench)", Standing::derived});
  table.add_flag("hupcf", hupcf,
                 {"SCTLR.HUPCF: other accesses of a process go on while one of its faults is outstanding",
                  "true at reset; the stock Linux driver clears it, which the fault-tolerant engine cannot use",
                  Standing::derived});
  table.add_choice("tlb_maintenance", tlb_maintenance, {{"dvm", TlbMaintenance::dvm}, {"mmio", TlbMaintenance::mmio}},
                   {"how the SMMU learns that a translation is gone: broadcast, or register writes by the driver",
                    "the stock Linux driver turns broadcast off (sCR0.PTM)", Standing::derived});
  table.add_count("tlbi_page_limit", tlbi_page_limit, {1u, 1u << 20},
                  {"with mmio: ranges of more pages are invalidated by one TLBIASID", "assumed, as the CPU's limit",
                   Standing::assumed});
}

}  // namespace faultline::os
