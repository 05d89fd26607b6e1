// SPDX-License-Identifier: Apache-2.0
#include "models/messages/packet.hpp"

namespace faultline::messages {
namespace {

constexpr unsigned kFixedWords = 3;

std::uint64_t both(std::uint32_t low, std::uint32_t high) { return low | std::uint64_t{high} << 32; }

}  // namespace

rdma::Message Packet::message() const {
  return {both(static_cast<std::uint32_t>(kind) | std::uint32_t{from} << 8 | std::uint32_t{credits} << 24, freed),
          both(number, tag),
          both(request, bytes),
          words[0],
          words[1],
          words[2],
          words[3]};
}

unsigned Packet::message_words() const {
  switch (kind) {
    case PacketKind::whole: return kFixedWords + (bytes + 7) / 8;
    case PacketKind::write_here:
    case PacketKind::send_chunks: return kFixedWords + (words[3] == 0 ? 2 : 4);
    case PacketKind::finished: return kFixedWords + (words[1] == 0 ? 1 : 2);
    case PacketKind::reads_it:
    case PacketKind::pipes_it: return kFixedWords + 1;
    default: return kFixedWords;
  }
}

sim::Content Packet::header() const {
  const rdma::Message all = message();
  sim::Content content;
  for (unsigned i = 0; i < kHeaderBytes / 8; ++i) content.append(sim::Content::literal(all[i], 8));
  return content;
}

Packet Packet::of(const rdma::Message& message) {
  const auto low = [&](unsigned word) { return static_cast<std::uint32_t>(message[word]); };
  const auto high = [&](unsigned word) { return static_cast<std::uint32_t>(message[word] >> 32); };
  return {.kind = static_cast<PacketKind>(low(0) & 0xff),
          .from = static_cast<std::uint16_t>(low(0) >> 8),
          .credits = static_cast<std::uint8_t>(low(0) >> 24),
          .freed = high(0),
          .number = low(1),
          .tag = high(1),
          .request = low(2),
          .bytes = high(2),
          .words = {message[3], message[4], message[5], message[6]}};
}

Packet Packet::of(const sim::Content& header) {
  rdma::Message message{};
  for (unsigned i = 0; i < kHeaderBytes / 8; ++i) message[i] = header.word(8 * i);
  return of(message);
}

}  // namespace faultline::messages
