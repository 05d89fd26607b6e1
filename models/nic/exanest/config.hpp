// SPDX-License-Identifier: Apache-2.0
// Parameters of the PLDMA engine, its mailbox and its R5 firmware.
#pragma once

#include <cstdint>

#include "models/cpu/r5.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/time.hpp"

namespace faultline::exanest {

using namespace std::chrono_literals;
using sim::Time;

struct EngineConfig {
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

  // Firmware.
  std::uint64_t block_bytes = 16384;
  unsigned outstanding_blocks = 4;  // unacknowledged, of one transfer
  unsigned firmware_mailbox = 64;   // messages
  unsigned remote_reads = 16;       // RDMA reads served at a time
  Time transfer_startup = 2us;
  Time block_scheduling = 800ns;
  Time retransmit_processing = 3400ns;
  Time message_processing = 500ns;  // any other message to the R5
  Time block_timeout = 1ms;
  unsigned retry_limit = 64;    // consecutive timeouts of one block; 0: no limit
  unsigned refault_limit = 64;  // retransmission requests obeyed for one block
  bool rapf_enabled = true;
  double rapf_loss = 0.0;  // share of remote RAPFs that vanish before the R5 sees them

  cpu::R5Config r5;

  // What the engine must know of its neighbours. Not parameters of the engine: whoever wires it copies them from the
  // AXI port's and the router's configuration. The engine runs on the clock of the AXI port.
  sim::Frequency clock{150'000'000};
  struct Neighbours {
    unsigned outstanding_reads = 8;  // bursts the AXI port accepts
    unsigned outstanding_writes = 8;
    unsigned router_cells = 64;  // slots of each injection queue of the router's port 0
  } neighbours;

  // False is a mutant, for tests: the receive unit does not remember which notices it has given.
  bool remembers_notices = true;

  // Declares every field above but the clock, the neighbours and the mutant (r5 through R5Config::declare).
  void declare(sim::ParameterTable& table);
};

}  // namespace faultline::exanest
