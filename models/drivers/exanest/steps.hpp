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
inline constexpr StepInfo kPostBegin{.name = "post_begin",
                                     .scope = Scope::transfer,
                                     .phase = {.worker = worker::kLibrary},
                                     .told = "The program calls the library to post the transfer."};
inline constexpr StepInfo kPosted{
    .name = "posted",
    .scope = Scope::transfer,
    .phase = {worker::kLibrary, "user post", "library code and the descriptor's register writes",
              "exanest_library.post, 7 cpu.mmio_write"},
    .told =
        "The library writes the descriptor (addresses, length, peer) into the registers of its DMA channel. No system "
        "call: the registers are mapped into the process."};
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
// The polling library saw the notification.
inline constexpr StepInfo kCompleted{
    .name = "completed",
    .scope = Scope::transfer,
    .mark = Mark::transfer_over,
    .phase = {worker::kLibrary, "poll", "polling load and library code up to the return",
              "cpu.poll_latency, exanest_library.completion"},
    .told = "The library, which polls the completion word, sees it and returns. For the program the transfer is over."};

// The driver has told the SMMU to try a stalled access again, or to end it.
inline constexpr StepInfo kStallResumed{.name = "stall_resumed",
                                        .scope = Scope::node,
                                        .mark = Mark::stall_over,
                                        .phase = {.worker = worker::kKernel},
                                        .told =
                                            "The driver writes RESUME: the SMMU tries the bank's stalled accesses "
                                            "again, or ends them if the page could not be brought."};

// The library is entered by the sender; its code is done, register writes begin.
inline constexpr StepInfo kMessageBegin{
    .name = "message_begin",
    .scope = Scope::sender,
    .mark = Mark::message_begins,
    .phase = {.worker = worker::kLibrary},
    .told = "The program calls the library to send a small message to the other program."};
inline constexpr StepInfo kMessageComposed{
    .name = "message_composed",
    .scope = Scope::sender,
    .phase = {worker::kLibrary, "library send", "user code of the sender", "exanest_library.message_send"},
    .told = "The library has composed the message."};
// The receiver's polling load has the message; the library has copied it; the slot is given back, the library returns.
inline constexpr StepInfo kMessageSeen{
    .name = "message_seen",
    .scope = Scope::receiver,
    .phase = {worker::kLibrary, "slot write and poll", "write of the mailbox slot, the load that sees it",
              "axi.*, ddr.*, cpu.poll_latency"},
    .told = "The mailbox has written the message into its slot in memory, and the receiver's polling load sees it."};
inline constexpr StepInfo kMessageReceived{
    .name = "message_received",
    .scope = Scope::receiver,
    .phase = {worker::kLibrary, "library receive", "user code of the receiver", "exanest_library.message_receive"},
    .told = "The receiver's library has copied the message and returns it to its program."};
inline constexpr StepInfo kMessageReturned{
    .name = "message_returned",
    .scope = Scope::receiver,
    .mark = Mark::message_kept,
    .phase = {worker::kLibrary, "slot release", "the mailbox slot is given back", "cpu.mmio_write"},
    .told = "The receiver's library gives the mailbox slot back."};

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

inline constexpr sim::TransferLife kTransferLife{"block", kSteps, "exanest_library.message_*"};

}  // namespace faultline::exanest
