// SPDX-License-Identifier: Apache-2.0
#include "models/dma/injector.hpp"

#include <algorithm>

namespace faultline::dma {

Injector::Injector(const DmaConfig& config, Forward& port, const sim::Context& context)
    : port_(port),
      context_(context),
      control_(config.neighbours.router_cells),
      data_(config.neighbours.router_cells),
      wakeup_(context.loop, *this) {}

void Injector::submit(Lane& lane, Outgoing cells) {
  const Time ready = cells.ready.front();
  lane.queue.push_back(std::move(cells));
  wakeup_.at(ready);
}

void Injector::pump() {
  advance(control_);
  advance(data_);
}

void Injector::advance(Lane& lane) {
  for (;;) {
    if (lane.staged) {
      const Time goes = lane.staged->ready.front();
      if (goes > context_.now()) return wakeup_.at(goes);
      send_staged(lane);
    }
    if (lane.queue.empty()) return;
    const Time ready = lane.queue.front().ready.front();
    if (ready > context_.now()) return wakeup_.at(ready);
    if (!stage(lane)) return;
  }
}

// Gives the head's next cells the credits that are known. False: it must wait for them.
bool Injector::stage(Lane& lane) {
  Outgoing& head = lane.queue.front();
  const std::uint32_t cells = std::min(head.ready.size(), lane.credits.known());
  if (cells == 0) return false;
  Outgoing part = head;
  part.ready = sim::later_of(head.ready.prefix(cells), lane.credits.take(cells));
  if (cells == head.ready.size()) {
    lane.queue.pop_front();
  } else {
    const std::uint32_t bytes = cells * head.cell_bytes;
    if (!head.content.empty()) {
      part.content = head.content.slice(0, bytes);
      head.content = head.content.slice(bytes, head.content.size() - bytes);
    }
    head.header.address += bytes;
    head.header.block_offset += bytes;
    head.ready.drop_front(cells);
  }
  if (part.header.kind == interconnect::PacketKind::data) listener_->cells_sent(part);
  if (part.header.kind == interconnect::PacketKind::message) {
    context_.trace.report(part.ready.front(), context_.node, sim::Step::message_injected, {});
  }
  lane.staged = std::move(part);
  return true;
}

void Injector::send_staged(Lane& lane) {
  tlm::tlm_generic_payload& payload = context_.payloads.acquire();
  sim::Train& train = sim::train_of(payload);
  train.times = std::move(lane.staged->ready);
  train.cell_bytes = lane.staged->cell_bytes;
  train.content = std::move(lane.staged->content);
  auto& header = sim::extension<interconnect::PacketHeader>(payload);
  header = lane.staged->header;
  header.freed_cells = 0;
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(lane.staged->header.address);
  payload.set_data_length(train.bytes());
  payload.set_streaming_width(train.bytes());
  lane.staged.reset();
  port_.begin_request(payload);
}

void Injector::slots_freed(tlm::tlm_generic_payload& payload) {
  const sim::Train& train = sim::train_of(payload);
  auto& header = sim::extension<interconnect::PacketHeader>(payload);
  Lane& lane = header.kind == interconnect::PacketKind::data ? data_ : control_;
  lane.credits.give(train.freed);
  header.freed_cells += train.freed.size();
  if (header.freed_cells == train.cells()) payload.release();
  wakeup_.now();
}

}  // namespace faultline::dma
