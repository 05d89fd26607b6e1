// SPDX-License-Identifier: Apache-2.0
// What a user library tells of transfers and of small messages. NIC stands for the group of the NIC's own parameters.
#pragma once

#include "models/nic/path/steps.hpp"

namespace faultline::library::step {

namespace worker = nic::worker;
using sim::Mark;
using sim::Scope;
using sim::StepInfo;

// The library is entered by the caller; the descriptor is written to the channel's registers.
inline constexpr StepInfo kPostBegin{.name = "post_begin",
                                     .scope = Scope::transfer,
                                     .phase = {.worker = worker::kLibrary},
                                     .told = "The program calls the library to post the transfer."};
inline constexpr StepInfo kPosted{
    .name = "posted",
    .scope = Scope::transfer,
    .phase = {worker::kLibrary, "user post", "library code and the descriptor's register writes",
              "NIC_library.post, 7 cpu.mmio_write"},
    .told =
        "The library writes the descriptor (addresses, length, peer) into the registers of its DMA channel. No system "
        "call: the registers are mapped into the process."};
// The polling library saw the notification.
inline constexpr StepInfo kCompleted{
    .name = "completed",
    .scope = Scope::transfer,
    .mark = Mark::transfer_over,
    .phase = {worker::kLibrary, "poll", "polling load and library code up to the return",
              "cpu.poll_latency, NIC_library.completion"},
    .told = "The library, which polls the completion word, sees it and returns. For the program the transfer is over."};

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
    .phase = {worker::kLibrary, "library send", "user code of the sender", "NIC_library.message_send"},
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
    .phase = {worker::kLibrary, "library receive", "user code of the receiver", "NIC_library.message_receive"},
    .told = "The receiver's library has copied the message and returns it to its program."};
inline constexpr StepInfo kMessageReturned{
    .name = "message_returned",
    .scope = Scope::receiver,
    .mark = Mark::message_kept,
    .phase = {worker::kLibrary, "slot release", "the mailbox slot is given back", "cpu.mmio_write"},
    .told = "The receiver's library gives the mailbox slot back."};

}  // namespace faultline::library::step
