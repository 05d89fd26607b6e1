// SPDX-License-Identifier: Apache-2.0
#include "models/os/kernel_config.hpp"

namespace faultline::os {

void KernelConfig::declare(sim::ParameterTable& table) {
  using sim::Standing;
  const auto group = table.group("kernel");
  table.add_time("handler_body", handler_body, {0ns, 10us},
                 {"context-fault handler besides its register accesses (with them 2.7 us)",
                  "1 to 3 us with them; fitted with the rest of the fault path to the 38 us that a small transfer's "
                  "fault takes (PART, TPDS 2022)",
                  Standing::fitted,
                  {"340 ns", "2.34 us"}});
  table.add_time(
      "netlink_send", netlink_send, {0ns, 20us},
      {"tasklet: building and queueing one netlink message",
       "with wake-up and receive 15.6 us; half an AF_UNIX round trip on A53 boards is 13.5 us (TI, lmbench); fitted as "
       "kernel.handler_body",
       Standing::fitted,
       {"1.25 us", "6.25 us"}});
  table.add_time("netlink_receive", netlink_receive, {0ns, 20us},
                 {"fault thread: return from recvmsg() after the wake-up",
                  "as kernel.netlink_send",
                  Standing::fitted,
                  {"2.3 us", "11.5 us"}});
  table.add_time("resume_call", resume_call, {0ns, 10us},
                 {"system call that asks the driver to resume a stalled transaction, besides its register writes",
                  "as os.syscall",
                  Standing::derived,
                  {"370 ns", "600 ns"}});
  table.add_count(
      "netlink_socket_records", netlink_socket_records, {1u, 1u << 20},
      {"fault records that wait in a process's netlink socket before it refuses further messages",
       "assumed; Linux's default receive buffer of 212,992 B holds about as many small messages", Standing::assumed});
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
      "tlb_maintenance_delay", tlb_maintenance_delay, {0ns, 1s},
      {"with mmio, how much later than it should the driver writes, while the kernel goes on: a mistake to be "
       "shown, or lazy invalidation",
       "0: Linux waits for each; IOMMUs in lazy mode flush every 10 ms", Standing::published});
}

}  // namespace faultline::os
