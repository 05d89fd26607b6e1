// SPDX-License-Identifier: Apache-2.0
// What ExaNeSt's firmware tells of transfers and of their blocks; the data path tells the rest.
#pragma once

#include "models/nic/path/steps.hpp"

namespace faultline::exanest {

namespace worker {

using namespace nic::worker;
inline constexpr sim::WorkerInfo kFirmware{"firmware on the R5", 1};

}  // namespace worker

namespace step {

using namespace nic::step;

// The R5 has set the transfer up.
inline constexpr StepInfo kTransferStarted{
    .name = "transfer_started",
    .scope = Scope::transfer,
    .phase = {worker::kFirmware, "R5 start", "firmware sets the transfer up", "exanest.transfer_startup"},
    .told =
        "The firmware on the R5 of the node that has the data sets the transfer up: a write by its descriptor, a read "
        "by the reader's request."};
// The R5 has handed the block to the send unit.
inline constexpr StepInfo kBlockScheduled{
    .name = "block_scheduled",
    .mark = Mark::part_begins,
    .phase = {worker::kFirmware, "R5 block scheduling",
              "firmware hands the block to the send unit; in a transfer of several blocks, after those before it",
              "exanest.block_scheduling"},
    .told = "The firmware hands the block to the send unit."};
// The source's R5 has the request, and has put the block back on its queue.
inline constexpr StepInfo kRetryReceived{
    .name = "retry_received",
    .phase = {worker::kFirmware, "request transport", "mailboxes and, for RAPF, the network",
              "exanest.message_pipeline, network.*"},
    .told =
        "The request for the block has come to the R5 of the source, through mailboxes and, from the other node, the "
        "network."};
inline constexpr StepInfo kBlockRequeued{
    .name = "block_requeued",
    .phase = {worker::kFirmware, "R5 retry processing", "firmware puts the block back on its queue",
              "exanest.retransmit_processing"},
    .told = "The firmware puts the block back on its queue. The block will be sent again."};
// Timeout of the block.
inline constexpr StepInfo kTimedOut{
    .name = "timed_out",
    .mark = Mark::part_lost,
    .phase = {worker::kFirmware, "timeout", "wait until the block's timeout", "exanest.block_timeout"},
    .told =
        "The block's acknowledgement has not come, and its timeout is over. The firmware sends the block again, "
        "whatever the reason, unless it has no try left."};

}  // namespace step

}  // namespace faultline::exanest
