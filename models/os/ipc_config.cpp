// SPDX-License-Identifier: Apache-2.0
// What waiting for another process costs.
#include "models/os/os_config.hpp"

namespace faultline::os {

using sim::Standing;

void OsConfig::declare_waiting(sim::ParameterTable& table) {
  table.add_time(
      "wake_up", wake_up, sim::kAnyTime,
      {"waking a thread that sleeps in a pipe, in a socket or for a child: time of whoever wakes it, up to "
       "the context switch on the woken thread's core (an interrupt to that core and its way out of idle included)",
       "fitted to TI AM62Px lmbench lat_pipe: 20.4 us at 1.4 GHz a round trip, less cpu.context_switch and "
       "the calls",
       Standing::fitted,
       {"1 us", "15 us"}});
  constexpr const char* kCalls =
      "TI AM62Px lmbench lat_syscall: 0.67 and 0.71 us at 1.4 GHz for write and read of one byte";
  table.add_time(
      "pipe_write", pipe_write, sim::kAnyTime,
      {"write(2) of a few bytes to a pipe, os.wake_up excluded", kCalls, Standing::derived, {"500 ns", "3 us"}});
  table.add_time("pipe_read", pipe_read, sim::kAnyTime,
                 {"read(2) of a few bytes from a pipe", kCalls, Standing::derived, {"500 ns", "3 us"}});
  table.add_time(
      "socket_write", socket_write, sim::kAnyTime,
      {"write(2) of a few bytes to an AF_UNIX stream socket, os.wake_up excluded",
       "with socket_read fitted to TI AM62Px lmbench lat_unix, 26.3 us at 1.4 GHz a round trip; the split is ours",
       Standing::fitted,
       {"1 us", "10 us"}});
  table.add_time(
      "socket_read", socket_read, sim::kAnyTime,
      {"read(2) of a few bytes from an AF_UNIX stream socket", "as socket_write", Standing::fitted, {"1 us", "10 us"}});
  table.add_time("signal_catch", signal_catch, sim::kAnyTime,
                 {"a signal's frame, its handler and sigreturn, on top of the kill(2) that sends it",
                  "fitted to TI AM62Px lmbench lat_sig catch: 5.7 us at 1.4 GHz",
                  Standing::fitted,
                  {"2 us", "15 us"}});
}

}  // namespace faultline::os
