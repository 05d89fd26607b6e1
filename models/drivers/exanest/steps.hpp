// SPDX-License-Identifier: Apache-2.0
// What library, fault thread and kernel tell of transfers, faults and small messages, and the whole life of a transfer.
#pragma once

#include <array>

#include "models/cpu/steps.hpp"
#include "models/drivers/library/steps.hpp"
#include "models/nic/exanest/steps.hpp"
#include "models/smmu/steps.hpp"

namespace faultline::exanest {

namespace worker {

inline constexpr sim::WorkerInfo kKernel{"kernel", 4};
inline constexpr sim::WorkerInfo kFaultThread{"fault thread", 5};

}  // namespace worker

namespace step {

using namespace library::step;

// First instruction of the context-fault handler; it has read and cleared the bank.
inline constexpr StepInfo kHandlerEntered{
    .name = "handler_entered",
    .phase = {worker::kKernel, "interrupt to handler", "interrupt controller and kernel entry up to the handler",
              "cpu.irq_to_handler"},
    .told =
        "The SMMU's interrupt line is high, so a core leaves what it did, enters the kernel and reaches the "
        "context-fault handler."};
inline constexpr StepInfo kHandlerDone{
    .name = "handler_done",
    .phase = {worker::kKernel, "handler", "reads the context bank, clears the record",
              "smmu_driver.handler_body, 4 cpu.mmio_read, cpu.mmio_write"},
    .told =
        "The handler reads the fault registers of the context bank and clears the record, so that the bank can report "
        "the next fault. An interrupt handler must not sleep, so it cannot bring the page."};
// The tasklet starts on the record; its netlink message is queued to the library.
inline constexpr StepInfo kTaskletRun{
    .name = "tasklet_run",
    .phase = {worker::kKernel, "tasklet dispatch", "end of interrupt up to the tasklet", "cpu.tasklet_delay"},
    .told = "The kernel leaves the interrupt and starts the tasklet that the handler has scheduled."};
inline constexpr StepInfo kMessageSent{
    .name = "message_sent",
    .phase = {worker::kKernel, "tasklet", "drains the fault FIFO, builds the netlink message",
              "exanest_driver.netlink_send, 6 cpu.mmio_read, cpu.mmio_write"},
    .told =
        "The tasklet takes the record (of a terminated access from the fault FIFO), finds whose it is, and sends the "
        "process a netlink "
        "message."};
// The library's fault thread has the message; it has parsed it and starts to resolve; pages are present.
inline constexpr StepInfo kLibraryWoken{
    .name = "library_woken",
    .phase = {worker::kFaultThread, "netlink and wake-up", "wake-up of the fault thread, context switch, recvmsg()",
              "cpu.context_switch, exanest_driver.netlink_receive"},
    .told =
        "The library's fault thread sleeps in recvmsg(). The message wakes it; it gets a core and takes the message."};
inline constexpr StepInfo kResolveBegin{
    .name = "resolve_begin",
    .phase = {worker::kFaultThread, "library parse", "fault thread decodes the message", "exanest_library.parse_fault"},
    .told =
        "The fault thread reads from the message which address has faulted, and of a terminated access which block."};
inline constexpr StepInfo kResolveEnd{
    .name = "resolve_end",
    .phase = {worker::kFaultThread, "resolve", "touch or get_user_pages: fault, zeroing, mapping",
              "os.anon_minor_fault, os.zero_bandwidth, os.syscall, os.gup_per_page"},
    .told = "The fault thread has the kernel bring the page, or pages, by the call that the strategy names."};
// RAPF or local retry handed to the mailbox or the R5.
inline constexpr StepInfo kRetryRequested{
    .name = "retry_requested",
    .phase = {worker::kFaultThread, "retry request", "fault thread writes the RAPF or local retry",
              "exanest_library.post_retry, 4 cpu.mmio_write"},
    .told =
        "The fault thread asks for the block again. It writes the request into registers of the DMA engine: a RAPF to "
        "the source's R5, or a local retry where the source is on this node."};

// The driver has told the SMMU to try a stalled access again, or to end it.
inline constexpr StepInfo kStallResumed{.name = "stall_resumed",
                                        .scope = Scope::node,
                                        .mark = Mark::stall_over,
                                        .phase = {.worker = worker::kKernel},
                                        .told =
                                            "The driver writes RESUME: the SMMU tries the bank's stalled accesses "
                                            "again, or ends them if the page could not be brought."};

}  // namespace step

// In the order in which a transfer with a destination fault meets them.
inline constexpr auto kSteps = std::to_array<sim::Step>(
    {step::kPostBegin, step::kPosted, step::kTransferStarted, step::kBlockScheduled, step::kReadIssued, step::kCellSent,
     step::kCellArrived, step::kBlockAccepted, step::kBlockWritten, step::kBlockPlaced, step::kFaultDetected,
     step::kFaultLogged, step::kHandlerEntered, step::kHandlerDone, step::kTaskletRun, step::kMessageSent,
     step::kLibraryWoken, step::kResolveBegin, step::kResolveEnd, step::kRetryRequested, step::kRetryReceived,
     step::kBlockRequeued, step::kTimedOut, step::kTargetNotified, step::kBlockAcknowledged, step::kNotified,
     step::kCompleted,
     // Of a node.
     smmu::step::kAccessFaulted, cpu::step::kInterruptRaised, cpu::step::kInterruptTaken, step::kStallResumed,
     // Of a small message.
     step::kMessageBegin, step::kMessageComposed, step::kMessagePosted, step::kMessageInjected, step::kMessageArrived,
     step::kMessageDelivered, step::kMessageSeen, step::kMessageReceived, step::kMessageReturned});

static_assert(sim::all_differ(kSteps), "two steps of one name are the same step");

inline constexpr sim::TransferLife kTransferLife{"block", kSteps, "exanest", "exanest_library.message_*"};

}  // namespace faultline::exanest
