// SPDX-License-Identifier: Apache-2.0
#include "models/network/train_router.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/sim/recycling.hpp"

namespace faultline::network {

using namespace sim;

namespace {

Switch::Foresight foresight_of(const Topology& topology) {
  // Paths are chosen as trains come, by load or round failures that are known by then.
  return topology.shape().has_detours() ? Switch::Foresight::begun : Switch::Foresight::at_once;
}

}  // namespace

TrainRouter::TrainRouter(sc_core::sc_module_name name, const RouterConfig& config, const Context& context,
                         const Topology& topology)
    : Router(name, config, context, topology), switch_(*this, context.loop, foresight_of(topology)) {
  for (unsigned port = 0; port < ports(); ++port) {
    const bool mixes = port != kLocalPort && outages(port).empty();
    switch_.add_output(slots_behind(port), mixes, outages(port));
    for (unsigned i = 0; i < links_[port].queues; ++i) switch_.add_queue();
  }
  slots_reused_.fill(TimeSequence::regular(Time{0}, Time{0}, config.injection_cells));
}

void TrainRouter::accept(unsigned port, tlm::tlm_generic_payload& payload, Train& train, PacketHeader& header) {
  const Way way = way_of(port, payload, train, header);
  Passage& passage = extension<Passage>(payload);
  passage.queue = way.queue;
  passage.output = way.output;
  passage.channel = way.channel;
  passage.spacing = way.arriving;
  passage.service = way.service;
  passage.to_ready = way.to_ready;
  passage.arrivals = &train.times;
  if (port == kLocalPort) {
    passage.handed_over = datapaths_[passage.queue].serve(context_.now(), train.times, way.arriving, 0, &payload);
    passage.arrivals = &passage.handed_over;
    auto& injected = injected_[passage.queue];
    passage.injection = first_injected_[passage.queue] + injected.size();
    injected.emplace_back();
  }
  passage.departures.clear();
  passage.payload = &payload;
  passage.train = &train;
  passage.port = port;
  passage.gone = false;
  passage.known = train.cells();
  passage.told = passage.slots_told = 0;
  passage.outgoing = nullptr;
  switch_.arrive(passage, 0);
}

void TrainRouter::change(unsigned port, tlm::tlm_generic_payload& payload, Train& train, std::uint32_t from) {
  Passage& passage = extension<Passage>(payload);
  if (passage.gone) {
    if (passage.known != train.cells()) throw std::logic_error("a train changed after all of its cells had left");
    return;
  }
  if (port == kLocalPort) {
    const std::uint32_t gone = passage.handed_over.size() - from;
    passage.handed_over.drop_back(gone);
    datapaths_[passage.queue].recall(context_.now(), &payload, gone);
  }
  if (paths_) {
    paths_->note(passage.output, [&](auto& load) {
      load.not_arriving(&payload, passage.known - from);
      if (from < train.cells()) load.arriving(&payload, train.times.suffix(from), context_.now());
    });
  }
  passage.known = train.cells();
  switch_.arrive(passage, from);
  if (passage.gone) return;
  close(passage);
  let_go(passage);
}

void TrainRouter::let_go(Passage& passage) {
  if (passage.gone || passage.busy() || is_open(passage)) return;
  passage.gone = true;
  if (passage.port == kLocalPort) check_slots(passage);
  if (passage.outgoing != nullptr && passage.output != kLocalPort) passage.outgoing->payload->release();
  passage.payload->release();
}

void TrainRouter::check_slots(const Passage& passage) {
  auto& injected = injected_[passage.queue];
  TimeSequence& slots = slots_reused_[passage.queue];
  injected[passage.injection - first_injected_[passage.queue]] = {passage.train->times, passage.departures, true};
  for (; !injected.empty() && injected.front().gone; injected.pop_front(), ++first_injected_[passage.queue]) {
    const Injected& cells = injected.front();
    slots.append(cells.departures);
    if (later_of(cells.sent, slots.prefix(cells.sent.size())) != cells.sent) {
      throw std::logic_error("cell sent to a router without a free slot");
    }
    slots.drop_front(cells.sent.size());
  }
}

void TrainRouter::slots(unsigned port, tlm::tlm_generic_payload& payload, const Answers& slots) {
  Departed& departed = extension<Departed>(payload);
  void_slots(port, departed, slots.from);
  if (slots.instants.empty()) return;
  departed.freed.append(slots.instants);
  switch_.slots_freed(port, departed.channel, slots.instants);
  if (paths_) paths_->note(port, [&](auto& load) { load.freed(&payload, slots.instants, context_.now()); });
}

// Only the first `kept` slots that were announced for the payload's cells come free as announced.
void TrainRouter::void_slots(unsigned port, Departed& departed, std::uint32_t kept) {
  const std::uint32_t gone = departed.freed.size() - std::min(kept, departed.freed.size());
  if (gone == 0) return;
  if (paths_) paths_->note(port, [&](auto& load) { load.not_freed(departed.payload, gone); });
  switch_.slots_held(port, departed.channel, departed.freed.suffix(kept));
  departed.freed.drop_back(gone);
}

}  // namespace faultline::network
