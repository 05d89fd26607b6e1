// SPDX-License-Identifier: Apache-2.0
// What leaves a router: trains are announced at outputs, their slots to where they come from.
#include <algorithm>
#include <utility>

#include "models/network/train_router.hpp"

namespace faultline::network {

using namespace sim;

void TrainRouter::decided(Switch::Transit& transit, std::uint32_t from) {
  Passage& passage = static_cast<Passage&>(transit);
  const std::uint32_t before = std::exchange(passage.told, passage.departures.size());
  if (from < passage.told && switch_.is_lost(passage, from)) {
    lose(passage, from);
  } else {
    count(passage.output, std::int64_t{passage.told} - before, passage.train->cell_bytes, passage.service);
    if (passage.output != kLocalPort) {
      announce(passage, from);
    } else {
      if (from < before) recall(passage, from);
      if (from < passage.told) announce_to_node(passage, from);
    }
  }
  if (context_.trace.records()) tell_timelines(passage);
  tell_slots(passage, from);
  let_go(passage);
}

// Cells from this one on leave as is decided now, or not yet.
void TrainRouter::announce(Passage& passage, std::uint32_t from) {
  if (passage.outgoing == nullptr) passage.outgoing = &new_payload(passage, from);
  const std::uint32_t changed_from = cut(passage, from);
  Train& train = *passage.outgoing->train;
  train.times.append(passage.departures, from, links_[passage.output].latency);
  train.is_open = is_open(passage);
  send(passage, changed_from);
}

void TrainRouter::announce_to_node(Passage& passage, std::uint32_t from) {
  passage.outgoing = &new_payload(passage, from);
  passage.outgoing->train->times = passage.departures.suffix(from);
  send(passage, 0);
}

void TrainRouter::recall(Passage& passage, std::uint32_t from) { send(passage, cut(passage, from)); }

// The payload that goes out carries cells before this one only. Returns which of its own that is.
std::uint32_t TrainRouter::cut(Passage& passage, std::uint32_t from) {
  Departed& outgoing = *passage.outgoing;
  const std::uint32_t kept = from - outgoing.first;
  outgoing.train->times.drop_back(outgoing.train->cells() - kept);
  void_slots(passage.output, outgoing, kept);
  return kept;
}

// Of the payload that goes out, its cells from this one on.
void TrainRouter::send(Passage& passage, std::uint32_t from) {
  tlm::tlm_generic_payload& payload = *passage.outgoing->payload;
  Train& train = *passage.outgoing->train;
  payload.set_data_length(train.bytes());
  // A router may be told of more cells later, the node is not.
  if (passage.output == kLocalPort && !train.content.empty()) train.content = train.content.slice(0, train.bytes());
  send_on(links_[passage.output].forward, payload, {from});
}

bool TrainRouter::is_open(const Passage& passage) {
  return passage.train->is_open || passage.told < passage.arrivals->size();
}

// If the train that goes out was said to be longer than it is.
void TrainRouter::close(Passage& passage) {
  if (passage.output == kLocalPort || passage.outgoing == nullptr || is_open(passage)) return;
  if (passage.outgoing->train->is_open) announce(passage, passage.told);
}

// Cells from this one on do not go; those behind them may, in another payload.
void TrainRouter::lose(Passage& passage, std::uint32_t from) {
  lost_ += passage.told - from;
  if (passage.output != kLocalPort && passage.outgoing != nullptr) {
    Train& train = *passage.outgoing->train;
    if (std::exchange(train.is_open, false)) send(passage, train.cells());
    passage.outgoing->payload->release();
  }
  passage.outgoing = nullptr;
  if (!paths_) return;
  paths_->note(passage.output,
               [&](auto& load) { load.freed(passage.payload, passage.departures.suffix(from), context_.now()); });
}

// Those of all cells whose departures are announced; those from `from` on were told of otherwise.
void TrainRouter::tell_slots(Passage& passage, std::uint32_t from) {
  from = std::min(from, passage.slots_told);
  if (from == std::exchange(passage.slots_told, passage.told) && from == passage.told) return;
  send_back(links_[passage.port].backward, *passage.payload,
            Answers{from, passage.departures.suffix(from, links_[passage.port].latency)});
}

TrainRouter::Departed& TrainRouter::new_payload(Passage& passage, std::uint32_t first) {
  tlm::tlm_generic_payload& payload = context_.payloads.acquire();
  Train& train = train_of(payload);
  const Train& whole = *passage.train;
  const std::uint32_t offset = first * whole.cell_bytes;
  train.cell_bytes = whole.cell_bytes;
  // With that of cells that may still come.
  if (!whole.content.empty()) train.content = whole.content.slice(offset, whole.content.size() - offset);
  PacketHeader& header = extension<PacketHeader>(payload);
  header = extension<PacketHeader>(*passage.payload);
  header.address += offset;
  header.block_offset += offset;
  header.virtual_channel = static_cast<std::uint8_t>(passage.channel);
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(passage.payload->get_address() + offset);
  Departed& departed = extension<Departed>(payload);
  departed.payload = &payload;
  departed.train = &train;
  departed.channel = passage.channel;
  departed.first = first;
  departed.freed.clear();
  if (passage.output == kLocalPort) {
    forget();
    given_.push_back(&departed);
  }
  return departed;
}

void TrainRouter::forget() {
  const auto kept = std::find_if(given_.begin(), given_.end(), [this](const Departed* departed) {
    const bool waits = departed->freed.size() < departed->train->cells();
    if (waits || departed->freed.back() >= context_.now()) return true;
    departed->payload->release();
    return false;
  });
  given_.erase(given_.begin(), kept);
}

void TrainRouter::tell_timelines(const Passage& passage) const {
  const bool any = !passage.departures.empty();
  const Time begin = any ? passage.departures.front() - passage.service : Time{0};
  const Time end = any ? passage.departures.back() : Time{0};
  Router::tell_timelines(passage.output, extension<PacketHeader>(*passage.payload), begin, end, &passage);
}

}  // namespace faultline::network
