// SPDX-License-Identifier: Apache-2.0
// How a library for messages sends what: which way a message of how many bytes goes, through how much memory, at what
// cost. The NIC's own costs are the NIC's parameters.
#pragma once

#include <cstdint>

#include "models/sim/parameters.hpp"

namespace faultline::messages {

using namespace std::chrono_literals;

// How a message goes that is too long for a slot of the receiver's.
enum class Large : std::uint8_t {
  rendezvous_read,   // the receiver reads it from the sender's buffer
  rendezvous_write,  // the sender writes it into the receiver's buffer, when the receiver has told where that is
  copies,            // through the slots, in chunks that grow; no buffer is registered
  pipeline,          // its begin with the envelope, then some copies while the first parts are registered, then parts
};

// Which way all messages go.
enum class Way : std::uint8_t {
  by_length,  // within a small message, eager, or as Large says
  eager,
  rendezvous_read,
  rendezvous_write,
  copies,
  pipeline,
  sockets,  // through the kernels of both nodes
};

// Who takes what has come while the program does something else.
enum class Progress : std::uint8_t {
  in_calls,  // nobody: only calls of the library that wait do
  thread,    // a thread of the library, which polls
};

struct MessageConfig {
  static constexpr std::uint64_t kShortBytes =
      32;  // that fit in a small message of the NIC, beside what is said of them
  static constexpr unsigned kMostSlots = 32;

  Way way = Way::by_length;
  std::uint64_t short_bytes = kShortBytes;
  std::uint64_t eager_bytes = 16384;
  std::uint64_t slot_bytes = 16384;
  unsigned slots = 8;
  Large large = Large::rendezvous_read;
  std::uint64_t chunk_first = 4096;
  std::uint64_t chunk_last = 16384;
  std::uint64_t pipeline_copied = std::uint64_t{32} << 10;
  std::uint64_t pipeline_part = std::uint64_t{128} << 10;
  unsigned pipeline_depth = 4;
  Progress progress = Progress::in_calls;
  sim::Time call = 300ns;
  sim::Time match = 20ns;
  sim::Time lock = 50ns;

  // What keeps messages safe and sums right, which no user switches off: for tests that show what happens without it.
  bool honours_credits = true;
  bool keeps_order = true;
  bool adds_up = true;

  void declare(sim::ParameterTable& table);
  // How a message that is neither whole nor eager goes.
  Large way_of_large() const;
  // Whether a message of so many bytes is eager, or goes within a small message, if there is a slot for it.
  bool is_eager(std::uint64_t bytes) const { return way == Way::by_length ? bytes <= eager_bytes : way == Way::eager; }
  // Of the slots, those that messages may lie in until somebody receives them. Chunks always find one of the others.
  unsigned eager_slots() const { return slots / 2; }
};

std::vector<sim::Conflict> conflicts(const MessageConfig& config);

}  // namespace faultline::messages
