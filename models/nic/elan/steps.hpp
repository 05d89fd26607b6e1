// SPDX-License-Identifier: Apache-2.0
// What this NIC tells of blocks beside what its data path tells.
#pragma once

#include "models/nic/path/steps.hpp"

namespace faultline::elan {

namespace worker {

using namespace nic::worker;
inline constexpr sim::WorkerInfo kProcessor{"DMA processor", 1};
inline constexpr sim::WorkerInfo kBackOff{"back-off", 1};  // nobody works

}  // namespace worker

namespace step {

using namespace nic::step;

inline constexpr StepInfo kTransferStarted{
    .name = "transfer_started",
    .scope = Scope::transfer,
    .phase = {worker::kProcessor, "DMA start", "DMA processor begins the transfer", "NIC.transfer_startup"},
    .told =
        "The DMA processor of the node that has the data begins the transfer: a write by its descriptor, a read by the "
        "reader's request."};
inline constexpr StepInfo kBlockScheduled{
    .name = "block_scheduled",
    .mark = Mark::part_begins,
    .phase = {worker::kProcessor, "DMA block scheduling",
              "DMA processor hands the block to the send unit; in a transfer of several blocks, after those before it",
              "NIC.block_scheduling"},
    .told = "The DMA processor hands the block to the send unit."};
inline constexpr StepInfo kBlockRequeued{
    .name = "block_requeued",
    .phase = {worker::kProcessor, "restart", "the driver's register write, by which parked blocks go on",
              "cpu.mmio_write"},
    .told = "The driver has answered the trap. The DMA processor takes the parked block up again."};
inline constexpr StepInfo kBackOffOver{
    .name = "back_off_over",
    .phase = {worker::kBackOff, "back-off", "what is left of it when the target's driver has answered the fault",
              "NIC.nak_back_off, NIC.nak_back_off_limit"},
    .told = "The time for which the source leaves the refused block alone is over. It is sent again."};
inline constexpr StepInfo kTimedOut{
    .name = "timed_out",
    .mark = Mark::part_lost,
    .phase = {worker::kProcessor, "timeout", "wait until the block's timeout", "NIC.block_timeout"},
    .told =
        "Neither an acknowledgement of the block has come nor a refusal, and its timeout is over. The block is sent "
        "again, unless it has no try left."};
inline constexpr StepInfo kCellSent{
    .name = "cell_sent",
    .phase = {worker::kEngine, "source read, first cell", "lookup in the NIC's table and read of the first cell",
              "NIC.mmu_lookup, axi.*, ddr.*"},
    .told = "The NIC's table has the page and memory has answered the read: the first cell leaves for the network."};
inline constexpr StepInfo kBlockAccepted{
    .name = "block_accepted",
    .phase = {worker::kNetwork, "rest of the block", "links and routers, the block's other cells", "network.*"},
    .told = "The last cell of the block is in the receive unit: the target has accepted the block."};
inline constexpr StepInfo kBlockAcknowledged{
    .name = "block_acknowledged",
    .mark = Mark::part_over,
    .phase = {worker::kEngine, "data and acknowledgement", "rest of the block, its writes, the acknowledgement",
              "NIC.mmu_lookup, axi.*, ddr.*, network.*", "acknowledgement"},
    .told =
        "The rest of the block has been read, sent and written, and its acknowledgement has come back to the source."};
inline constexpr StepInfo kBlockPlaced{
    .name = "block_placed",
    .mark = Mark::part_placed,
    .phase = {worker::kEngine, "placed", "the block's writes to memory, translation included",
              "NIC.mmu_lookup, axi.*, ddr.*"},
    .told = "The last write of the block into memory is answered: the block is placed."};
inline constexpr StepInfo kFaultDetected{
    .name = "fault_detected",
    .mark = Mark::part_faulted,
    .phase = {worker::kEngine, "no entry", "cells before the bad burst; its lookup, the error response",
              "NIC.mmu_lookup, NIC.mmu_refusal"},
    .told = "The NIC's table has no entry for a page of the block, or one that does not allow the access."};
// At the source of a block whose target has no entry.
inline constexpr StepInfo kNakReceived{
    .name = "nak_received",
    .phase = {worker::kNetwork, "NAK", "the target's refusal on its way back", "network.*, NIC.receive_pipeline"},
    .told =
        "The target's NIC has refused the block (a NAK). The source leaves it alone for a while, a back-off, which may "
        "be longer after each refusal."};

}  // namespace step

}  // namespace faultline::elan
