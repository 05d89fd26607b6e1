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
      undeliverable_(context.statistics.counter("network.undeliverable_cells", "count",
                                                "cells sent to a node that does not exist, dropped")),
      lost_(context.statistics.counter("network.lost_cells", "count", "cells that were to cross a failed link")),
      // Behind all other hardware of an instant: who is ready at that instant takes part in its decisions.
      wakeup_(context.loop, *this, context.loop.new_arrival_port()) {
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
  const bool mixed = !local && outages.empty();
  Output& output = outputs_.emplace_back();
  output.rate = local ? config_.local_rate : link_rate;
  output.latency = local ? Time{0} : latency;
  output.full_cell = config_.cell_time(output.rate, kCellBytes);
  output.cells = counter("cells", "count", "cells sent through this port (port 0: to the node)");
  output.bytes = counter("bytes", "B", "bytes sent through this port, with packet overhead");
  output.busy = counter("busy", "ps", "time for which this port was sending");
  plan_.add_output(
      local ? std::vector{config_.local_buffer_cells} : std::vector(config_.virtual_channels, config_.buffer_cells),
      mixed, std::move(outages));

  const unsigned queues = local ? kLocalQueues : config_.virtual_channels;
  first_queue_.push_back(first_queue_.empty() ? 0 : first_queue_.back() + (port == 1 ? kLocalQueues : queues));
  for (unsigned i = 0; i < queues; ++i) plan_.add_queue();

  in[port].register_nb_transport_fw(this, &Router::on_arrival, static_cast<int>(port));
  out[port].register_nb_transport_bw(this, &Router::on_slots_freed, static_cast<int>(port));
}

std::uint64_t Router::cells_on_links() const {
  std::uint64_t sum = 0;
  for (std::size_t port = kLocalPort + 1; port < outputs_.size(); ++port) sum += outputs_[port].cells->value();
  return sum;
}

// What is announced counts already, and those that are on their way know when they leave.
Time Router::busy(unsigned port) const {
  const Output& output = outputs_[port];
  Time left{0};
  for (tlm::tlm_generic_payload* payload : output.sent) {
    const Train& train = train_of(*payload);
    left += work_left(train.times, cell_time(port, train.cell_bytes), context_.now() + output.latency);
  }
  return Time{static_cast<std::int64_t>(output.busy->value())} - left;
}

unsigned Router::queue_of(unsigned port, const PacketHeader& header) const {
  if (port == kLocalPort) return header.kind == PacketKind::data ? 0 : 1;
  return first_queue_[port] + header.virtual_channel;
}

