// SPDX-License-Identifier: Apache-2.0
#include "models/interconnect/router.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace faultline::interconnect {

using namespace sim;

namespace {

// Port 0 has a queue for data and one for the rest, so that a short message of the mailbox need not
// wait behind the pages of the DMA engine: these are two units of the NI.
constexpr unsigned kLocalQueues = 2;

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
      out_of_order_(
          context.statistics.counter("network.cells_out_of_order", "count",
                                     "cells that waited for a run of another input, committed before they were known")),
      undeliverable_(context.statistics.counter("network.undeliverable_cells", "count",
                                                "cells sent to a node that does not exist, dropped")),
      lost_(context.statistics.counter("network.lost_cells", "count", "cells that were to cross a failed link")) {
  for (unsigned port = 0; port < topology.ports(context.node); ++port) add_port(port, topology);
  if (topology.shape().has_detours()) paths_ = std::make_unique<PathChooser>(topology, config.failures, context_);
}

// What waits for slots behind a link when it fails need not wait any longer.
void Router::start_of_simulation() {
  for (unsigned port = 0; port < outputs_.size(); ++port) {
    for (const Time from : outputs_[port].outages.beginnings()) {
      context_.loop.at<&Router::wake>(from, event_port_, *this, port);
    }
  }
}

void Router::add_port(unsigned port, const Topology& topology) {
  const bool local = port == kLocalPort;
  const BitRate link_rate =
      topology.is_external(context_.node, port) ? config_.external_rate : config_.internal_data_rate();
  const auto counter = [&](const char* what, const char* unit, const char* description) {
    return &context_.statistics.counter(fmt::format("network.port{}.{}", port, what), unit, description);
  };
  Output& output = outputs_.emplace_back();
  output.rate = local ? config_.local_rate : link_rate;
  output.latency = link_latency(port);
  if (config_.failures != nullptr) output.outages = config_.failures->outages(context_.node, port);
  if (local) {
    output.credits.emplace_back(config_.local_buffer_cells);
  } else {
    output.credits.assign(config_.virtual_channels, CreditPool(config_.buffer_cells));
  }
  output.cells = counter("cells", "count", "cells sent through this port (port 0: to the node)");
  output.bytes = counter("bytes", "B", "bytes sent through this port, with packet overhead");
  output.busy = counter("busy", "ps", "time for which this port was sending");

  first_queue_.push_back(queues_.size());
  const unsigned queues = local ? kLocalQueues : config_.virtual_channels;
  for (unsigned i = 0; i < queues; ++i) queues_.emplace_back().port = port;

  in[port].register_nb_transport_fw(this, &Router::on_arrival, static_cast<int>(port));
  out[port].register_nb_transport_bw(this, &Router::on_slots_freed, static_cast<int>(port));
}

std::size_t Router::queue_of(unsigned port, const PacketHeader& header) const {
  const unsigned index = port == kLocalPort ? (header.kind == PacketKind::data ? 0U : 1U) : header.virtual_channel;
  return first_queue_[port] + index;
}

tlm::tlm_sync_enum Router::on_arrival(int tag, tlm::tlm_generic_payload& payload, tlm::tlm_phase&, sc_core::sc_time&) {
  const auto port = static_cast<unsigned>(tag);
  if (paths_ && paths_->waits_for_head(port)) {
    const Train& train = train_of(payload);
    paths_->hold(port, payload);
    context_.loop.at<&Router::admit_held>(
        train.times.front() - config_.cell_time(outputs_[port].rate, train.cell_bytes), event_port_, *this, port);
  } else {
    admit(port, payload);
  }
  return tlm::TLM_ACCEPTED;
}

void Router::admit_held(std::uint64_t port) {
  const auto from = static_cast<unsigned>(port);
  admit(from, paths_->take_held(from));
}

void Router::admit(unsigned port, tlm::tlm_generic_payload& payload) {
  const Train& train = train_of(payload);
  PacketHeader& header = extension<PacketHeader>(payload);
  if (header.destination >= topology_.nodes()) return drop(port, payload);
  if (paths_) paths_->choose(port, header);
  Route route = topology_.route(context_.node, header.destination, header.path);
  route.virtual_channel = std::min(route.virtual_channel, config_.virtual_channels - 1);
  if (paths_) paths_->arriving(route.port, train.times);
  InputQueue& queue = queues_[queue_of(port, header)];
  queue.cells += train.cells();
  const unsigned slots = port == kLocalPort ? config_.injection_cells : config_.buffer_cells;
  if (queue.cells > slots) throw std::logic_error("cell sent to a router without a free slot");

  const Time service = config_.cell_time(outputs_[route.port].rate, train.cell_bytes);
  const Time arriving = config_.cell_time(outputs_[port].rate, train.cell_bytes);
  const Time head_start = std::min(service, arriving);
  TimeSequence ready =
      port == kLocalPort ? queue.injection.serve(train.times, arriving).shifted(config_.injection_latency - head_start)
                         : train.times.shifted(config_.router_latency - head_start);
  queue.trains.push_back({&payload, std::move(ready), 0, route, service});
  if (queue.trains.size() == 1) schedule(route.port);
}

void Router::drop(unsigned port, tlm::tlm_generic_payload& payload) {
  Train& train = train_of(payload);
  undeliverable_ += train.cells();
  train.freed = train.times.shifted(link_latency(port));
  tlm::tlm_phase phase = SLOTS_FREED;
  sc_core::sc_time delay;
  in[port]->nb_transport_bw(payload, phase, delay);
}

tlm::tlm_sync_enum Router::on_slots_freed(int tag, tlm::tlm_generic_payload& payload, tlm::tlm_phase&,
                                          sc_core::sc_time&) {
  const auto port = static_cast<unsigned>(tag);
  const Train& train = train_of(payload);
  PacketHeader& header = extension<PacketHeader>(payload);
  outputs_[port].credits[header.virtual_channel].give(train.freed);
  if (paths_) paths_->freed(port, train.freed);
  header.freed_cells += train.freed.size();
  if (header.freed_cells == train.cells()) payload.release();
  schedule(port);
  return tlm::TLM_ACCEPTED;
}

Time Router::eligible_at(const InputQueue& queue, unsigned output) const {
  if (queue.trains.empty() || queue.trains.front().route.port != output) return kNever;
  const Held& train = queue.trains.front();
  if (outputs_[output].outages.cover(context_.now())) return std::max(train.ready.front(), queue.free);
  const CreditPool& pool = outputs_[output].credits[train.route.virtual_channel];
  if (pool.known() == 0) return kNever;
  return std::max({train.ready.front(), queue.free, pool.peek(1).front()});
}

// One pending event an output, at the instant of its next decision. An event that was overtaken by an
// earlier one finds another instant there and does nothing.
void Router::schedule(unsigned index) {
  Output& output = outputs_[index];
  Time first = kNever;
  for (const InputQueue& queue : queues_) first = std::min(first, eligible_at(queue, index));
  if (first == kNever) return;
  const Time when = std::max({first, output.free, context_.now()});
  if (when >= output.decision) return;
  output.decision = when;
  context_.loop.at<&Router::decide>(when, event_port_, *this, index);
}

void Router::decide(std::uint64_t index) {
  const auto port = static_cast<unsigned>(index);
  Output& output = outputs_[port];
  const Time now = context_.now();
  if (output.decision != now) return;
  output.decision = kNever;
  if (output.free > now) return schedule(port);

  // In turn, from the queue after the one that was served last.
  std::size_t winner = queues_.size();
  std::size_t competitors = 0;
  Time next_competitor = kNever;
  for (std::size_t i = 1; i <= queues_.size(); ++i) {
    const std::size_t queue = (output.served + i) % queues_.size();
    const Time eligible = eligible_at(queues_[queue], port);
    if (eligible > now) {
      next_competitor = std::min(next_competitor, eligible);
    } else if (++competitors == 1) {
      winner = queue;
    }
  }
  if (competitors == 0) return schedule(port);
  commit(winner, port, competitors > 1 ? 1 : UINT32_MAX, std::min(next_competitor, output.outages.next_change(now)));
}

void Router::commit(std::size_t index, unsigned port, std::uint32_t most, Time until) {
  InputQueue& queue = queues_[index];
  Output& output = outputs_[port];
  Held& train = queue.trains.front();
  CreditPool& pool = output.credits[train.route.virtual_channel];
  const bool dead = output.outages.cover(context_.now());
  const std::uint32_t possible = std::min({most, train.ready.size(), dead ? UINT32_MAX : pool.known()});
  TimeSequence able = train.ready.prefix(possible);
  if (!dead) able = later_of(able, pool.peek(possible));
  TimeSequence departures = serve_in_order(able, std::max(queue.free, output.free), train.service);
  const std::uint32_t cells = std::max(departures.shifted(-train.service).count_before(until), 1U);
  departures = departures.prefix(cells);
  if (!dead) pool.take(cells);
  count_late_cells(index, output, able.prefix(cells), departures);

  queue.free = output.free = departures.back();
  queue.cells -= cells;
  output.served = index;
  if (cells > 1) {
    if (index != output.last_run.queue) output.other_run = output.last_run;
    output.last_run = {index, departures.back() - train.service};
  }
  const Held sent = train;
  train.ready.drop_front(cells);
  train.sent += cells;
  if (train.ready.empty()) queue.trains.pop_front();
  if (dead) {
    lost_ += cells;
    if (paths_) paths_->freed(port, departures);
  } else {
    send(sent, departures, port);
  }

  Train& freed = train_of(*sent.payload);
  freed.freed = departures.shifted(link_latency(queue.port));
  tlm::tlm_phase phase = SLOTS_FREED;
  sc_core::sc_time delay;
  in[queue.port]->nb_transport_bw(*sent.payload, phase, delay);

  schedule(port);
  if (!queue.trains.empty() && queue.trains.front().route.port != port) schedule(queue.trains.front().route.port);
}

// The run was committed because nobody else was known to compete until its last cell's start. Cells that could
// have started by then, one after the other, would have been served in between.
void Router::count_late_cells(std::size_t index, const Output& output, const TimeSequence& able,
                              const TimeSequence& departures) {
  InputQueue& queue = queues_[index];
  const Time service = queue.trains.front().service;
  const Time before = queue.unhindered;
  queue.unhindered = departures.back();
  const Run& run = index != output.last_run.queue ? output.last_run : output.other_run;
  if (able.front() > run.last_start) return;
  const TimeSequence alone = serve_in_order(able, before, service);
  const std::uint32_t late = alone.count_before(run.last_start + service + Time{1});
  out_of_order_ += late;
  if (late == able.size()) queue.unhindered = alone.back();
}

void Router::send(const Held& held, const TimeSequence& departures, unsigned port) {
  Output& output = outputs_[port];
  const std::uint32_t cells = departures.size();
  tlm::tlm_generic_payload& payload = context_.payloads.acquire();
  const Train& whole = train_of(*held.payload);
  const std::uint32_t offset = held.sent * whole.cell_bytes;
  *output.cells += cells;
  *output.bytes += cells * (whole.cell_bytes + config_.overhead);
  *output.busy += static_cast<std::uint64_t>((held.service * cells).count());

  Train& train = train_of(payload);
  train.times = departures.shifted(output.latency);
  train.cell_bytes = whole.cell_bytes;
  if (!whole.content.empty()) train.content = whole.content.slice(offset, cells * whole.cell_bytes);
  PacketHeader& header = extension<PacketHeader>(payload);
  header = extension<PacketHeader>(*held.payload);
  header.address += offset;
  header.block_offset += offset;
  header.virtual_channel = static_cast<std::uint8_t>(held.route.virtual_channel);
  header.freed_cells = 0;
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(held.payload->get_address() + offset);
  payload.set_data_length(train.bytes());

  tlm::tlm_phase phase = tlm::BEGIN_REQ;
  sc_core::sc_time delay;
  out[port]->nb_transport_fw(payload, phase, delay);
}

void connect(Router& a, unsigned a_port, Router& b, unsigned b_port) {
  a.out[a_port].bind(b.in[b_port]);
  b.out[b_port].bind(a.in[a_port]);
}

}  // namespace faultline::interconnect
