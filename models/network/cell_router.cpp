// SPDX-License-Identifier: Apache-2.0
#include "models/network/cell_router.hpp"

#include <stdexcept>
#include <utility>

namespace faultline::network {

using namespace sim;

CellRouter::CellRouter(sc_core::sc_module_name name, const RouterConfig& config, const Context& context,
                       const Topology& topology)
    : Router(name, config, context, topology), switch_(*this, context.loop) {
  for (unsigned port = 0; port < ports(); ++port) {
    switch_.add_output(slots_behind(port), outages(port));
    for (unsigned i = 0; i < links_[port].queues; ++i) switch_.add_queue();
  }
  for (Injection& injection : injections_) injection.slots.resize(config.injection_cells, Time{0});
}

void CellRouter::accept(unsigned port, tlm::tlm_generic_payload& payload, Train& train, PacketHeader& header) {
  if (train.cells() != 1) throw std::logic_error("a train of several cells in a network where each goes by itself");
  const Way way = way_of(port, payload, train, header);
  Time arrival = train.times.front();
  if (port == kLocalPort) arrival = injections_[way.queue].datapath.serve(arrival, way.arriving);
  switch_.arrive(way.queue, {&payload, &train, &header, arrival + way.to_ready, way.service,
                             static_cast<std::uint16_t>(port), static_cast<std::uint16_t>(way.output),
                             static_cast<std::uint16_t>(way.channel), static_cast<std::uint16_t>(train.cell_bytes)});
}

void CellRouter::change(unsigned, tlm::tlm_generic_payload&, Train& train, std::uint32_t) {
  if (train.cells() == 0) throw std::logic_error("a cell that had gone was taken back");
}

void CellRouter::slots(unsigned port, tlm::tlm_generic_payload& payload, const Answers& slots) {
  if (slots.instants.empty()) throw std::logic_error("the slot of a cell that had gone was taken back");
  PacketHeader& header = extension<PacketHeader>(payload);
  const std::uint64_t train = train_of(payload).number;
  if (std::exchange(header.slots, train) == train) return;  // said again
  const Time freed = slots.instants.front();
  switch_.slot_freed(port, header.virtual_channel, freed);
  if (paths_) paths_->note(port, [&](auto& load) { load.freed(&payload, slots.instants, context_.now()); });
  if (port == kLocalPort) given_.push_back({&payload, freed});
}

void CellRouter::starts(unsigned queue, const CellSwitch::Cell& cell, Time departure, bool lost) {
  tlm::tlm_generic_payload& payload = *cell.payload;
  Train& train = *cell.train;
  PacketHeader& header = *cell.header;
  const Link& from = links_[cell.input];
  const Link& link = links_[cell.output];
  if (cell.input == kLocalPort) check_slot(injections_[queue], train.times.front(), departure);
  if (context_.trace.records()) tell_timelines(cell.output, header, departure - cell.service, departure, &link);
  // The header has the channel by which the cell came until this is told.
  freed_.become(departure + from.latency);
  send_back(from.backward, payload, Answers{0, freed_});
  train.times.become(departure);
  if (lost) {
    ++lost_;
    if (paths_) paths_->note(cell.output, [&](auto& load) { load.freed(&payload, train.times, context_.now()); });
    payload.release();
    return;
  }
  count(cell.output, 1, cell.bytes, cell.service);
  train.times.become(departure + link.latency);
  header.virtual_channel = static_cast<std::uint8_t>(cell.channel);
  context_.payloads.renew(train);
  if (cell.output == kLocalPort) forget();
  send_on(link.forward, payload);
  if (cell.output != kLocalPort) payload.release();
}

void CellRouter::check_slot(Injection& injection, Time sent, Time departure) const {
  if (sent < injection.slots.front()) throw std::logic_error("cell sent to a router without a free slot");
  injection.slots.push_back(departure);  // in the place of the first
}

void CellRouter::forget() {
  for (; !given_.empty() && given_.front().freed < context_.now(); given_.pop_front())
    given_.front().payload->release();
}

}  // namespace faultline::network
