// SPDX-License-Identifier: Apache-2.0
// What leaves a router: trains are announced at outputs, their slots to where they come from.
#include <algorithm>
#include <utility>

#include "models/network/train_router.hpp"
#include "models/sim/transport.hpp"

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
  const bool is_new = passage.outgoing == nullptr;
  if (is_new) passage.outgoing = &new_payload(passage, from);
  Train& train = train_of(*passage.outgoing);
  cut(passage, from);
  train.times.append(passage.departures.suffix(from).shifted(links_[passage.output].latency));
  train.is_open = is_open(passage);
  send(passage, is_new ? tlm::BEGIN_REQ : CELLS_MOVED);
}

void TrainRouter::announce_to_node(Passage& passage, std::uint32_t from) {
  passage.outgoing = &new_payload(passage, from);
  train_of(*passage.outgoing).times = passage.departures.suffix(from);
  send(passage, tlm::BEGIN_REQ);
}

void TrainRouter::recall(Passage& passage, std::uint32_t from) {
  cut(passage, from);
  send(passage, CELLS_RECALLED);
}

// The payload that goes out carries cells before this one only.
void TrainRouter::cut(Passage& passage, std::uint32_t from) {
  Train& train = train_of(*passage.outgoing);
  train.changed_from = from - extension<Departed>(*passage.outgoing).first;
  train.times.drop_back(train.cells() - train.changed_from);
  void_slots(passage.output, *passage.outgoing, train.changed_from);
}

void TrainRouter::send(Passage& passage, const tlm::tlm_phase& phase) {
  tlm::tlm_generic_payload& payload = *passage.outgoing;
  Train& train = train_of(payload);
  payload.set_data_length(train.bytes());
  // A router may be told of more cells later, the node is not.
  if (passage.output == kLocalPort && !train.content.empty()) train.content = train.content.slice(0, train.bytes());
  send_on(links_[passage.output].forward, payload, phase);
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
    train.changed_from = train.cells();
    if (std::exchange(train.is_open, false)) send(passage, CELLS_MOVED);
    passage.outgoing->release();
  }
  passage.outgoing = nullptr;
  if (!paths_) return;
  paths_->note(passage.output,
               [&](auto& load) { load.freed(passage.payload, passage.departures.suffix(from), context_.now()); });
}

// Those of all cells whose departures are announced; those from `from` on were told of otherwise.
void TrainRouter::tell_slots(Passage& passage, std::uint32_t from) {
  Train& train = train_of(*passage.payload);
  if (passage.slots_told > from) {
    train.recalled = passage.slots_told - from;
    passage.slots_told = from;
    send_back(links_[passage.port].backward, *passage.payload, SLOTS_RECALLED);
  }
  const std::uint32_t cells = passage.told - passage.slots_told;
  if (cells == 0) return;
  train.freed = passage.departures.suffix(passage.slots_told).shifted(links_[passage.port].latency);
  passage.slots_told += cells;
  send_back(links_[passage.port].backward, *passage.payload, SLOTS_FREED);
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
