// SPDX-License-Identifier: Apache-2.0
// Register map of the data path, as software sees it over MMIO. All registers are 64 bits wide. A NIC may have more on
// its privileged page (RegisterFile). The layout is ours: none is published.
#pragma once

#include <cstdint>

namespace faultline::nic {

// A PDID travels as the AXI ID [5:0] that the PL drives, so there are 64. UG1085: HPC0 puts 0b1000 before it.
namespace reg {
inline constexpr std::uint32_t kPdids = 64;
}
constexpr std::uint32_t hpc0_master_id(std::uint32_t pdid) { return 0b1000u << 6 | pdid % reg::kPdids; }
// The process for which a master of hpc0_master_id() accesses memory.
constexpr std::uint32_t pdid_of(std::uint32_t master_id) { return master_id % reg::kPdids; }

namespace reg {

// One page for each channel, mapped into the process that owns the channel.
inline constexpr std::uint64_t kChannelStride = 0x1000;
// A transfer descriptor is written field by field; writing kCommand posts it.
inline constexpr std::uint64_t kSource = 0x00;       // W  virtual address at the source of the data
inline constexpr std::uint64_t kDestination = 0x08;  // W  virtual address at its destination
inline constexpr std::uint64_t kLength = 0x10;       // W  bytes, 1 to 4 GiB
inline constexpr std::uint64_t kPeer = 0x18;         // W  remote node [31:0], remote PDID [47:32], below kPdids
inline constexpr std::uint64_t kNotify = 0x20;       // W  local virtual address of the 8-byte notification word
inline constexpr std::uint64_t kCookie = 0x28;       // W  [55:0] comes back in the notification
inline constexpr std::uint64_t kCommand = 0x30;      // W  kCommandWrite or kCommandRead: posts
inline constexpr std::uint64_t kStatus =
    0x38;  // R  id of the transfer last posted; 0: refused (malformed, no such PDID, queue full)
// Packetizer: the words are written first, then kMessageSend sends as many of them as it says.
inline constexpr std::uint64_t kMessageWord0 = 0x40;  // W  eight words up to 0x78
inline constexpr std::uint64_t kMessageSend = 0x80;   // W  destination node [31:0], PDID [47:32], kMessageTo* [63:56],
                                                      //    number of words (1 to 8) [55:48]
inline constexpr std::uint64_t kMailboxHead =
    0x88;  // W  messages that the owner has consumed since the ring was set up
           //    (a running total; frees ring slots)
// What the next write that is posted tells the process at its target once all of it is placed: NoticeKind [7:0], word,
// counter or any number for the receiver [23:8]. Posting sets it back to 0, nothing.
inline constexpr std::uint64_t kNotice = 0x90;  // W
// What the process is told itself. kEventArm wakes it, by an interrupt, once: as soon as event counter [23:8] is not
// kEventCount (NoticeKind::counter in [7:0]), or other than so many entries have come into its event queue
// (NoticeKind::queue). So a process that has taken so many is woken for the next one, unless a counter has gone round.
inline constexpr std::uint64_t kEventCount = 0x98;  // W
inline constexpr std::uint64_t kEventArm = 0xa0;    // W
inline constexpr std::uint64_t kEventTaken = 0xa8;  // W  entries that the owner has taken since the queue was set up
inline constexpr std::uint64_t kEventCounter0 = 0x100;  // R  kEventCounters of them; they go round
inline constexpr unsigned kEventCounters = 16;          // of each process
// A word for notices has a cache line of its own. A notice writes there how many the process has been given in words:
// each value differs from those before.
inline constexpr std::uint64_t kNoticeWordBytes = 64;
// An entry of the event queue, entry n (from 0) in place n mod entries: the transfer, then a word that makes the entry
// valid: n + 1 [31:0], the notice's number for the receiver [47:32].
inline constexpr std::uint64_t kEventBytes = 16;
inline constexpr unsigned kEventIndexShift = 32;

inline constexpr std::uint64_t kCommandWrite = 1;   // RDMA write: local kSource to remote kDestination
inline constexpr std::uint64_t kCommandRead = 2;    // RDMA read: remote kSource to local kDestination
inline constexpr std::uint64_t kMessageToUser = 0;  // to the mailbox ring of process PDID
inline constexpr std::uint64_t kMessageToNic = 1;   // to the mailbox of the node's NIC itself

// The notification word: cookie << 8 | status.
inline constexpr std::uint64_t kNotifyDone = 1;
// The transfer was given up: too many timeouts or retransmission requests of a block, a peer that does not answer, or
// an abort (by software that found no page for an address, had no memory for one, or is done with the process).
inline constexpr std::uint64_t kNotifyError = 2;

// A slot of the mailbox ring: words 0 to 6 of the message, then a header that makes the slot valid. So a message to a
// user has at most 7 words; one of 8 is dropped. Message n (from 0) goes to slot n mod slots.
inline constexpr std::uint64_t kSlotBytes = 64;
inline constexpr std::uint64_t kSlotHeader = 56;  // offset: n + 1 [31:0], source node [55:32], words [63:56]

// Privileged page, for the kernel driver, after the channel pages (at kChannelStride * channels).
inline constexpr std::uint64_t kChannelSelect = 0x00;   // W  channel that the next three registers set up
inline constexpr std::uint64_t kChannelPdid = 0x08;     // W  process that owns it: PDID, below kPdids
inline constexpr std::uint64_t kChannelMailbox = 0x10;  // W  virtual address of the process's mailbox ring; 0: none
inline constexpr std::uint64_t kChannelSlots = 0x18;    // W  ring slots of 64 bytes
// W  a channel, whichever is selected: it takes no posts until it has a PDID again. What its process has posted, and
//    what is sent of its memory, ends with kNotifyError; its mailbox ring is gone.
inline constexpr std::uint64_t kChannelClose = 0x20;
// Of the selected channel's process, where its notices go. Page-aligned virtual addresses; 0 words or entries: none.
inline constexpr std::uint64_t kNoticeWords = 0x28;      // W  address; then
inline constexpr std::uint64_t kNoticeWordCount = 0x30;  // W  their number
inline constexpr std::uint64_t kEventQueue = 0x38;       // W  address; then
inline constexpr std::uint64_t kEventEntries = 0x70;     // W  places
// The engine's interrupt is high while a process is to be woken.
inline constexpr std::uint64_t kEventPending = 0x78;  // R  PDID of the lowest of these, or kNoEvent
inline constexpr std::uint64_t kEventAck = 0x80;      // W  PDID: it has been woken
inline constexpr std::uint64_t kNoEvent = UINT64_MAX;
// Fault FIFO: kFaultCount first; reading kFaultWord0..3 shows the oldest record, writing kFaultPop drops it.
inline constexpr std::uint64_t kFaultCount = 0x40;  // R  records waiting
inline constexpr std::uint64_t kFaultWord0 = 0x48;  // R  page-aligned virtual address | kFaultAtSource
inline constexpr std::uint64_t kFaultWord1 =
    0x50;  // R  local PDID [15:0], peer node (where the block's data come from) [63:32]
inline constexpr std::uint64_t kFaultWord2 = 0x58;  // R  transfer id
inline constexpr std::uint64_t kFaultWord3 = 0x60;  // R  block [31:0], attempt [63:32]
inline constexpr std::uint64_t kFaultPop = 0x68;    // W  any value
inline constexpr std::uint64_t kFaultAtSource =
    1;  // bit 0 of word 0: the send unit's read, else the receive unit's write

// From here on the registers that a NIC has of its own (OwnRegisters).
inline constexpr std::uint64_t kOwn = 0x800;

// What a receive unit says of a block that it has stopped.
inline constexpr std::uint64_t kRefused = 0;
inline constexpr std::uint64_t kNoProcess = 1;  // nobody has the PDID

inline constexpr std::uint64_t kReadRunning = 0;  // answer to a repeated kReadRequest of a read still under way

// Messages between NICs: word 0 is the operation, then its arguments. A NIC may have more.
inline constexpr std::uint64_t kReadRequest = 2;  // transfer, source, destination, length,
                                                  // initiator node [31:0], its PDID [47:32], the data's PDID [63:48]
inline constexpr std::uint64_t kReadDone = 3;     // transfer, status: kNotify*, or kReadRunning
inline constexpr std::uint64_t kAbort = 4;        // transfer: end it with kNotifyError

}  // namespace reg

}  // namespace faultline::nic
