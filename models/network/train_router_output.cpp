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
    count(passage.output, std::int64_t{passage.told} - before, train_of(*passage.payload).cell_bytes, passage.service);
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
  Train& train = train_of(*passage.outgoing);
  train.times.append(passage.departures.suffix(from).shifted(links_[passage.output].latency));
  train.is_open = is_open(passage);
  send(passage, changed_from);
}

void TrainRouter::announce_to_node(Passage& passage, std::uint32_t from) {
  passage.outgoing = &new_payload(passage, from);
  train_of(*passage.outgoing).times = passage.departures.suffix(from);
  send(passage, 0);
}

void TrainRouter::recall(Passage& passage, std::uint32_t from) { send(passage, cut(passage, from)); }

// The payload that goes out carries cells before this one only. Returns which of its own that is.
std::uint32_t TrainRouter::cut(Passage& passage, std::uint32_t from) {
  Train& train = train_of(*passage.outgoing);
  const std::uint32_t kept = from - extension<Departed>(*passage.outgoing).first;
  train.times.drop_back(train.cells() - kept);
  void_slots(passage.output, *passage.outgoing, kept);
  return kept;
}

// Of the payload that goes out, its cells from this one on.
void TrainRouter::send(Passage& passage, std::uint32_t from) {
  tlm::tlm_generic_payload& payload = *passage.outgoing;
  Train& train = train_of(payload);
  payload.set_data_length(train.bytes());
  // A router may be told of more cells later, the node is not.
  if (passage.output == kLocalPort && !train.content.empty()) train.content = train.content.slice(0, train.bytes());
  send_on(links_[passage.output].forward, payload, {from});
}

bool TrainRouter::is_open(const Passage& passage) {
  return train_of(*passage.payload).is_open || passage.told < passage.arrivals->size();
}

// If the train that goes out was said to be longer than it is.
void TrainRouter::close(Passage& passage) {
  if (passage.output == kLocalPort || passage.outgoing == nullptr || is_open(passage)) return;
  if (train_of(*passage.outgoing).is_open) announce(passage, passage.told);
}

// Cells from this one on do not go; those behind them may, in another payload.
void TrainRouter::lose(Passage& passage, std::uint32_t from) {
  lost_ += passage.told - from;
  if (passage.output != kLocalPort && passage.outgoing != nullptr) {
    Train& train = train_of(*passage.outgoing);
    if (std::exchange(train.is_open, false)) send(passage, train.cells());
    passage.outgoing->release();
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
            Answers{from, passage.departures.suffix(from).shifted(links_[passage.port].latency)});
}

tlm::tlm_generic_payload& TrainRouter::new_payload(Passage& passage, std::uint32_t first) {
  tlm::tlm_generic_payload& payload = context_.payloads.acquire();
  const Train& whole = train_of(*passage.payload);
  const std::uint32_t offset = first * whole.cell_bytes;
  train_of(payload).cell_bytes = whole.cell_bytes;
  // With that of cells that may still come.
  if (!whole.content.empty()) train_of(payload).content = whole.content.slice(offset, whole.content.size() - offset);
  PacketHeader& header = extension<PacketHeader>(payload);
  header = extension<PacketHeader>(*passage.payload);
  header.address += offset;
  header.block_offset += offset;
  header.virtual_channel = static_cast<std::uint8_t>(passage.channel);
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(passage.payload->get_address() + offset);
  Departed& departed = extension<Departed>(payload);
  departed.first = first;
  departed.freed = {};
  if (passage.output == kLocalPort) {
    forget();
    given_.push_back(&payload);
  }
  return payload;
}

void TrainRouter::forget() {
  const auto kept = std::find_if(given_.begin(), given_.end(), [this](tlm::tlm_generic_payload* payload) {
    const Departed& departed = extension<Departed>(*payload);
    const bool waits = departed.freed.size() < train_of(*payload).cells();
    if (waits || departed.freed.back() >= context_.now()) return true;
    payload->release();
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
