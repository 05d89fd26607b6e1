// SPDX-License-Identifier: Apache-2.0
// What leaves a router: trains are announced at outputs, their slots to where they come from.
#include <algorithm>
#include <cassert>

#include "models/network/router.hpp"
#include "models/network/tracks.hpp"
#include "models/sim/transport.hpp"

namespace faultline::network {

using namespace sim;

namespace {

const char* name_of(PacketKind kind) {
  switch (kind) {
    case PacketKind::data: return "data";
    case PacketKind::acknowledge: return "acknowledgement";
    case PacketKind::stop: return "stop";
    case PacketKind::message: return "message";
    case PacketKind::firmware: return "firmware message";
  }
  return "";
}

}  // namespace

void Router::announce(Passage& passage) {
  const std::uint32_t begin = passage.told.size();
  // Now, but for whole trains that are announced ahead.
  assert(passage.start(begin) == context_.now() || (begin == 0 && passage.start(begin) > context_.now()));
  std::uint32_t end = passage.departures.size();
  bool lost = false;
  if (!keeps_together(passage.output)) {
    end = plan_.piece_end(passage, begin);
    lost = plan_.is_lost(passage, begin);
  }
  // More cells of a payload that is still on its way out, or another payload.
  const bool continues = passage.outgoing != nullptr && keeps_together(passage.output) &&
                         (passage.told.empty() || passage.told.back() >= context_.now());
  passage.told.append(passage.departures.slice(begin, end - begin));
  plan_.announced(passage);
  count(passage, lost, end - begin);
  if (lost) lose(passage.told.suffix(begin).shifted(-passage.service));
  if (continues) {
    resend(passage);
  } else if (!lost) {
    send(passage, begin);
  } else {
    passage.outgoing = nullptr;
    passage.use = nullptr;
    if (paths_) {
      paths_->note(passage.output,
                   [&](auto& load) { load.freed(passage.payload, passage.told.suffix(begin), context_.now()); });
    }
  }
  tell_timelines(passage);
  tell_slots(passage);
}

void Router::revise(Passage& passage) {
  passage.revised = false;
  const std::uint32_t before = passage.told.size();
  std::uint32_t same = passage.told.common_prefix(passage.departures);
  if (!keeps_together(passage.output)) same = plan_.still_together(passage, same);
  if (same < before) {
    const bool lost = passage.outgoing == nullptr;
    const std::uint32_t after =
        lost || !keeps_together(passage.output) ? same : std::min(before, passage.departures.size());
    count(passage, lost, std::int64_t{after} - before);
    if (lost) keep(passage.told.suffix(same).shifted(-passage.service));
    passage.told.drop_back(before - same);
    if (after > same) passage.told.append(passage.departures.slice(same, after - same));
    if (!lost) {
      void_slots(passage.output, *passage.outgoing, same - passage.use->first);
      resend(passage);
    } else if (paths_) {
      paths_->note(passage.output, [&](auto& load) { load.not_freed(passage.payload, before - after); });
    }
    recall_slots(passage, same);
  }
  plan_.announced(passage);
  tell_timelines(passage);
  tell_slots(passage);
}

void Router::count(const Passage& passage, bool lost, std::int64_t cells) {
  const std::uint32_t cell_bytes = train_of(*passage.payload).cell_bytes;
  // Two's complement: what is taken back is subtracted.
  if (lost) {
    lost_ += static_cast<std::uint64_t>(cells);
    return;
  }
  Output& output = outputs_[passage.output];
  *output.cells += static_cast<std::uint64_t>(cells);
  *output.bytes += static_cast<std::uint64_t>(cells * (cell_bytes + static_cast<std::int64_t>(config_.overhead)));
  *output.busy += static_cast<std::uint64_t>((passage.service * cells).count());
}

void Router::lose(const TimeSequence& starts) {
  losses_.drop_front(losses_.count_before(context_.now()));
  losses_ = merged(losses_, starts);
}

void Router::keep(const TimeSequence& starts) { losses_ = without(losses_, starts); }

std::uint32_t Router::losses_ahead() const { return losses_.size() - losses_.count_by(context_.now()); }

// Those of all cells whose departures are announced.
void Router::tell_slots(Passage& passage) {
  const std::uint32_t cells = passage.told.size() - passage.slots_told;
  if (cells == 0) return;
  train_of(*passage.payload).freed = passage.told.suffix(passage.slots_told).shifted(outputs_[passage.port].latency);
  passage.slots_told += cells;
  send_back(in[passage.port], *passage.payload, SLOTS_FREED);
}

void Router::recall_slots(Passage& passage, std::uint32_t kept) {
  if (passage.slots_told <= kept) return;  // whoever recalled the cells knows what becomes of their slots
  const std::uint32_t gone = passage.slots_told - kept;
  train_of(*passage.payload).recalled = gone;
  passage.slots_told = kept;
  send_back(in[passage.port], *passage.payload, SLOTS_RECALLED);
}

void Router::send(Passage& passage, std::uint32_t begin) {
  tlm::tlm_generic_payload& payload = context_.payloads.acquire();
  const Train& whole = train_of(*passage.payload);
  const std::uint32_t offset = begin * whole.cell_bytes;
  train_of(payload).cell_bytes = whole.cell_bytes;
  PacketHeader& header = extension<PacketHeader>(payload);
  header = extension<PacketHeader>(*passage.payload);
  header.address += offset;
  header.block_offset += offset;
  header.virtual_channel = static_cast<std::uint8_t>(passage.channel);
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(passage.payload->get_address() + offset);
  Departed& departed = extension<Departed>(payload);
  departed.first = begin;
  departed.freed = departed.aside = {};
  passage.outgoing = &payload;
  passage.use = &departed;

  Output& output = outputs_[passage.output];
  forget(output);
  output.sent.push_back(&payload);
  fill(passage);
  send_on(out[passage.output], payload);
}

void Router::forget(Output& output) {
  const auto kept = std::find_if(output.sent.begin(), output.sent.end(), [this](tlm::tlm_generic_payload* payload) {
    const Departed& departed = extension<Departed>(*payload);
    const bool waits = departed.cells == 0 || departed.freed.size() < departed.cells;
    if (waits || departed.freed.back() >= context_.now()) return true;
    payload->release();
    return false;
  });
  output.sent.erase(output.sent.begin(), kept);
}

void Router::resend(Passage& passage) {
  fill(passage);
  send_on(out[passage.output], *passage.outgoing, keeps_together(passage.output) ? CELLS_MOVED : CELLS_RECALLED);
}

// The payload on its way out carries the cells that are told from its first one on.
void Router::fill(Passage& passage) {
  tlm::tlm_generic_payload& payload = *passage.outgoing;
  Train& train = train_of(payload);
  const Train& whole = train_of(*passage.payload);
  const std::uint32_t first = passage.use->first;
  train.times = passage.told.suffix(first).shifted(outputs_[passage.output].latency);
  extension<Departed>(payload).cells = train.cells();
  if (!whole.content.empty()) train.content = whole.content.slice(first * whole.cell_bytes, train.bytes());
  payload.set_data_length(train.bytes());
}

void Router::tell_timelines(const Passage& passage) const {
  if (!context_.trace.records() || passage.output == kLocalPort) return;
  const PacketHeader& header = extension<PacketHeader>(*passage.payload);
  const bool any = !passage.told.empty();
  const Time begin = any ? passage.told.front() - passage.service : Time{0};
  const Time end = any ? passage.told.back() : Time{0};
  context_.trace.link(
      {{context_.node, track::kLink, passage.output}, begin, end, name_of(header.kind), "link", header.key}, &passage);
}

}  // namespace faultline::network
