// SPDX-License-Identifier: Apache-2.0
// What the data path tells of transfers, of their blocks, and of small messages. NIC stands for the group of the NIC's
// own parameters.
#pragma once

#include "models/sim/trace.hpp"

namespace faultline::nic {

namespace worker {

inline constexpr sim::WorkerInfo kLibrary{"library", 0};  // the user's, whose last register write the engine reports
inline constexpr sim::WorkerInfo kEngine{"DMA engine", 2};
inline constexpr sim::WorkerInfo kNetwork{"network", 3};

}  // namespace worker

namespace step {

using sim::Mark;
using sim::Scope;
using sim::StepInfo;

// Each NIC says itself who does these, and from which parameters their times come.
inline constexpr StepInfo kTransferStarted{.name = "transfer_started", .scope = Scope::transfer};
inline constexpr StepInfo kBlockScheduled{.name = "block_scheduled", .mark = Mark::part_begins};
inline constexpr StepInfo kBlockRequeued{.name = "block_requeued"};
inline constexpr StepInfo kTimedOut{.name = "timed_out", .mark = Mark::part_lost};
// Send unit: first AXI read of the block, first cell handed to the network.
inline constexpr StepInfo kReadIssued{
    .name = "read_issued",
    .phase = {worker::kEngine, "send unit start", "send unit takes the block command", "NIC.send_pipeline"},
    .told = "The send unit takes the block and issues its first read of the source buffer, by virtual address."};
inline constexpr StepInfo kCellSent{
    .name = "cell_sent",
    .phase = {worker::kEngine, "source read, first cell", "AXI read of the first cell, translation included",
              "axi.*, smmu.*, ddr.*"},
    .told =
        "The SMMU has translated the address and memory has answered the read: the first cell leaves for the network."};
// Receive unit: first cell of the block, the last write of its block is answered.
inline constexpr StepInfo kCellArrived{
    .name = "cell_arrived",
    .phase = {worker::kNetwork, "network", "links and routers, first cell", "network.*"},
    .told = "The first cell of the block has crossed links and routers and is in the receive unit."};
inline constexpr StepInfo kBlockWritten{.name = "block_written",
                                        .mark = Mark::for_timelines,
                                        .phase = {.worker = worker::kEngine, .label = "writes to memory"},
                                        .told = "The last write of the block into memory is answered."};
// Of a write that tells its target: the last cell of the block is in the receive unit; the last write of the block is
// answered; what the process there is told is in its memory, or counted.
inline constexpr StepInfo kBlockAccepted{
    .name = "block_accepted",
    .phase = {worker::kNetwork, "rest of the block",
              "links and routers, the block's other cells; behind a write that stalls they wait in here",
              "network.*, smmu.*"},
    .told = "The last cell of the block is in the receive unit: the target has accepted the block."};
inline constexpr StepInfo kBlockPlaced{
    .name = "block_placed",
    .mark = Mark::part_placed,
    .phase = {worker::kEngine, "placed", "the block's writes to memory, translation included", "axi.*, smmu.*, ddr.*"},
    .told = "The last write of the block into memory is answered: the block is placed."};
inline constexpr StepInfo kTargetNotified{
    .name = "target_notified",
    .scope = Scope::transfer,
    .mark = Mark::target_notified,
    .phase = {worker::kEngine, "notified",
              "the target's engine writes a word or an entry of its event queue, or counts", "axi.*, ddr.*"},
    .told = "All blocks are placed, and the target's engine has told the process there."};
// Receive or send unit: first error response of the block.
inline constexpr StepInfo kFaultDetected{
    .name = "fault_detected",
    .mark = Mark::part_faulted,
    .phase = {worker::kEngine, "walk and fault",
              "cells before the bad burst; its translation, the walk, the error response", "axi.*, smmu.*, ddr.*"},
    .told =
        "The SMMU answers an access of the block with an error: the page table does not allow the access, or another "
        "fault of the process holds it off."};
inline constexpr StepInfo kFaultLogged{
    .name = "fault_logged",
    .phase = {worker::kEngine, "fault record", "record enters the fault FIFO", "NIC.fault_logging"},
    .told = "The DMA engine puts a record of the fault (which block, which address) into its fault FIFO."};
// The source has the acknowledgement of the block.
inline constexpr StepInfo kBlockAcknowledged{
    .name = "block_acknowledged",
    .mark = Mark::part_over,
    .phase = {worker::kEngine, "data and acknowledgement",
              "rest of the block, its writes (stalled ones wait in here), the acknowledgement",
              "axi.*, smmu.*, network.*", "acknowledgement"},
    .told =
        "The rest of the block has been read, sent and written, and its acknowledgement has come back to the source."};
inline constexpr StepInfo kNotified{
    .name = "notified",
    .scope = Scope::transfer,
    .phase = {worker::kEngine, "notification", "completion word written to the user's memory", "axi.*, ddr.*"},
    .told = "The DMA engine writes the completion word into memory of the process."};

// Send command written to the packetizer, which hands the cell to the network.
inline constexpr StepInfo kMessagePosted{
    .name = "message_posted",
    .scope = Scope::sender,
    .phase = {worker::kLibrary, "register writes", "the message's words, then the command", "cpu.mmio_write"},
    .told = "The library writes the message's words and the command into the packetizer's registers."};
inline constexpr StepInfo kMessageInjected{
    .name = "message_injected",
    .scope = Scope::sender,
    .phase = {worker::kEngine, "packetizer", "network interface, sending", "NIC.message_pipeline"},
    .told = "The packetizer makes one cell of the message and hands it to the network."};
// The mailbox has the whole cell, and issues the write of the slot.
inline constexpr StepInfo kMessageArrived{
    .name = "message_arrived",
    .scope = Scope::receiver,
    .phase = {worker::kNetwork, "message network", "links and routers", "network.*"},
    .told = "The message has crossed links and routers and is in the mailbox."};
inline constexpr StepInfo kMessageDelivered{
    .name = "message_delivered",
    .scope = Scope::receiver,
    .phase = {worker::kEngine, "mailbox", "network interface, receiving", "NIC.message_pipeline"},
    .told = "The mailbox issues the write of the message into its slot in memory."};

}  // namespace step

}  // namespace faultline::nic
