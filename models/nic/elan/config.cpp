// SPDX-License-Identifier: Apache-2.0
#include "models/nic/elan/config.hpp"

#include "models/nic/path/registers.hpp"

namespace faultline::elan {

using sim::Standing;

ElanConfig::ElanConfig() {
  transfer_startup = 200ns;
  block_scheduling = 100ns;
  message_processing = 100ns;
  block_bytes = 4096;
  outstanding_blocks = 16;
  block_contexts = 2;
  send_queue = 4;
  stop_after_fault = true;
  interrupts_on_fault = true;
}

namespace {

void declare_path(ElanConfig& c, sim::ParameterTable& table) {
  const auto count = [&table](const char* name, unsigned& value, sim::Range<unsigned> range, const char* meaning) {
    table.add_count(name, value, range, {meaning, "assumed", Standing::assumed});
  };
  count("channels", c.channels, {1, nic::reg::kPdids}, "channels, each a page of command registers of one process");
  count("channel_queue", c.channel_queue, sim::kAnyEntries, "transfers that a channel holds from post to completion");
  count("cell_buffer", c.cell_buffer, sim::kAnyEntries, "cells of the send unit between its read and the network");
  count("receive_buffer", c.receive_buffer, sim::kAnyEntries, "cells of the receive unit between network and write");
  count("send_queue", c.send_queue, sim::kAnyEntries, "block commands that wait in the send unit");
  count("send_pipeline", c.send_pipeline, sim::kAnyCycles, "cycles from a cell's last beat to the network interface");
  count("receive_pipeline", c.receive_pipeline, sim::kAnyCycles, "cycles from a received cell to its write");
  count("message_pipeline", c.message_pipeline, sim::kAnyCycles, "cycles of the unit that sends and takes messages");
  count("fault_fifo", c.fault_fifo, sim::kAnyEntries, "traps that may wait for the driver's answer");
  count("fault_logging", c.fault_logging, sim::kAnyCycles, "cycles from a refused access to the trap's record");
  count("completed_transfers", c.completed_transfers, {16, 1 << 20},
        "transfers whose finished blocks the receive unit remembers");
  count("block_contexts", c.block_contexts, {1, 2}, "blocks that the send unit reads or sends at a time");
  count("event_counter_bits", c.event_counter_bits, {2, 64}, "bits of an event counter, which goes round");
  count("interrupt_line", c.interrupt_line, {0, 1019}, "interrupt line: traps, and processes that are to be woken");
  count("outstanding_blocks", c.outstanding_blocks, sim::kAnyEntries, "unacknowledged blocks of one transfer");
  count("inbox", c.firmware_mailbox, sim::kAnyEntries, "messages of other NICs that wait for the DMA processor");
  count("remote_reads", c.remote_reads, sim::kAnyEntries, "RDMA reads that are served at a time");
  count("retry_limit", c.retry_limit, {0, 1'000'000},
        "consecutive timeouts of a block that end its transfer with an error; 0: never");
}

}  // namespace

void ElanConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("elan");
  declare_path(*this, table);
  table.add_bytes("block_bytes", block_bytes, {256, 1 << 24},
                  {"unit of acknowledgement, refusal and retransmission", "assumed: a page", Standing::assumed});
  table.add_time("transfer_startup", transfer_startup, sim::kAnyTime,
                 {"time of the DMA processor to begin a transfer", "assumed", Standing::assumed});
  table.add_time("block_scheduling", block_scheduling, sim::kAnyTime,
                 {"time of the DMA processor to hand over a block", "assumed", Standing::assumed});
  table.add_time("message_processing", message_processing, sim::kAnyTime,
                 {"time of the DMA processor for a message of another NIC", "assumed", Standing::assumed});
  table.add_time(
      "block_timeout", block_timeout, {1us, 1000s},
      {"from a block's hand-over to its retransmission; and for how long a parked block waits for the driver "
       "before it is tried again",
       "assumed", Standing::assumed});
  table.add_count("table_entries", table_entries, {256, 1 << 24},
                  {"entries of the NIC's table, of all processes together; an entry is a page or a block of 2 MiB",
                   "assumed: 256 MiB of pages", Standing::assumed});
  table.add_count("mmu_lookup", mmu_lookup, sim::kAnyCycles,
                  {"cycles that the NIC's MMU takes to look up a burst", "assumed", Standing::assumed});
  table.add_count("mmu_refusal", mmu_refusal, sim::kAnyCycles,
                  {"cycles from a lookup in vain to the error response", "assumed", Standing::assumed});
  table.add_time("nak_back_off", nak_back_off, {100ns, 1s},
                 {"wait of a source whose block was refused, the first time; each further refusal doubles it, up to "
                  "elan.nak_back_off_limit",
                  "assumed", Standing::assumed});
  table.add_time("nak_back_off_limit", nak_back_off_limit, {100ns, 1s},
                 {"the longest such wait", "assumed", Standing::assumed});
  table.add_count(
      "nak_limit", nak_limit, {1, 1'000'000},
      {"refusals of a block after which a further one ends its transfer with an error", "assumed", Standing::assumed});
}

}  // namespace faultline::elan
