// SPDX-License-Identifier: Apache-2.0
// A send or a receive that a program has begun, and how it ends.
#pragma once

#include <cstdint>

#include "models/messages/matching.hpp"
#include "models/rdma/pipeline.hpp"
#include "models/sim/recycling.hpp"

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
  Selector selector;                             // of a send: to whom, and the tag
  std::uint32_t peer = kAny;                     // of a receive: known when it has a message
  std::uint32_t number = 0;                      // the message's, among those of its sender to its receiver
  std::uint32_t other = 0;                       // the request at the other end, as far as it is known
  std::uint64_t bytes = 0;                       // that move
  std::uint64_t moved = 0;                       // of them
  std::uint64_t asked = 0;                       // of a receive: those that its sender has been asked for
  sim::SmallVector<rdma::Part, 2> registered{};  // of the memory, for this message
  unsigned posts = 0;        // transfers of its own NIC that move parts of it: it ends with the last one
  bool part_failed = false;  // one of those that have ended
  bool done = false;
  Outcome outcome{};
};

}  // namespace faultline::messages
