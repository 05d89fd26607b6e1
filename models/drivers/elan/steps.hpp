// SPDX-License-Identifier: Apache-2.0
// What driver and library of this NIC tell of transfers and traps, and the whole life of a transfer.
#pragma once

#include <array>

#include "models/cpu/steps.hpp"
#include "models/drivers/library/steps.hpp"
#include "models/nic/elan/steps.hpp"

namespace faultline::elan {

namespace worker {

inline constexpr sim::WorkerInfo kKernel{"kernel", 4};
inline constexpr sim::WorkerInfo kDriver{"driver's thread", 5};

}  // namespace worker

namespace step {

using namespace library::step;

// First instruction of the handler; it has taken the trap's record.
inline constexpr StepInfo kHandlerEntered{
    .name = "handler_entered",
    .phase = {worker::kKernel, "interrupt to handler", "interrupt controller and kernel entry up to the handler",
              "cpu.irq_to_handler"},
    .told =
        "The NIC's interrupt line is high, so a core leaves what it did, enters the kernel and reaches the handler."};
inline constexpr StepInfo kTrapTaken{
    .name = "trap_taken",
    .mark = Mark::fault_taken,
    .phase = {worker::kKernel, "handler", "takes the trap's record and wakes the driver's thread",
              "NIC_driver.trap_handler, 5 cpu.mmio_read, cpu.mmio_write"},
    .told = "The handler takes the trap's record from the NIC and wakes the driver's thread for the process."};
// The driver's thread turns to the trap; the page is present and its entry in the NIC's table.
inline constexpr StepInfo kResolveBegin{
    .name = "resolve_begin",
    .phase = {worker::kDriver, "wake-up", "wake-up of the driver's thread, traps before this one",
              "cpu.context_switch"},
    .told = "The driver's thread gets a core and turns to the trap."};
inline constexpr StepInfo kResolveEnd{
    .name = "resolve_end",
    .mark = Mark::fault_answered,
    .phase = {worker::kDriver, "resolve", "page fault in the kernel, and the entry's load",
              "NIC_driver.trap_service, os.anon_minor_fault, os.zero_bandwidth, NIC_driver.load, 2 cpu.mmio_write"},
    .told = "The driver's thread has the kernel bring the page, and loads the entry into the NIC's table."};
// Of a node: the NIC's MMU has refused an access.
inline constexpr StepInfo kAccessRefused{
    .name = "access_refused", .scope = Scope::node, .mark = Mark::told_as_fault, .phase = {.worker = worker::kKernel}};

}  // namespace step

// In the order in which a transfer with a destination fault meets them.
inline constexpr auto kSteps = std::to_array<sim::Step>(
    {step::kPostBegin, step::kPosted, step::kTransferStarted, step::kBlockScheduled, step::kReadIssued, step::kCellSent,
     step::kCellArrived, step::kBlockAccepted, step::kBlockWritten, step::kBlockPlaced, step::kFaultDetected,
     step::kFaultLogged, step::kNakReceived, step::kHandlerEntered, step::kTrapTaken, step::kResolveBegin,
     step::kResolveEnd, step::kBlockRequeued, step::kBackOffOver, step::kTimedOut, step::kTargetNotified,
     step::kBlockAcknowledged, step::kNotified, step::kCompleted,
     // Of a node.
     step::kAccessRefused, cpu::step::kInterruptRaised, cpu::step::kInterruptTaken,
     // Of a small message.
     step::kMessageBegin, step::kMessageComposed, step::kMessagePosted, step::kMessageInjected, step::kMessageArrived,
     step::kMessageDelivered, step::kMessageSeen, step::kMessageReceived, step::kMessageReturned});

static_assert(sim::all_differ(kSteps), "two steps of one name are the same step");

inline constexpr sim::TransferLife kTransferLife{"block", kSteps, "elan", "elan_library.message_*"};

}  // namespace faultline::elan