tlm::tlm_sync_enum Router::on_arrival(int tag, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                      sc_core::sc_time&) {
  const ProfileScope turn(context_.loop.profile(), kRouter);
  const auto port = static_cast<unsigned>(tag);
  if (extension<PacketHeader>(payload).destination >= topology_.nodes()) {
    drop(port, payload);
  } else if (phase != tlm::BEGIN_REQ) {
    rearrive(port, payload);
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
  if (port == kLocalPort) {
    passage.arrivals = datapaths_[passage.queue].serve(context_.now(), train.times, arriving, 0, &payload);
    passage.to_ready += config_.injection_latency;
  } else {
    passage.arrivals = train.times;
    passage.to_ready += config_.router_latency;
  }
  passage.departures = {};
  passage.breaks.clear();
  passage.told = {};
  passage.use = nullptr;
  passage.awaited = passage.revised = false;
  passage.payload = &payload;
  passage.port = port;
  passage.gone = false;
  passage.slots_told = 0;
  passage.outgoing = nullptr;
  if (paths_) paths_->note(route.port, [&](auto& load) { load.arriving(&payload, train.times, context_.now()); });

  payload.acquire();
  plan_.let_go(passage.queue, context_.now(), [this](auto& gone) { let_go(static_cast<Passage&>(gone)); });
  if (plan_.enter(passage, context_.now())) {
    // Where paths are chosen as trains come, by load or round failures that are known by then, none is announced before
    // it starts.
    paths_ ? wakeup_.at(passage.start(0)) : announce(passage);
  }
  wakeup_.at(plan_.disturbed_at());
}

void Router::let_go(Passage& passage) {
  passage.gone = true;
  if (passage.port == kLocalPort) {
    const TimeSequence& sent = train_of(*passage.payload).times;
    TimeSequence& slots = slots_reused_[passage.queue];
    slots.append(passage.departures);
    if (later_of(sent, slots.prefix(sent.size())) != sent) {
      throw std::logic_error("cell sent to a router without a free slot");
    }
    slots.drop_front(sent.size());
  }
  passage.payload->release();
}

// Cells that do not come after all, or at other instants: what was announced of their slots is void.
void Router::rearrive(unsigned port, tlm::tlm_generic_payload& payload) {
  if (paths_ && paths_->holds(port, payload)) return;  // its cells have not been looked at
  const TimeSequence& times = train_of(payload).times;
  Passage& passage = extension<Passage>(payload);
  if (passage.gone) throw std::logic_error("a train changed after all of its cells had left");
  const bool local = port == kLocalPort;
  const std::uint32_t before = passage.arrivals.size();
  const std::uint32_t same =
      plan_.rearrive(passage, local ? passage.arrivals.prefix(times.size()) : times, context_.now());
  passage.slots_told = std::min(passage.slots_told, same);
  if (local) datapaths_[passage.queue].recall(context_.now(), &payload, before - same);
  if (paths_) {
    paths_->note(passage.output, [&](auto& load) {
      load.not_arriving(&payload, before - same);
      if (same < times.size()) load.arriving(&payload, times.suffix(same), context_.now());
    });
  }
  wakeup_.at(plan_.disturbed_at());
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
  send_back(in[port], payload, SLOTS_FREED);
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
    plan_.slots_freed(port, channel, train.freed, context_.now());
    if (paths_) paths_->note(port, [&](auto& load) { load.freed(&payload, train.freed, context_.now()); });
  } else {
    void_slots(port, payload, departed.freed.size() - train.recalled);
  }
  wakeup_.at(plan_.disturbed_at());
  return tlm::TLM_ACCEPTED;
}

// Only the first `kept` slots that were announced for the payload's cells come free as announced.
void Router::void_slots(unsigned port, tlm::tlm_generic_payload& payload, std::uint32_t kept) {
  Departed& departed = extension<Departed>(payload);
  const std::uint32_t gone = departed.freed.size() - std::min(kept, departed.freed.size());
  if (paths_) paths_->note(port, [&](auto& load) { load.not_freed(&payload, gone + departed.aside.size()); });
  departed.aside = {};
  if (gone == 0) return;
  plan_.slots_held(port, extension<PacketHeader>(payload).virtual_channel, departed.freed.suffix(kept), context_.now());
  departed.freed.drop_back(gone);
}

void Router::wake() {
  const Time now = context_.now();
  SmallVector<SwitchPlan::Transit*, 8> trains;
  // What is on its way first: it may have to make room.
  do {
    plan_.advance(now);
    trains.assign(plan_.revised().begin(), plan_.revised().end());
    plan_.revised().clear();
    for (const SwitchPlan::Transit* train : trains) plan_.complete(*train, train->told.size());
    for (SwitchPlan::Transit* train : trains) revise(static_cast<Passage&>(*train));
  } while (plan_.disturbed_at() != kNever);

  trains.clear();
  for (SwitchPlan::Transit* train : plan_.awaited()) {
    if (train->start(train->told.size()) <= now) trains.push_back(train);
  }
  for (const SwitchPlan::Transit* train : trains) plan_.complete(*train);
  for (SwitchPlan::Transit* train : trains) announce(static_cast<Passage&>(*train));
  wakeup_.at(plan_.due());
}

void connect(Router& a, unsigned a_port, Router& b, unsigned b_port) {
  a.out[a_port].bind(b.in[b_port]);
  b.out[b_port].bind(a.in[a_port]);
}

}  // namespace faultline::network
