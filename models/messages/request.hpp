// SPDX-License-Identifier: Apache-2.0
// A send or a receive that a program has begun, and how it ends.
#pragma once

#include <cstdint>

#include "models/messages/matching.hpp"

namespace faultline::messages {

enum class Ended : std::uint8_t {
  well,
  truncated,  // of a receive: the message was longer; what fits is there
  failed,     // the NIC has given up, because the other rank's process or its page is not there
};

struct Outcome {
  Ended ended = Ended::well;
  std::uint32_t source = 0;  // of a receive: who has sent it
  std::uint32_t tag = 0;
  std::uint64_t bytes = 0;  // of the message that was sent; or that were received
};

// Memory of the program.
struct Span {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

struct Request {
  bool sends;
  Span memory;
  Selector selector;             // of a send: to whom, and the tag
  std::uint32_t peer = kAny;     // of a receive: known when it has a message
  std::uint32_t number = 0;      // the message's, among those of its sender to its receiver
  std::uint32_t other = 0;       // the request at the other end, as far as it is known
  std::uint64_t bytes = 0;       // that move
  std::uint64_t moved = 0;       // of them, in chunks
  std::uint64_t registered = 0;  // bytes of the memory, for this message
  bool moves = false;            // its own NIC moves it: it ends with that transfer
  bool done = false;
  Outcome outcome{};
};

}  // namespace faultline::messages
