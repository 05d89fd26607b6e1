// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/injector.hpp"

#include <algorithm>

#include "models/nic/path/run_payload.hpp"
#include "models/nic/path/steps.hpp"

namespace faultline::nic {

using network::PacketHeader;
using network::PacketKind;

Outgoing Outgoing::split(std::uint32_t first) {
  Outgoing rest = *this;
  const std::uint32_t bytes = first * cell_bytes;
  rest.ready = ready.suffix(first);
  ready.drop_back(rest.ready.size());
  rest.header.address += bytes;
  rest.header.block_offset += bytes;
  if (!content.empty()) {
    rest.content = content.slice(bytes, content.size() - bytes);
    content = content.slice(0, bytes);
  }
  return rest;
}

Injector::Injector(const PathConfig& config, Forward& port, const sim::Context& context)
    : port_(port),
      context_(context),
      turn_(context.loop.new_port()),
      control_({config.neighbours.router_cells}, *this),
      data_({config.neighbours.router_cells}, *this),
      wakeup_(context.loop, *this, turn_) {}

void Injector::submit(Queue& lane, Outgoing cells) {
  lane.submit(std::move(cells));
  wake(lane);
}

void Injector::recall_data(std::uint64_t tag, std::uint32_t cells) {
  data_.recall(context_.now(), cells, [tag](const Outgoing& o) { return o.tag == tag; });
  wakeup_.now();
}

void Injector::wake(const Queue& lane) {
  if (const Time due = lane.due(context_.now()); due != sim::kNever) wakeup_.at(due);
}

void Injector::pump() {
  advance(control_);
  advance(data_);
}

void Injector::advance(Queue& lane) {
  lane.reconcile(context_.now());
  forget(lane);
  while (!lane.empty() && std::max(lane.turn(), lane.next_slot()) <= context_.now()) send(lane);
  wake(lane);
}

void Injector::send(Queue& lane) {
  Queue::Run& run = lane.issue(context_.now());
  const PacketHeader& header = run.item.header;
  tlm::tlm_generic_payload& payload =
      make_payload(run, tlm::TLM_WRITE_COMMAND, header.address, run.item.cell_bytes, context_);
  sim::train_of(payload).content = run.item.content;
  sim::extension<PacketHeader>(payload) = header;
  if (header.kind == PacketKind::data) listener_->cells_leave(run.item.tag, run.issued);
  if (header.kind == PacketKind::message) context_.report(step::kMessageInjected, {});
  port_.tell(payload, {});
}

void Injector::taken_back(Queue::Run& run, const Outgoing& rest, const sim::TimeSequence& instants) {
  Injected& injected = run.details;
  const std::uint32_t kept = run.issued.size();
  sim::Train& train = sim::train_of(*injected.payload);
  train.times.drop_back(rest.ready.size());
  train.content = run.item.content;
  void_slots(lane_of(*injected.payload), injected, kept);
  port_.tell(*injected.payload, {kept});
  if (rest.header.kind == PacketKind::data) listener_->cells_stay(rest.tag, instants);
}

Injector::Queue& Injector::lane_of(const tlm::tlm_generic_payload& payload) {
  return payload.get_extension<PacketHeader>()->kind == PacketKind::data ? data_ : control_;
}

Injector::Queue::Run& Injector::run_of(Queue& lane, const tlm::tlm_generic_payload& payload) {
  auto& runs = lane.runs();
  return *std::find_if(runs.begin(), runs.end(), [&](const Queue::Run& r) { return r.details.payload == &payload; });
}

void Injector::answered(tlm::tlm_generic_payload& payload, const sim::Answers& slots) {
  Queue& lane = lane_of(payload);
  Queue::Run& run = run_of(lane, payload);
  sim::TimeSequence& freed = run.details.freed;
  if (freed.size() > slots.from) {
    void_slots(lane, run.details, slots.from);
    wakeup_.now();
  }
  if (slots.instants.empty()) return;
  freed.append(slots.instants);
  lane.give(slots.instants, run.issued.at(slots.from), context_.now());
  wake(lane);
}

void Injector::void_slots(Queue& lane, Injected& injected, std::uint32_t from) {
  if (injected.freed.size() <= from) return;
  const sim::TimeSequence gone = injected.freed.suffix(from);
  injected.freed.drop_back(gone.size());
  lane.withdraw(gone);
}

void Injector::forget(Queue& lane) {
  auto& runs = lane.runs();
  while (!runs.empty() && runs.front().details.freed.size() == runs.front().issued.size() &&
         runs.front().details.freed.back() <= context_.now()) {
    runs.front().details.payload->release();
    runs.pop_front();
  }
}

}  // namespace faultline::nic
