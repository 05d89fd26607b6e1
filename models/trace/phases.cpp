// SPDX-License-Identifier: Apache-2.0
#include "models/trace/phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace faultline::trace {
namespace {

using sim::Step;

constexpr std::array kPhases{
    Phase{Step::posted, Worker::library, "user post", "library code and the descriptor's register writes",
          "exanest_library.post, 7 cpu.mmio_write"},
    Phase{Step::transfer_started, Worker::firmware, "R5 start", "firmware sets the transfer up",
          "exanest.transfer_startup"},
    Phase{Step::block_scheduled, Worker::firmware, "R5 block scheduling",
          "firmware hands the block to the send unit; in a transfer of several blocks, after those before it",
          "exanest.block_scheduling"},
    Phase{Step::read_issued, Worker::engine, "send unit start", "send unit takes the block command",
          "exanest.send_pipeline"},
    Phase{Step::cell_sent, Worker::engine, "source read, first cell",
          "AXI read of the first cell, translation included", "axi.*, smmu.*, ddr.*"},
    Phase{Step::cell_arrived, Worker::network, "network", "links and routers, first cell", "network.*"},
    Phase{Step::fault_detected, Worker::engine, "walk and fault",
          "cells before the bad burst; its translation, the walk, the error response", "axi.*, smmu.*, ddr.*"},
    Phase{Step::fault_logged, Worker::engine, "fault record", "record enters the fault FIFO", "exanest.fault_logging"},
    Phase{Step::handler_entered, Worker::kernel, "interrupt to handler",
          "interrupt controller and kernel entry up to the handler", "cpu.irq_to_handler"},
    Phase{Step::handler_done, Worker::kernel, "handler", "reads the context bank, clears the record",
          "smmu_driver.handler_body, 4 cpu.mmio_read, cpu.mmio_write"},
    Phase{Step::tasklet_run, Worker::kernel, "tasklet dispatch", "end of interrupt up to the tasklet",
          "cpu.tasklet_delay"},
    Phase{Step::message_sent, Worker::kernel, "tasklet", "drains the fault FIFO, builds the netlink message",
          "exanest_driver.netlink_send, 6 cpu.mmio_read, cpu.mmio_write"},
    Phase{Step::library_woken, Worker::fault_thread, "netlink and wake-up",
          "wake-up of the fault thread, context switch, recvmsg()",
          "cpu.context_switch, exanest_driver.netlink_receive"},
    Phase{Step::resolve_begin, Worker::fault_thread, "library parse", "fault thread decodes the message",
          "exanest_library.parse_fault"},
    Phase{Step::resolve_end, Worker::fault_thread, "resolve", "touch or get_user_pages: fault, zeroing, mapping",
          "os.anon_minor_fault, os.zero_bandwidth, os.syscall, os.gup_per_page"},
    Phase{Step::retry_requested, Worker::fault_thread, "retry request", "fault thread writes the RAPF or local retry",
          "exanest_library.post_retry, 4 cpu.mmio_write"},
    Phase{Step::retry_received, Worker::firmware, "request transport", "mailboxes and, for RAPF, the network",
          "exanest.message_pipeline, network.*"},
    Phase{Step::block_requeued, Worker::firmware, "R5 retry processing", "firmware puts the block back on its queue",
          "exanest.retransmit_processing"},
    Phase{Step::timed_out, Worker::firmware, "timeout", "wait until the block's timeout", "exanest.block_timeout"},
    Phase{Step::block_acknowledged, Worker::engine, "data and acknowledgement",
          "rest of the block, its writes (stalled ones wait in here), the acknowledgement", "axi.*, smmu.*, network.*"},
    Phase{Step::notified, Worker::engine, "notification", "completion word written to the user's memory",
          "axi.*, ddr.*"},
    Phase{Step::completed, Worker::library, "poll", "polling load and library code up to the return",
          "cpu.poll_latency, exanest_library.completion"},
    Phase{Step::message_composed, Worker::library, "library send", "user code of the sender",
          "exanest_library.message_send"},
    Phase{Step::message_posted, Worker::library, "register writes", "the message's words, then the command",
          "cpu.mmio_write"},
    Phase{Step::message_injected, Worker::engine, "packetizer", "network interface, sending",
          "exanest.message_pipeline"},
    Phase{Step::message_arrived, Worker::network, "message network", "links and routers", "network.*"},
    Phase{Step::message_delivered, Worker::engine, "mailbox", "network interface, receiving",
          "exanest.message_pipeline"},
    Phase{Step::message_seen, Worker::library, "slot write and poll",
          "write of the mailbox slot, the load that sees it", "axi.*, ddr.*, cpu.poll_latency"},
    Phase{Step::message_received, Worker::library, "library receive", "user code of the receiver",
          "exanest_library.message_receive"},
    Phase{Step::message_returned, Worker::library, "slot release", "the mailbox slot is given back", "cpu.mmio_write"}};

}  // namespace

const char* to_string(Worker worker) {
  constexpr std::array<const char*, kWorkers> kNames{"library", "firmware on the R5", "DMA engine", "network",
                                                     "kernel",  "fault thread"};
  return kNames[static_cast<std::size_t>(worker)];
}

std::span<const Phase> phases() { return kPhases; }

const Phase* phase_to(Step step) {
  const auto found = std::find_if(kPhases.begin(), kPhases.end(), [&](const Phase& p) { return p.step == step; });
  return found == kPhases.end() ? nullptr : &*found;
}

std::string resend_text(std::uint32_t attempt) {
  if (attempt == 0) return "";
  return attempt == 1 ? " (resend)" : fmt::format(" (resend {})", attempt);
}

bool is_of_a_message(Step step) { return step >= Step::message_begin; }

}  // namespace faultline::trace
