// SPDX-License-Identifier: Apache-2.0
// What every NIC that is made of this data path has to say of it. Each NIC declares these as parameters of its own,
// with its own sources.
#pragma once

#include <cstdint>

#include "models/sim/time.hpp"

namespace faultline::nic {

using namespace std::chrono_literals;
using sim::Time;

struct PathConfig {
  // Hardware.
  unsigned channels = 8;
  unsigned channel_queue = 16;          // transfers a channel holds from post to notification
  unsigned cell_buffer = 32;            // cells read or being read by the send unit
  unsigned receive_buffer = 32;         // cells from the network that wait for their AXI write
  unsigned send_queue = 2;              // block commands that wait in the send unit
  unsigned send_pipeline = 10;          // cycles, last data beat to the network interface
  unsigned receive_pipeline = 10;       // cycles, cell received to AXI write, acknowledgement to scoreboard
  unsigned message_pipeline = 12;       // cycles, packetizer or mailbox
  unsigned fault_fifo = 32;             // records
  unsigned fault_logging = 8;           // cycles, error response to the record in the FIFO
  unsigned completed_transfers = 1024;  // whose finished blocks the receive unit remembers
  unsigned block_contexts = 1;          // blocks in the send unit, from the first read until the last cell has gone out
  bool stop_after_fault = false;        // the receive unit has the rest of a faulted block stopped
  double stop_loss = 0.0;               // share of these stops that vanish
  unsigned event_counter_bits = 32;     // of an event counter, which goes round
  unsigned interrupt_line = 89;         // of the interrupt controller: processes that are to be woken
  bool interrupts_on_fault = false;     // the line is high, too, while there is a fault record

  // Whoever schedules blocks.
  std::uint64_t block_bytes = 16384;
  unsigned outstanding_blocks = 4;  // unacknowledged, of one transfer
  unsigned firmware_mailbox = 64;   // messages
  unsigned remote_reads = 16;       // RDMA reads served at a time
  Time transfer_startup = 2us;
  Time block_scheduling = 800ns;
  Time message_processing = 500ns;  // a message from another NIC
  Time block_timeout = 1ms;
  unsigned retry_limit = 64;  // consecutive timeouts of one block; 0: no limit

  // What the path must know of its neighbours. Not parameters of the NIC: whoever wires it copies them from the
  // AXI port's and the router's configuration. The path runs on the clock of the AXI port.
  sim::Frequency clock{150'000'000};
  struct Neighbours {
    unsigned outstanding_reads = 8;  // bursts the AXI port accepts
    unsigned outstanding_writes = 8;
    unsigned router_cells = 64;  // slots of each injection queue of the router's port 0
  } neighbours;

  // False is a mutant, for tests: the receive unit does not remember which notices it has given; a channel begins more
  // of them than the record has bits for; the receive unit writes what comes for a read that has ended.
  bool remembers_notices = true;
  bool keeps_notice_window = true;
  bool refuses_ended_reads = true;
};

}  // namespace faultline::nic
