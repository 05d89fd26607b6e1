// SPDX-License-Identifier: Apache-2.0
#include "models/nic/exanest/config.hpp"

#include "models/nic/exanest/registers.hpp"

namespace faultline::exanest {

using sim::Standing;

namespace {

void declare_hardware(EngineConfig& c, sim::ParameterTable& table) {
  // At most one for each process that a StreamID can name (reg::kPdids).
  table.add_count("channels", c.channels, {1, reg::kPdids},
                  {"channels, each a register page of one process", "assumed", Standing::assumed, {"4", "64"}});
  table.add_count("channel_queue", c.channel_queue, sim::kAnyEntries,
                  {"transfers that a channel holds between post and notification", "assumed", Standing::assumed});
  table.add_count("cell_buffer", c.cell_buffer, sim::kAnyEntries,
                  {"cells of the send unit between AXI read and network", "assumed", Standing::assumed});
  table.add_count("receive_buffer", c.receive_buffer, sim::kAnyEntries,
                  {"cells of the receive unit between network and AXI write", "assumed", Standing::assumed});
  table.add_count("send_queue", c.send_queue, sim::kAnyEntries,
                  {"block commands that wait in the send unit", "assumed", Standing::assumed});
  table.add_count("send_pipeline", c.send_pipeline, sim::kAnyCycles,
                  {"cycles from the last data beat of a cell to the network interface", "assumed", Standing::assumed});
  table.add_count("receive_pipeline", c.receive_pipeline, sim::kAnyCycles,
                  {"cycles from a received cell to its AXI write or to the scoreboard", "assumed", Standing::assumed});
  table.add_count(
      "message_pipeline", c.message_pipeline, sim::kAnyCycles,
      {"cycles of the packetizer, and of the mailbox",
       "fitted: network interface and library take 0.47 us of a message (ExaNeSt prototype)", Standing::fitted});
  table.add_count("fault_fifo", c.fault_fifo, sim::kAnyEntries,
                  {"fault records held for the driver", "assumed", Standing::assumed, {"8", "512"}});
  table.add_count("fault_logging", c.fault_logging, sim::kAnyCycles,
                  {"cycles from an error response to the record in the fault FIFO",
                   "assumed; a little less than the pipelines for cells, which move 256 B and not a record of 32 B",
                   Standing::assumed});
  // Not fewer than the transfers of a channel or two: blocks that are still being sent would be forgotten.
  table.add_count("completed_transfers", c.completed_transfers, {16, 1 << 20},
                  {"transfers whose finished blocks the receive unit remembers", "assumed", Standing::assumed});
  // Two designs, not a size: with two contexts reads never wait for a third.
  table.add_count(
      "block_contexts", c.block_contexts, {1, 2},
      {"blocks in the send unit; 1: a block's reads wait until the previous block's last cell has gone out; "
       "2: they go ahead while those cells still go out",
       "fitted to T4: goodput of large transfers, 82 % of the link (ExaNeSt prototype)",
       Standing::fitted,
       {"1", "2"}});
  table.add_flag(
      "stop_after_fault", c.stop_after_fault,
      {"after a fault at the destination the receive unit tells the source's send unit to send no more of the block",
       "assumed: off, as nothing is published of ExaNeSt. Known from elsewhere: US patent 9176911, where a network "
       "interface that meets a page fault tells the source to send no more; RNR NAK of InfiniBand",
       Standing::assumed});
  table.add_fraction("stop_loss", c.stop_loss, {0.0, 1.0},
                     {"share of these stops that are lost: the block is then sent to its end", "", Standing::setting});
  table.add_count(
      "event_counter_bits", c.event_counter_bits, {2, 64},
      {"bits of an event counter, which begins again at 0 behind its greatest value", "assumed", Standing::assumed});
  table.add_count(
      "interrupt_line", c.interrupt_line, {0, 1019},
      {"interrupt line of the engine, which wakes processes that wait for a notice",
       "UG1085: the first interrupt from the programmable logic, PL_PS_Group0, is SPI 89", Standing::published});
}

void declare_firmware(EngineConfig& c, sim::ParameterTable& table) {
  table.add_bytes("block_bytes", c.block_bytes, {256, 1 << 24},
                  {"unit of acknowledgement and retransmission; blocks that are no multiple of 256 B cost short cells",
                   "ExaNeSt as remembered: 16 KiB",
                   Standing::assumed,
                   {"4 KiB", "64 KiB"}});
  table.add_count("outstanding_blocks", c.outstanding_blocks, sim::kAnyEntries,
                  {"unacknowledged blocks of one transfer",
                   "assumed; must cover the bandwidth-delay product",
                   Standing::assumed,
                   {"1", "16"}});
  table.add_count("firmware_mailbox", c.firmware_mailbox, sim::kAnyEntries,
                  {"messages that wait for the R5", "assumed", Standing::assumed});
  table.add_count("remote_reads", c.remote_reads, sim::kAnyEntries,
                  {"RDMA reads that the firmware serves at a time", "assumed", Standing::assumed});
  table.add_time("transfer_startup", c.transfer_startup, sim::kAnyTime,
                 {"R5 time to set up a transfer", "assumed, 1 to 4 us", Standing::assumed, {"1 us", "4 us"}});
  table.add_time("block_scheduling", c.block_scheduling, sim::kAnyTime,
                 {"R5 time to schedule a block, while the send unit sends",
                  "assumed, 0.3 to 2 us",
                  Standing::assumed,
                  {"300 ns", "2 us"}});
  table.add_time("retransmit_processing", c.retransmit_processing, sim::kAnyTime,
                 {"R5 time to process a retransmission request",
                  "fitted, within 1 to 4 us, to the 38 us that a small transfer's fault takes (PART, TPDS 2022)",
                  Standing::fitted,
                  {"1 us", "4 us"}});
  table.add_time("message_processing", c.message_processing, sim::kAnyTime,
                 {"R5 time to process any other message", "assumed", Standing::assumed});
  table.add_time("block_timeout", c.block_timeout, {1us, 1000s},
                 {"from a block's hand-over to the send unit to its retransmission",
                  "assumed",
                  Standing::assumed,
                  {"25 us", "10 ms"}});
  table.add_count(
      "retry_limit", c.retry_limit, {0, 1'000'000},
      {"consecutive timeouts of a block that end its transfer with an error; 0: never", "assumed", Standing::assumed});
  table.add_count("refault_limit", c.refault_limit, {1, 1'000'000},
                  {"retransmission requests obeyed for one block; a further one ends its transfer with an error",
                   "assumed; a block of 16 KiB has at most ten pages to fault on once", Standing::assumed});
  table.add_flag("rapf_enabled", c.rapf_enabled,
                 {"the firmware obeys retransmission requests of other nodes", "", Standing::setting});
  table.add_fraction("rapf_loss", c.rapf_loss, {0.0, 1.0},
                     {"share of retransmission requests of other nodes that are lost", "", Standing::setting});
}

}  // namespace

void EngineConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("exanest");
  declare_hardware(*this, table);
  declare_firmware(*this, table);
  r5.declare(table);
}

}  // namespace faultline::exanest
