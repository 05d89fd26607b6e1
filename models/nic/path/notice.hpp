// SPDX-License-Identifier: Apache-2.0
// What a write tells the process at its target once all of it is placed there, and how its cells carry that: two words
// of each cell's header. The published cell has no such field; that its header has room for one is assumed.
#pragma once

#include <cstdint>
#include <utility>

#include "models/sim/trace.hpp"

namespace faultline::nic {

enum class NoticeKind : std::uint8_t {
  none,
  word,     // a word in memory of the process gets the notice's number
  counter,  // an event counter of the engine goes one on
  queue,    // an entry in the process's event queue
};
inline constexpr NoticeKind kLastNoticeKind = NoticeKind::queue;

struct Notice {
  NoticeKind kind = NoticeKind::none;
  std::uint16_t index = 0;       // which word or counter; of an entry: what the sender likes
  std::uint8_t channel = 0;      // of the source node: its notices have numbers of their own
  std::uint32_t blocks = 0;      // that the transfer has
  std::uint64_t number = 0;      // from 1; below 2^56
  std::uint64_t first_open = 0;  // the lowest number of the channel whose transfer has not ended at the source

  explicit operator bool() const { return kind != NoticeKind::none; }
};

// A channel begins no transfer whose notice is so much further than its first open one.
inline constexpr std::uint64_t kNoticeWindow = 64;

using NoticeWords = std::pair<std::uint64_t, std::uint64_t>;

constexpr NoticeWords pack(const Notice& n) {
  return {static_cast<std::uint64_t>(n.kind) | std::uint64_t{n.index} << 8 | std::uint64_t{n.channel} << 24 |
              std::uint64_t{n.blocks} << 32,
          n.number | (n.number - n.first_open) << 56};
}

constexpr Notice unpack_notice(std::uint64_t first, std::uint64_t second) {
  const std::uint64_t number = second & ((std::uint64_t{1} << 56) - 1);
  return {static_cast<NoticeKind>(first & 0xff),
          static_cast<std::uint16_t>(first >> 8),
          static_cast<std::uint8_t>(first >> 24),
          static_cast<std::uint32_t>(first >> 32),
          number,
          number - (second >> 56)};
}

}  // namespace faultline::nic
