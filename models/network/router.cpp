// SPDX-License-Identifier: Apache-2.0
#include "models/network/router.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/network/cell_router.hpp"
#include "models/network/tracks.hpp"
#include "models/network/train_router.hpp"

namespace faultline::network {

using namespace sim;

namespace {

const ProfiledPart kRouter{"network::Router"};

// Cells of a train to nobody that are counted.
struct Dropped : tlm::tlm_extension<Dropped> {
  std::uint32_t cells = 0;

  tlm::tlm_extension_base* clone() const override { return new Dropped(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Dropped&>(other); }
};

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

Router::Router(sc_core::sc_module_name name, const RouterConfig& config, const Context& context,
               const Topology& topology)
    : sc_module(name),
      out("out", topology.ports(context.node)),
      in("in", topology.ports(context.node)),
      event_port_(context.loop.new_port()),
      undeliverable_(context.statistics.counter("network.undeliverable_cells", "count",
                                                "cells sent to a node that does not exist, dropped")),
      lost_(context.statistics.counter("network.lost_cells", "count", "cells that were to cross a failed link")),
      config_(config),
      context_(context),
      topology_(topology) {
  const unsigned ports = topology.ports(context.node);
  links_.reserve(ports);
  for (unsigned port = 0; port < ports; ++port) add_port(port);
  if (topology.shape().has_detours()) paths_ = std::make_unique<PathChooser>(topology, config.failures, context_);
}

BitRate Router::rate_of(unsigned port) const {
  if (port == kLocalPort) return config_.local_rate;
  return topology_.is_external(context_.node, port) ? config_.external_data_rate() : config_.internal_data_rate();
}

void Router::add_port(unsigned port) {
  const bool local = port == kLocalPort;
  const bool external = topology_.is_external(context_.node, port);
  const Time latency = external ? config_.external_latency : config_.internal_latency;
  const auto counter = [&](const char* what, const char* unit, const char* description) {
    return &context_.statistics.counter(fmt::format("network.port{}.{}", port, what), unit, description);
  };
  const unsigned first_queue = local ? 0 : links_.back().first_queue + links_.back().queues;
  Link& link = links_.emplace_back();
  link.latency = local ? Time{0} : latency;
  link.full_cell = config_.cell_time(rate_of(port), kCellBytes);
  link.first_queue = first_queue;
  link.queues = local ? kLocalQueues : config_.virtual_channels;
  link.cells = counter("cells", "count", "cells sent through this port (port 0: to the node)");
  link.bytes = counter("bytes", "B", "bytes sent through this port, with packet overhead");
  link.busy = counter("busy", "ps", "time for which this port was sending");
  in[port].register_nb_transport_fw(this, &Router::on_forward, static_cast<int>(port));
  out[port].register_nb_transport_bw(this, &Router::on_backward, static_cast<int>(port));
}

void Router::end_of_elaboration() {
  for (unsigned port = 0; port < ports(); ++port) {
    if (out[port].get_base_port().bind_count() > 0) links_[port].forward = out[port].operator->();
    if (in[port].get_base_port().bind_count() > 0) links_[port].backward = in[port].operator->();
  }
}

std::uint64_t Router::cells_on_links() const {
  std::uint64_t sum = 0;
  for (std::size_t port = kLocalPort + 1; port < links_.size(); ++port) sum += links_[port].cells->value();
  return sum;
}

Outages Router::outages(unsigned port) const {
  return config_.failures == nullptr ? Outages{} : config_.failures->outages(context_.node, port);
}

std::vector<std::uint32_t> Router::slots_behind(unsigned port) const {
  if (port == kLocalPort) return {config_.local_buffer_cells};
  return std::vector<std::uint32_t>(config_.virtual_channels, config_.buffer_cells);
}

tlm::tlm_sync_enum Router::on_forward(int tag, tlm::tlm_generic_payload& payload, Message& message, sc_core::sc_time&) {
  const ProfileScope turn(context_.loop.profile(), kRouter);
  const auto port = static_cast<unsigned>(tag);
  PacketHeader& header = extension<PacketHeader>(payload);
  Train& train = train_of(payload);
  const bool begins = is_new(header, train);
  if (begins) payload.acquire();
  if (header.destination >= topology_.nodes()) {
    drop(port, payload, begins);
  } else if (!begins) {
    if (paths_ && paths_->holds(port, payload)) return tlm::TLM_ACCEPTED;  // nobody has looked at its cells
    // The NI takes cells back only.
    change(port, payload, train, port == kLocalPort ? train.cells() : std::get<Cells>(message).from);
  } else if (paths_ && paths_->waits_for_head(port)) {
    paths_->hold(port, payload);
    context_.loop.at<&Router::accept_held>(train.times.front() - cell_time(port, train.cell_bytes), event_port_, *this,
                                           port);
  } else {
    accept(port, payload, train, header);
  }
  return tlm::TLM_ACCEPTED;
}

void Router::accept_held(std::uint64_t port) {
  const auto from = static_cast<unsigned>(port);
  tlm::tlm_generic_payload& payload = paths_->take_held(from);
  accept(from, payload, train_of(payload), extension<PacketHeader>(payload));
}

tlm::tlm_sync_enum Router::on_backward(int tag, tlm::tlm_generic_payload& payload, Message& message,
                                       sc_core::sc_time&) {
  const ProfileScope turn(context_.loop.profile(), kRouter);
  slots(static_cast<unsigned>(tag), payload, std::get<Answers>(message));
  return tlm::TLM_ACCEPTED;
}

void Router::drop(unsigned port, tlm::tlm_generic_payload& payload, bool begins) {
  const Train& train = train_of(payload);
  std::uint32_t& counted = extension<Dropped>(payload).cells;
  if (begins) counted = 0;
  undeliverable_ += train.cells() - std::uint64_t{std::exchange(counted, train.cells())};
  if (!begins) return;
  send_back(links_[port].backward, payload, Answers{0, train.times.shifted(links_[port].latency)});
  payload.release();
}

Router::Way Router::way_of(unsigned port, const tlm::tlm_generic_payload& payload, const Train& train,
                           PacketHeader& header) {
  if (paths_) paths_->choose(port, header);
  const Route route = topology_.route(context_.node, header.destination, header.path);
  if (paths_) paths_->note(route.port, [&](auto& load) { load.arriving(&payload, train.times, context_.now()); });
  Way way;
  way.queue = links_[port].first_queue + header.virtual_channel;
  if (port == kLocalPort) way.queue = header.kind == PacketKind::data ? 0 : 1;
  way.output = route.port;
  way.channel = std::min(route.virtual_channel, config_.virtual_channels - 1);
  way.arriving = cell_time(port, train.cell_bytes);
  way.service = cell_time(route.port, train.cell_bytes);
  way.to_ready =
      (port == kLocalPort ? config_.injection_latency : config_.router_latency) - std::min(way.service, way.arriving);
  return way;
}

void Router::count(unsigned port, std::int64_t cells, std::uint32_t cell_bytes, Time service) {
  const Link& link = links_[port];
  // Two's complement: what is taken back is subtracted.
  *link.cells += static_cast<std::uint64_t>(cells);
  *link.bytes += static_cast<std::uint64_t>(cells * (cell_bytes + static_cast<std::int64_t>(config_.overhead)));
  *link.busy += static_cast<std::uint64_t>((service * cells).count());
}

void Router::tell_timelines(unsigned port, const PacketHeader& header, Time begin, Time end, const void* train) const {
  if (!context_.trace.records() || port == kLocalPort) return;
  context_.trace.link({{context_.node, track::kLink, port}, begin, end, name_of(header.kind), "link", header.key},
                      train);
}

std::unique_ptr<Router> make_router(const std::string& name, const RouterConfig& config, const Context& context,
                                    const Topology& topology) {
  if (context.cells_per_train == 1) return std::make_unique<CellRouter>(name.c_str(), config, context, topology);
  return std::make_unique<TrainRouter>(name.c_str(), config, context, topology);
}

void connect(Router& a, unsigned a_port, Router& b, unsigned b_port) {
  a.out[a_port].bind(b.in[b_port]);
  b.out[b_port].bind(a.in[a_port]);
}

}  // namespace faultline::network
