// SPDX-License-Identifier: Apache-2.0
// What two messengers send each other. A packet goes within a small message of the NIC, or, with the data of a message
// behind it, into a slot of the receiver's.
#pragma once

#include <array>
#include <cstdint>

#include "models/rdma/endpoint.hpp"
#include "models/sim/content.hpp"

namespace faultline::messages {

enum class PacketKind : std::uint8_t {
  // A message begins: an envelope. Those of one sender are taken in the order of their numbers.
  whole = 1,  // its data are in the packet
  eager,      // its data are in the slot
  reads_it,   // rendezvous: the receiver reads it from words[0]
  writes_it,  // rendezvous: the sender writes it, when it knows where
  copies_it,  // the sender sends chunks, when somebody receives it
  pipes_it,   // pipeline: the first words[0] bytes are in the slot; for the rest the receiver asks part by part
  // A message goes on.
  write_here,   // to the sender: `bytes` from words[2] on to words[0], for the receiver's request words[1]
  send_chunks,  // to the sender: `bytes` from words[2] on, for the receiver's request words[1]
  chunk,        // to the receiver: in the slot, for the message's bytes from words[0] on
  // (words[3] of write_here and send_chunks: the bytes of the message that are received; 0: these are all.)
  finished,  // to either: `bytes` from words[1] on have been read, or written; words[0]: they have not
  // Nothing but what each packet says beside.
  credits,
};

struct Packet {
  static constexpr std::uint64_t kHeaderBytes = 32;  // in a slot, before the data

  PacketKind kind = PacketKind::credits;
  std::uint16_t from = 0;     // rank
  std::uint8_t credits = 0;   // small messages that its sender has taken since it last said so
  std::uint32_t freed = 0;    // slots that its sender has freed since, a bit each
  std::uint32_t number = 0;   // of an envelope: among those of its sender to its receiver
  std::uint32_t tag = 0;      // of an envelope
  std::uint32_t request = 0;  // of an envelope: the sender's; else the addressee's
  std::uint32_t bytes = 0;    // of the message; of what goes on: of that part
  std::array<std::uint64_t, 4> words{};

  // An envelope whose data wait in the slot.
  bool lies_in_slot() const { return kind == PacketKind::eager || (kind == PacketKind::pipes_it && words[0] > 0); }
  // Of write_here and send_chunks.
  std::uint64_t received() const { return words[3] == 0 ? bytes : words[3]; }
  // As a small message, and of how many words; as the header of a slot.
  rdma::Message message() const;
  unsigned message_words() const;
  sim::Content header() const;
  static Packet of(const rdma::Message& message);
  static Packet of(const sim::Content& header);
};

static_assert(sizeof(rdma::Message) == 7 * sizeof(std::uint64_t));

}  // namespace faultline::messages
