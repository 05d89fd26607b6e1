// SPDX-License-Identifier: Apache-2.0
// How a process learns that another one has written to it: what the write leaves behind once it is placed, and how the
// process waits for that.
#pragma once

#include <cstdint>

namespace faultline::rdma {

// What a write leaves at its target, beside the data.
enum class NoticeKind : std::uint8_t {
  none,
  word,     // a word in the target's memory changes: one for each process that may write
  counter,  // an event counter of the target's NIC goes one on
  queue,    // an entry in the target's event queue
};

struct Notice {
  NoticeKind kind = NoticeKind::none;
  std::uint16_t index = 0;  // which word or counter; in the queue: what the receiver gets with the entry
};

enum class Waiting : std::uint8_t {
  polls,    // loads or register reads, one after the other
  sleeps,   // in the kernel, until the NIC's interrupt
  handles,  // likewise; the kernel then calls a handler of the program
};

// What a process waits for: the next notice of a kind that it has not yet taken. A word can be polled only, as no NIC
// sees that it changes.
struct Awaited {
  NoticeKind kind;
  std::uint16_t index = 0;  // of a word or counter; of the queue the oldest entry is taken, whatever it says
  Waiting waiting = Waiting::polls;
};

}  // namespace faultline::rdma
