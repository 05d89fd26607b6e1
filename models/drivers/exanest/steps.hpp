// SPDX-License-Identifier: Apache-2.0
// What library, fault thread and kernel tell of transfers, faults and small messages, and the whole life of a transfer.
#pragma once

#include <array>

#include "models/cpu/steps.hpp"
#include "models/nic/exanest/steps.hpp"
#include "models/smmu/steps.hpp"

namespace faultline::exanest {

namespace worker {

inline constexpr sim::WorkerInfo kKernel{"kernel", 4};
inline constexpr sim::WorkerInfo kFaultThread{"fault thread", 5};

}  // namespace worker

namespace step {

// The library is entered by the caller; the descriptor is written to the channel's registers.
inline constexpr StepInfo kPostBegin{.name = "post_begin", .scope = Scope::transfer};
inline constexpr StepInfo kPosted{
    .name = "posted",
    .scope = Scope::transfer,
    .phase = {worker::kLibrary, "user post", "library code and the descriptor's register writes",
              "exanest_library.post, 7 cpu.mmio_write"}};
// First instruction of the context-fault handler; it has read and cleared the bank.
inline constexpr StepInfo kHandlerEntered{
    .name = "handler_entered",
    .phase = {worker::kKernel, "interrupt to handler", "interrupt controller and kernel entry up to the handler",
              "cpu.irq_to_handler"}};
inline constexpr StepInfo kHandlerDone{
    .name = "handler_done",
    .phase = {worker::kKernel, "handler", "reads the context bank, clears the record",
              "smmu_driver.handler_body, 4 cpu.mmio_read, cpu.mmio_write"}};
// The tasklet starts on the record; its netlink message is queued to the library.
inline constexpr StepInfo kTaskletRun{
    .name = "tasklet_run",
    .phase = {worker::kKernel, "tasklet dispatch", "end of interrupt up to the tasklet", "cpu.tasklet_delay"}};
inline constexpr StepInfo kMessageSent{
    .name = "message_sent",
    .phase = {worker::kKernel, "tasklet", "drains the fault FIFO, builds the netlink message",
              "exanest_driver.netlink_send, 6 cpu.mmio_read, cpu.mmio_write"}};
// The library's fault thread has the message; it has parsed it and starts to resolve; pages are present.
inline constexpr StepInfo kLibraryWoken{
    .name = "library_woken",
    .phase = {worker::kFaultThread, "netlink and wake-up", "wake-up of the fault thread, context switch, recvmsg()",
              "cpu.context_switch, exanest_driver.netlink_receive"}};
inline constexpr StepInfo kResolveBegin{.name = "resolve_begin",
                                        .phase = {worker::kFaultThread, "library parse",
                                                  "fault thread decodes the message", "exanest_library.parse_fault"}};
inline constexpr StepInfo kResolveEnd{
    .name = "resolve_end",
    .phase = {worker::kFaultThread, "resolve", "touch or get_user_pages: fault, zeroing, mapping",
              "os.anon_minor_fault, os.zero_bandwidth, os.syscall, os.gup_per_page"}};
// RAPF or local retry handed to the mailbox or the R5.
inline constexpr StepInfo kRetryRequested{
    .name = "retry_requested",
    .phase = {worker::kFaultThread, "retry request", "fault thread writes the RAPF or local retry",
              "exanest_library.post_retry, 4 cpu.mmio_write"}};
// The polling library saw the notification.
inline constexpr StepInfo kCompleted{
    .name = "completed",
    .scope = Scope::transfer,
    .mark = Mark::transfer_over,
    .phase = {worker::kLibrary, "poll", "polling load and library code up to the return",
              "cpu.poll_latency, exanest_library.completion"}};

// The driver has told the SMMU to try a stalled access again, or to end it.
inline constexpr StepInfo kStallResumed{.name = "stall_resumed", .scope = Scope::node};

// The library is entered by the sender; its code is done, register writes begin.
inline constexpr StepInfo kMessageBegin{.name = "message_begin", .scope = Scope::sender, .mark = Mark::message_begins};
inline constexpr StepInfo kMessageComposed{
    .name = "message_composed",
    .scope = Scope::sender,
    .phase = {worker::kLibrary, "library send", "user code of the sender", "exanest_library.message_send"}};
// The receiver's polling load has the message; the library has copied it; the slot is given back, the library returns.
inline constexpr StepInfo kMessageSeen{
    .name = "message_seen",
    .scope = Scope::receiver,
    .phase = {worker::kLibrary, "slot write and poll", "write of the mailbox slot, the load that sees it",
              "axi.*, ddr.*, cpu.poll_latency"}};
inline constexpr StepInfo kMessageReceived{
    .name = "message_received",
    .scope = Scope::receiver,
    .phase = {worker::kLibrary, "library receive", "user code of the receiver", "exanest_library.message_receive"}};
inline constexpr StepInfo kMessageReturned{
    .name = "message_returned",
    .scope = Scope::receiver,
    .mark = Mark::message_kept,
    .phase = {worker::kLibrary, "slot release", "the mailbox slot is given back", "cpu.mmio_write"}};

}  // namespace step

// In the order in which a transfer with a destination fault meets them.
inline constexpr auto kSteps = std::to_array<sim::Step>(
    {step::kPostBegin, step::kPosted, step::kTransferStarted, step::kBlockScheduled, step::kReadIssued, step::kCellSent,
     step::kCellArrived, step::kBlockWritten, step::kFaultDetected, step::kFaultLogged, step::kHandlerEntered,
     step::kHandlerDone, step::kTaskletRun, step::kMessageSent, step::kLibraryWoken, step::kResolveBegin,
     step::kResolveEnd, step::kRetryRequested, step::kRetryReceived, step::kBlockRequeued, step::kTimedOut,
     step::kBlockAcknowledged, step::kNotified, step::kCompleted,
     // Of a node.
     smmu::step::kAccessFaulted, cpu::step::kInterruptRaised, cpu::step::kInterruptTaken, step::kStallResumed,
     // Of a small message.
     step::kMessageBegin, step::kMessageComposed, step::kMessagePosted, step::kMessageInjected, step::kMessageArrived,
     step::kMessageDelivered, step::kMessageSeen, step::kMessageReceived, step::kMessageReturned});

static_assert(sim::all_differ(kSteps), "two steps of one name are the same step");

inline constexpr sim::TransferLife kTransferLife{"block", kSteps, "exanest_library.message_*"};

}  // namespace faultline::exanest
