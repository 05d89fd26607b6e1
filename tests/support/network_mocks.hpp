// SPDX-License-Identifier: Apache-2.0
// Stand-ins for the network interfaces at port 0 of the routers, and a whole network of them.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/network/router.hpp"
#include "models/network/topology.hpp"
#include "models/sim/context.hpp"
#include "models/sim/random.hpp"
#include "tests/support/cell_pump.hpp"
#include "tests/support/repeater.hpp"

namespace faultline::test {

// Cells that a node wants to send: ready.size() cells from `address` on, all of one size.
struct Shipment {
  sim::NodeId destination = 0;
  std::uint64_t address = 0;
  std::uint32_t cell_bytes = sim::kCellBytes;
  sim::TimeSequence ready;
  network::PacketKind kind = network::PacketKind::data;
  std::uint32_t block = 0;
};

struct Delivery {
  sim::NodeId source;
  std::uint64_t address;
  std::uint32_t cell_bytes;
  sim::Time at;
  network::PacketKind kind;
  bool content_right;
  std::uint32_t block = 0;
  bool operator==(const Delivery&) const = default;
};

inline std::vector<sim::Time> instants(const std::vector<Delivery>& deliveries) {
  std::vector<sim::Time> all;
  all.reserve(deliveries.size());
  for (const Delivery& d : deliveries) all.push_back(d.at);
  return all;
}

inline sim::Content content_at(sim::NodeId source, std::uint64_t address, std::uint32_t bytes) {
  return sim::Content::pattern(source + 1, address, bytes);
}

// Sends shipments in the order in which they become ready, in trains, as slots come free.
class NetworkSource : public sc_core::sc_module {
 public:
  NetworkSource(sc_core::sc_module_name name, std::uint32_t slots, const sim::Context& context)
      : sc_module(name),
        out("out"),
        context_(context),
        pump_(
            slots, context, [this](auto& payload, const Shipment& s) { send(payload, s); },
            [this](auto& payload, std::uint32_t from) { sim::send_on(out, payload, {from}); }) {
    out.register_nb_transport_bw(this, &NetworkSource::on_slots_freed);
  }
  sim::InitiatorSocket<NetworkSource> out;

  // Shipments must be posted in the order of their first instants.
  void post(const Shipment& shipment) { pump_.post(shipment); }
  bool unsent() const { return pump_.unsent(); }

 private:
  void send(tlm::tlm_generic_payload& payload, const Shipment& shipment) {
    sim::Train& train = sim::train_of(payload);
    train.content = content_at(context_.node, shipment.address, train.bytes());
    auto& header = sim::extension<network::PacketHeader>(payload);
    header = {};
    header.kind = shipment.kind;
    header.source = context_.node;
    header.destination = shipment.destination;
    header.key = {context_.node, shipment.block, 0};
    header.address = shipment.address;
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    sim::send_on(out, payload);
  }
  tlm::tlm_sync_enum on_slots_freed(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
    pump_.answered(payload, std::get<sim::Answers>(message));
    return tlm::TLM_ACCEPTED;
  }

  sim::Context context_;
  CellPump<Shipment> pump_;
};

// Takes cells; the slot of the n-th is free again hold(n) after it arrived and its predecessor's was
// freed. With `announce_late` the sender hears of it only then.
class NetworkSink : public sc_core::sc_module {
 public:
  NetworkSink(sc_core::sc_module_name name, std::uint32_t slots, sim::Time longest_hold, bool announce_late,
              const sim::Context& context)
      : sc_module(name),
        in("in"),
        context_(context),
        slots_(slots),
        longest_hold_(longest_hold),
        announce_late_(announce_late),
        port_(context.loop.new_port()) {
    in.register_nb_transport_fw(this, &NetworkSink::on_arrival);
  }
  sim::TargetSocket<NetworkSink> in;

  std::vector<Delivery> deliveries;
  bool overfilled = false;  // a cell came without a slot

  sim::Time hold(std::uint64_t n) const {
    const sim::RandomStream stream(7, "hold", context_.node);
    return sim::Time{static_cast<std::int64_t>(stream.at(n) % static_cast<std::uint64_t>(longest_hold_.count() + 1))};
  }
  void clear() {
    deliveries.clear();
    freed_.clear();
  }

 private:
  tlm::tlm_sync_enum on_arrival(tlm::tlm_generic_payload& payload, sim::Message&, sc_core::sc_time&) {
    const sim::Train& train = sim::train_of(payload);
    const auto [known, is_new] = cells_.try_emplace(train.number, train.cells());
    if (!is_new) {
      // They were the last to come.
      for (; known->second > train.cells(); --known->second) {
        deliveries.pop_back();
        freed_.pop_back();
        if (announce_late_) held_.pop_back();
      }
      return tlm::TLM_ACCEPTED;
    }
    const auto& header = sim::extension<network::PacketHeader>(payload);
    sim::TimeSequence freed;
    for (std::uint32_t i = 0; i < train.cells(); ++i) {
      const std::uint64_t n = freed_.size();
      const sim::Time at = train.times.at(i);
      if (n >= slots_ && at < freed_[n - slots_]) overfilled = true;
      const std::uint64_t address = header.address + std::uint64_t{i} * train.cell_bytes;
      const bool right = train.content.slice(i * train.cell_bytes, train.cell_bytes) ==
                         content_at(header.source, address, train.cell_bytes);
      deliveries.push_back({header.source, address, train.cell_bytes, at, header.kind,
                            right && header.destination == context_.node, header.key.part});
      freed_.push_back(std::max(at, n == 0 ? sim::Time{0} : freed_.back()) + hold(n));
      freed.append(freed_.back());
    }
    if (!announce_late_) {
      sim::send_back(in, payload, sim::Answers{0, freed});
      return tlm::TLM_ACCEPTED;
    }
    told_[&payload] = 0;
    for (std::uint32_t i = 0; i < freed.size(); ++i) {
      held_.emplace_back(&payload, freed.at(i));
      context_.loop.at<&NetworkSink::free_oldest>(freed.at(i), port_, *this);
    }
    return tlm::TLM_ACCEPTED;
  }
  void free_oldest() {
    if (held_.empty() || held_.front().second != context_.now()) return;  // it was recalled
    tlm::tlm_generic_payload& payload = *held_.front().first;
    held_.pop_front();
    sim::send_back(in, payload, sim::Answers{told_[&payload]++, sim::TimeSequence::single(context_.now())});
  }

