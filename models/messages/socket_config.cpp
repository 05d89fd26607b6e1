// SPDX-License-Identifier: Apache-2.0
#include "models/messages/socket_config.hpp"

namespace faultline::messages {

void SocketConfig::declare(sim::ParameterTable& table) {
  using enum sim::Standing;
  const auto group = table.group("socket");
  table.add_bytes("segment", segment, {64, 65536},
                  {"data of one segment, which the NIC sends as one transfer",
                   "assumed: as much as one block of ExaNeSt's engine; GSO lets TCP hand over up to 64 KiB", assumed});
  table.add_count(
      "window", window, {1u, 128u},
      {"segments that a connection's receiver has memory for: 8 of 16 KiB",
       "net.ipv4.tcp_rmem: 131072 B at first (ip-sysctl.rst); that the kernel lets it grow is not modelled", derived});
  table.add_count("acknowledge_every", acknowledge_every, {1u, 128u},
                  {"segments that are read before their sender is told; half of the window at most",
                   "assumed: TCP acknowledges at least every second full-sized segment (RFC 9293, 3.8.6.3), and its "
                   "segments are shorter",
                   assumed});
  table.add_time("call", call, {0ns, 1ms},
                 {"write() or read() of a socket, beside the system call, copies and segments",
                  "assumed: as os.socket_read and os.socket_write without what these have of a system call", assumed});
  table.add_time("transmit", transmit, {0ns, 1ms},
                 {"TCP, IP and the network driver, for a segment that is sent",
                  "assumed: some 4000 instructions of a Cortex-A53 at 1.2 GHz", assumed});
  table.add_time("receive", receive, {0ns, 1ms},
                 {"the network driver, IP and TCP, for a segment that has come",
                  "assumed: a third more than socket.transmit, for finding the connection", assumed});
  table.add_time("acknowledge", acknowledge, {0ns, 1ms},
                 {"of an acknowledgement, at either end", "assumed: half of socket.transmit", assumed});
  table.add_time("timeout", timeout, {1us, 100s},
                 {"when nothing was sent for so long, a timer of the kernel looks whether the NIC has given up what is "
                  "under way: then the connection is broken",
                  "TCP_RTO_MIN (include/net/tcp.h): HZ / 5", published});
}

}  // namespace faultline::messages
