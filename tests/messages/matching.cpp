// SPDX-License-Identifier: Apache-2.0
// Matching against the rules of MPI, spelt out over the whole history.
#include "models/messages/matching.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <optional>
#include <vector>

#include "models/messages/messenger.hpp"
#include "models/messages/packet.hpp"

using namespace faultline;
using messages::Envelope;
using messages::kAny;
using messages::Matching;
using messages::Selector;

namespace {

// What has happened, and not what is in queues.
struct History {
  struct Entry {
    bool is_receive;
    Selector selector{};
    Envelope envelope{};
    std::optional<std::size_t> partner{};
  };
  std::vector<Entry> entries;

  static bool fits(const Selector& s, const Envelope& e) {
    const bool source = s.source == kAny || s.source == e.source;
    const bool tag = s.tag == e.tag || (s.tag == kAny && e.tag < messages::kOwnTags);
    return source && tag;
  }
  // The oldest entry of the other kind that has no partner and fits; and how many without one were older, with it.
  Matching::Found add(Entry entry) {
    const std::size_t number = entries.size();
    Matching::Found found{std::nullopt, 0};
    for (std::size_t i = 0; i < number && !found.id; ++i) {
      const Entry& other = entries[i];
      if (other.is_receive == entry.is_receive || other.partner) continue;
      ++found.looked_at;
      const bool match = entry.is_receive ? fits(entry.selector, other.envelope) : fits(other.selector, entry.envelope);
      if (match) found.id = i;
    }
    entries.push_back(entry);
    if (found.id) {
      entries[number].partner = *found.id;
      entries[*found.id].partner = number;
    }
    return found;
  }
};

}  // namespace

TEST_CASE("matching is MPI's, whatever is sent and received") {
  CHECK(rc::check([] {
    Matching matching;
    History history;
    const auto operations = *rc::gen::inRange(1, 120);
    for (int i = 0; i < operations; ++i) {
      const bool receives = *rc::gen::arbitrary<bool>();
      const auto any = [](std::uint32_t value, std::uint32_t last) { return value == last ? kAny : value; };
      const auto source = *rc::gen::inRange(0U, 4U);
      auto tag = *rc::gen::inRange(0U, 4U);
      const auto id = static_cast<Matching::Id>(history.entries.size());
      Matching::Found is{};
      Matching::Found should{};
      if (receives) {
        const Selector selector{any(source, 3), any(tag, 3)};
        should = history.add({.is_receive = true, .selector = selector});
        is = matching.receive(selector, id);
      } else {
        if (tag == 3) tag = messages::kOwnTags + 1;  // a collective call's, which no receive of any tag takes
        const Envelope envelope{source, tag};
        should = history.add({.is_receive = false, .envelope = envelope});
        is = matching.arrive(envelope, id);
      }
      RC_ASSERT(is.id == should.id);
      RC_ASSERT(is.looked_at == should.looked_at);
    }
    std::size_t open[2] = {0, 0};
    for (const auto& entry : history.entries) open[entry.is_receive ? 1 : 0] += entry.partner ? 0 : 1;
    RC_ASSERT(matching.messages() == open[0]);
    RC_ASSERT(matching.receives() == open[1]);
  }));
}

TEST_CASE("a packet is the same behind a small message and behind a slot's header") {
  using messages::Packet;
  const Packet packet{.kind = messages::PacketKind::write_here,
                      .from = 65535,
                      .credits = 255,
                      .freed = 0xfedcba98,
                      .number = 0x89abcdef,
                      .tag = 0x80000001,
                      .request = 0x12345678,
                      .bytes = 0xffffffff,
                      .words = {1, 2, 3, UINT64_MAX}};
  const Packet message = Packet::of(packet.message());
  const auto same = [&](const Packet& other) {
    return other.kind == packet.kind && other.from == packet.from && other.credits == packet.credits &&
           other.freed == packet.freed && other.number == packet.number && other.tag == packet.tag &&
           other.request == packet.request && other.bytes == packet.bytes && other.words[0] == packet.words[0];
  };
  CHECK(same(message));
  CHECK(message.words == packet.words);
  CHECK(packet.header().size() == Packet::kHeaderBytes);
  CHECK(same(Packet::of(packet.header())));
}

// The bound that credits keep: what others may have in a mailbox at a time.
TEST_CASE("credits of all ranks fit in a mailbox, with the packets that give credits back") {
  using messages::Messenger;
  for (unsigned ranks = 1; ranks <= 17; ++ranks) {
    INFO(ranks);
    const unsigned credits = Messenger::credits(ranks, 64);
    REQUIRE(credits > 0);
    // Half of the credits a packet, so that two are under way at most, or one where there is one credit; of slots two.
    const unsigned giving = (credits == 1 ? 1 : 2) + 2;
    CHECK((ranks - 1) * (credits + giving) <= 64);
  }
  CHECK(Messenger::credits(18, 64) == 0);
}