  sim::Context context_;
  std::uint32_t slots_;
  sim::Time longest_hold_;
  bool announce_late_;
  sim::Port port_;
  std::vector<sim::Time> freed_;
  std::deque<std::pair<tlm::tlm_generic_payload*, sim::Time>> held_;
  std::map<std::uint64_t, std::uint32_t> cells_;             // by the train's number
  std::map<tlm::tlm_generic_payload*, std::uint32_t> told_;  // of cells whose slots have come free
};

// A router without a node.
struct BareRouter {
  sim::Statistics statistics;
  sim::Context context;
  std::unique_ptr<network::Router> router;

  BareRouter(const std::string& name, network::RouterId id, sim::EventLoop& loop, sim::PayloadPool& pool,
             sim::Trace& trace, const network::RouterConfig& config, const network::Topology& topology,
             std::uint32_t cells_per_train)
      : context{id, loop, pool, statistics, trace, 1, cells_per_train},
        router(network::make_router(name + "_router", config, context, topology)) {}
};

// A network of a shape with a source and a sink at each node.
struct NetworkRig {
  struct Node {
    sim::Statistics statistics;
    sim::Context context;
    std::unique_ptr<network::Router> router;
    NetworkSource source;
    NetworkSink sink;

    Node(const std::string& name, sim::NodeId id, NetworkRig& rig, const network::RouterConfig& config,
         std::uint32_t cells_per_train, sim::Time longest_hold, bool announce_late, std::uint32_t excess)
        : context{id, rig.loop, rig.pool, statistics, rig.trace, 1, cells_per_train},
          router(network::make_router(name + "_router", config, context, *rig.topology)),
          source((name + "_source").c_str(), config.injection_cells + excess, context),
          sink((name + "_sink").c_str(), config.local_buffer_cells, longest_hold, announce_late, context) {
      rig.wiring.bind(source.out, router->in[network::kLocalPort]);
      rig.wiring.bind(router->out[network::kLocalPort], sink.in);
    }
  };

  // `excess`: slots that sources use and routers do not have.
  NetworkRig(const std::string& name, const network::ClusterShape& shape, const network::RouterConfig& described,
             std::uint32_t cells_per_train, sim::Time longest_hold = sim::Time{0}, bool announce_late = false,
             const network::FailureConfig& failing = {}, std::uint32_t excess = 0, bool repeats = false)
      : loop((name + "_loop").c_str()),
        wiring(name, repeats),
        topology(network::make_topology(shape)),
        failures(failing, *topology) {
    network::RouterConfig config = described;
    config.failures = &failures;
    for (sim::NodeId id = 0; id < topology->nodes(); ++id) {
      nodes.push_back(std::make_unique<Node>(name + std::to_string(id), id, *this, config, cells_per_train,
                                             longest_hold, announce_late, excess));
    }
    for (network::RouterId id = topology->nodes(); id < topology->routers(); ++id) {
      bare.push_back(std::make_unique<BareRouter>(name + std::to_string(id), id, loop, pool, trace, config, *topology,
                                                  cells_per_train));
    }
    for (const network::Link& link : topology->links()) {
      wiring.bind(router(link.a).out[link.a_port], router(link.b).in[link.b_port]);
      wiring.bind(router(link.b).out[link.b_port], router(link.a).in[link.a_port]);
    }
  }

  // Outputs keep the payloads that they sent last until they send another.
  std::size_t most_kept() const {
    std::size_t sum = 0;
    for (const auto& node : nodes) sum += 16 * node->router->out.size();
    for (const auto& router : bare) sum += 16 * router->router->out.size();
    return sum;
  }
  network::Router& router(network::RouterId id) {
    return id < nodes.size() ? *nodes[id]->router : *bare[id - nodes.size()]->router;
  }
  NetworkSource& source(sim::NodeId node) { return nodes[node]->source; }
  const std::vector<Delivery>& delivered(sim::NodeId node) const { return nodes[node]->sink.deliveries; }
  std::uint64_t total(std::string_view counter) const {
    std::uint64_t sum = 0;
    for (const auto& node : nodes) sum += node->statistics.value(counter);
    for (const auto& router : bare) sum += router->statistics.value(counter);
    return sum;
  }
  void clear() {
    for (auto& node : nodes) node->sink.clear();
  }

  sim::EventLoop loop;
  Wiring wiring;
  std::unique_ptr<const network::Topology> topology;
  network::FailureSchedule failures;
  sim::PayloadPool pool;
  sim::Trace trace;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::unique_ptr<BareRouter>> bare;
};

}  // namespace faultline::test
