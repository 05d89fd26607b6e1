// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/exanest/driver_config.hpp"

namespace faultline::exanest {

void DriverConfig::declare(sim::ParameterTable& table) {
  using sim::Standing;
  const auto group = table.group("exanest_driver");
  table.add_time(
      "netlink_send", netlink_send, sim::kAnyTime,
      {"tasklet: building and queueing one netlink message",
       "with wake-up and receive 15.6 us; half an AF_UNIX round trip on A53 boards is 13.5 us (TI, lmbench); fitted as "
       "smmu_driver.handler_body",
       Standing::fitted,
       {"1.25 us", "6.25 us"}});
  table.add_time("netlink_receive", netlink_receive, sim::kAnyTime,
                 {"fault thread: return from recvmsg() after the wake-up",
                  "as exanest_driver.netlink_send",
                  Standing::fitted,
                  {"2.3 us", "11.5 us"}});
  table.add_time("resume_call", resume_call, sim::kAnyTime,
                 {"system call that asks the driver to resume a stalled transaction, besides its register writes",
                  "as os.syscall",
                  Standing::derived,
                  {"370 ns", "600 ns"}});
  table.add_count(
      "netlink_socket_records", netlink_socket_records, {1u, 1u << 20},
      {"fault records that wait in a process's netlink socket before it refuses further messages",
       "assumed; Linux's default receive buffer of 212,992 B holds about as many small messages", Standing::assumed});
  table.add_time("event_call", event_call, sim::kAnyTime,
                 {"system call that sleeps until a notice comes, besides its two register writes and the sleep",
                  "assumed: a read(2) of a device's file, os.syscall and a little more",
                  Standing::assumed,
                  {"370 ns", "1.5 us"}});
  table.add_time("event_handler", event_handler, sim::kAnyTime,
                 {"handler of the engine's interrupt, besides one register read and one write: finds the process and "
                  "wakes it",
                  "assumed",
                  Standing::assumed,
                  {"200 ns", "1 us"}});
}

}  // namespace faultline::exanest
