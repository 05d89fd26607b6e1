// SPDX-License-Identifier: Apache-2.0
// Which receive takes which message, by MPI's rules: a receive takes the oldest message that it matches, a message goes
// to the oldest receive that it matches. Two queues: receives that wait for a message, and messages that nobody waits
// for. Takes no simulated time, but says how many entries were looked at.
#pragma once

#include <cstdint>
#include <list>
#include <optional>

#include "models/sim/recycling.hpp"

namespace faultline::messages {

inline constexpr std::uint32_t kAny = UINT32_MAX;  // source, or tag, of a receive that takes every one
// Tags from here on are the library's own, for collective calls. A receive of any tag takes none of them.
inline constexpr std::uint32_t kOwnTags = std::uint32_t{1} << 31;

struct Envelope {
  std::uint32_t source;  // rank
  std::uint32_t tag;     // below kAny
};

// What a receive takes; each may be kAny.
struct Selector {
  std::uint32_t source = kAny;
  std::uint32_t tag = kAny;
  bool takes(const Envelope& message) const {
    return (source == kAny || source == message.source) && (tag == kAny ? message.tag < kOwnTags : tag == message.tag);
  }
};

class Matching {
 public:
  using Id = std::uint64_t;  // the caller's name of a receive, or of a message
  struct Found {
    std::optional<Id> id;
    std::size_t looked_at;  // entries of the queue
  };

  // A receive: the message that it takes, which leaves the queue; or the receive waits.
  Found receive(Selector selector, Id receive);
  // A message: the receive that takes it, which leaves the queue; or the message waits. Those of one source must come
  // in the order in which that one has sent them.
  Found arrive(Envelope envelope, Id message);

  std::size_t receives() const { return receives_.size(); }
  std::size_t messages() const { return messages_.size(); }

 private:
  struct Receive {
    Selector selector;
    Id id;
  };
  struct Message {
    Envelope envelope;
    Id id;
  };
  sim::List<Receive> receives_;
  sim::List<Message> messages_;
};

}  // namespace faultline::messages
