// SPDX-License-Identifier: Apache-2.0
#include "models/network/router.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/sim/recycling.hpp"
#include "models/sim/transport.hpp"

namespace faultline::network {

using namespace sim;

namespace {

const ProfiledPart kRouter{"network::Router"};

Switch::Foresight foresight_of(const Topology& topology, const Context& context) {
  if (context.cells_per_train == 1) return Switch::Foresight::none;
  // Paths are chosen as trains come, by load or round failures that are known by then.
  return topology.shape().has_detours() ? Switch::Foresight::begun : Switch::Foresight::at_once;
}

}  // namespace

Router::Router(sc_core::sc_module_name name, const RouterConfig& config, const Context& context,
               const Topology& topology)
    : sc_module(name),
      out("out", topology.ports(context.node)),
      in("in", topology.ports(context.node)),
      config_(config),
      context_(context),
      topology_(topology),
      event_port_(context.loop.new_port()),
      switch_(*this, context.loop, foresight_of(topology, context)),
      undeliverable_(context.statistics.counter("network.undeliverable_cells", "count",
                                                "cells sent to a node that does not exist, dropped")),
      lost_(context.statistics.counter("network.lost_cells", "count", "cells that were to cross a failed link")) {
  const unsigned ports = topology.ports(context.node);
  outputs_.reserve(ports);
  for (unsigned port = 0; port < ports; ++port) add_port(port, topology);
  slots_reused_.fill(TimeSequence::regular(Time{0}, Time{0}, config.injection_cells));
  if (topology.shape().has_detours()) paths_ = std::make_unique<PathChooser>(topology, config.failures, context_);
}

void Router::add_port(unsigned port, const Topology& topology) {
  const bool local = port == kLocalPort;
  const bool external = topology.is_external(context_.node, port);
  const BitRate link_rate = external ? config_.external_data_rate() : config_.internal_data_rate();
  const Time latency = external ? config_.external_latency : config_.internal_latency;
  const auto counter = [&](const char* what, const char* unit, const char* description) {
    return &context_.statistics.counter(fmt::format("network.port{}.{}", port, what), unit, description);
  };
  Outages outages;
  if (config_.failures != nullptr) outages = config_.failures->outages(context_.node, port);
  const bool mixes = !local && outages.empty();
  Output& output = outputs_.emplace_back();
  output.rate = local ? config_.local_rate : link_rate;
  output.latency = local ? Time{0} : latency;
  output.full_cell = config_.cell_time(output.rate, kCellBytes);
  output.cells = counter("cells", "count", "cells sent through this port (port 0: to the node)");
  output.bytes = counter("bytes", "B", "bytes sent through this port, with packet overhead");
  output.busy = counter("busy", "ps", "time for which this port was sending");
  switch_.add_output(
      local ? std::vector{config_.local_buffer_cells} : std::vector(config_.virtual_channels, config_.buffer_cells),
      mixes, std::move(outages));

  const unsigned queues = local ? kLocalQueues : config_.virtual_channels;
  first_queue_.push_back(first_queue_.empty() ? 0 : first_queue_.back() + (port == 1 ? kLocalQueues : queues));
  for (unsigned i = 0; i < queues; ++i) switch_.add_queue();

  in[port].register_nb_transport_fw(this, &Router::on_arrival, static_cast<int>(port));
  out[port].register_nb_transport_bw(this, &Router::on_slots_freed, static_cast<int>(port));
}

void Router::end_of_elaboration() {
  for (unsigned port = 0; port < ports(); ++port) {
    if (out[port].get_base_port().bind_count() > 0) outputs_[port].forward = out[port].operator->();
    if (in[port].get_base_port().bind_count() > 0) outputs_[port].backward = in[port].operator->();
  }
}

std::uint64_t Router::cells_on_links() const {
  std::uint64_t sum = 0;
  for (std::size_t port = kLocalPort + 1; port < outputs_.size(); ++port) sum += outputs_[port].cells->value();
  return sum;
}

// What is announced counts already.
Time Router::busy(unsigned port) const {
  return Time{static_cast<std::int64_t>(outputs_[port].busy->value())} - switch_.work_left(port);
}

unsigned Router::queue_of(unsigned port, const PacketHeader& header) const {
  if (port == kLocalPort) return header.kind == PacketKind::data ? 0 : 1;
  return first_queue_[port] + header.virtual_channel;
}

tlm::tlm_sync_enum Router::on_arrival(int tag, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                      sc_core::sc_time&) {
  const ProfileScope turn(context_.loop.profile(), kRouter);
  const auto port = static_cast<unsigned>(tag);
  if (phase == tlm::BEGIN_REQ) payload.acquire();
  if (extension<PacketHeader>(payload).destination >= topology_.nodes()) {
    drop(port, payload);
  } else if (phase != tlm::BEGIN_REQ) {
    const Train& train = train_of(payload);
    rearrive(port, payload, phase == CELLS_MOVED ? train.changed_from : train.cells());
  } else if (paths_ && paths_->waits_for_head(port)) {
    const Train& train = train_of(payload);
    paths_->hold(port, payload);
    context_.loop.at<&Router::accept_held>(train.times.front() - cell_time(port, train.cell_bytes), event_port_, *this,
                                           port);
  } else {
    accept(port, payload);
  }
  return tlm::TLM_ACCEPTED;
}

void Router::accept_held(std::uint64_t port) {
  const auto from = static_cast<unsigned>(port);
  accept(from, paths_->take_held(from));
}

void Router::accept(unsigned port, tlm::tlm_generic_payload& payload) {
  const Train& train = train_of(payload);
  PacketHeader& header = extension<PacketHeader>(payload);
  if (paths_) paths_->choose(port, header);
  const Route route = topology_.route(context_.node, header.destination, header.path);
  const Time arriving = cell_time(port, train.cell_bytes);

  Passage& passage = extension<Passage>(payload);
  passage.queue = queue_of(port, header);
  passage.output = route.port;
  passage.channel = std::min(route.virtual_channel, config_.virtual_channels - 1);
  passage.spacing = arriving;
  passage.service = cell_time(route.port, train.cell_bytes);
  passage.to_ready = -std::min(passage.service, arriving);
  passage.to_ready = -std::min(passage.service, arriving);
  passage.arrivals = &train.times;
  if (port == kLocalPort) {
    passage.handed_over = datapaths_[passage.queue].serve(context_.now(), train.times, arriving, 0, &payload);
    passage.arrivals = &passage.handed_over;
    auto& injected = injected_[passage.queue];
    passage.injection = first_injected_[passage.queue] + injected.size();
    injected.emplace_back();
  }
  passage.to_ready += port == kLocalPort ? config_.injection_latency : config_.router_latency;
  passage.departures = {};
  passage.payload = &payload;
  passage.port = port;
  passage.gone = false;
  passage.known = train.cells();
  passage.told = passage.slots_told = 0;
  passage.outgoing = nullptr;
  if (paths_) paths_->note(route.port, [&](auto& load) { load.arriving(&payload, train.times, context_.now()); });
  switch_.arrive(passage, 0);
}

// Cells come at other instants than was said, or do not come, or more do. What was announced of the slots of the first
// two is void.
void Router::rearrive(unsigned port, tlm::tlm_generic_payload& payload, std::uint32_t from) {
  if (paths_ && paths_->holds(port, payload)) return;  // its cells have not been looked at
  const Train& train = train_of(payload);
  Passage& passage = extension<Passage>(payload);
  if (passage.gone) throw std::logic_error("a train changed after all of its cells had left");
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
  passage.slots_told = std::min(passage.slots_told, from);
  switch_.arrive(passage, from);
  if (passage.gone) return;
  close(passage);
  let_go(passage);
}

void Router::let_go(Passage& passage) {
  if (passage.gone || passage.busy() || is_open(passage)) return;
  end(passage);
  if (passage.outgoing != nullptr && passage.output != kLocalPort) passage.outgoing->release();
  passage.payload->release();
}

void Router::end(Passage& passage) {
  passage.gone = true;
  if (passage.port == kLocalPort) check_slots(passage);
}

void Router::check_slots(const Passage& passage) {
  auto& injected = injected_[passage.queue];
  TimeSequence& slots = slots_reused_[passage.queue];
  injected[passage.injection - first_injected_[passage.queue]] = {train_of(*passage.payload).times, passage.departures,
                                                                  true};
  for (; !injected.empty() && injected.front().gone; injected.pop_front(), ++first_injected_[passage.queue]) {
    const Injected& cells = injected.front();
    slots.append(cells.departures);
    if (later_of(cells.sent, slots.prefix(cells.sent.size())) != cells.sent) {
      throw std::logic_error("cell sent to a router without a free slot");
    }
    slots.drop_front(cells.sent.size());
  }
}

void Router::drop(unsigned port, tlm::tlm_generic_payload& payload) {
  Train& train = train_of(payload);
  const bool again = train.freed.size() > train.cells();  // CELLS_RECALLED: fewer than were counted
  undeliverable_ += train.cells();
  if (again) {
    undeliverable_ -= train.freed.size();
    train.freed.drop_back(train.freed.size() - train.cells());
    return;
  }
  train.freed = train.times.shifted(outputs_[port].latency);
  send_back(outputs_[port].backward, payload, SLOTS_FREED);
  payload.release();
}

tlm::tlm_sync_enum Router::on_slots_freed(int tag, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                          sc_core::sc_time&) {
  const ProfileScope turn(context_.loop.profile(), kRouter);
  const auto port = static_cast<unsigned>(tag);
  const Train& train = train_of(payload);
  Departed& departed = extension<Departed>(payload);
  const unsigned channel = extension<PacketHeader>(payload).virtual_channel;
  if (phase == SLOTS_FREED) {
    departed.freed.append(train.freed);
    switch_.slots_freed(port, channel, train.freed);
    if (paths_) paths_->note(port, [&](auto& load) { load.freed(&payload, train.freed, context_.now()); });
  } else {
    void_slots(port, payload, departed.freed.size() - train.recalled);
  }
  return tlm::TLM_ACCEPTED;
}

// Only the first `kept` slots that were announced for the payload's cells come free as announced.
void Router::void_slots(unsigned port, tlm::tlm_generic_payload& payload, std::uint32_t kept) {
  Departed& departed = extension<Departed>(payload);
  const std::uint32_t gone = departed.freed.size() - std::min(kept, departed.freed.size());
  if (gone == 0) return;
  if (paths_) paths_->note(port, [&](auto& load) { load.not_freed(&payload, gone); });
  switch_.slots_held(port, extension<PacketHeader>(payload).virtual_channel, departed.freed.suffix(kept));
  departed.freed.drop_back(gone);
}

void connect(Router& a, unsigned a_port, Router& b, unsigned b_port) {
  a.out[a_port].bind(b.in[b_port]);
  b.out[b_port].bind(a.in[a_port]);
}

}  // namespace faultline::network
