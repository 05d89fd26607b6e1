// SPDX-License-Identifier: Apache-2.0
// A network of routers and nothing else: at each port 0 a source that hands over blocks when they are due and a sink
// that takes whatever comes at once.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/cluster_shape.hpp"
#include "models/network/router.hpp"
#include "models/network/topology.hpp"
#include "models/sim/context.hpp"

namespace faultline::bench {

// Slots of the buffers. In the pattern `pairs` fewer cells than that wait anywhere, so that nothing is held back for
// want of a credit: ns-3's devices have no such thing. Finding the final time equal shows that this is so.
inline constexpr std::uint32_t kLinkSlots = 256;
inline constexpr std::uint32_t kInjectionSlots = 1024;

class Source : public sc_core::sc_module {
 public:
  Source(sc_core::sc_module_name name, const sim::Context& context)
      : sc_module(name), out("out"), context_(context), port_(context.loop.new_port()) {
    out.register_nb_transport_bw(this, &Source::on_slots_freed);
  }
  sim::InitiatorSocket<Source> out;

  // Sends `blocks` blocks of the flow from its first instant on. Before the simulation starts, or when it pauses.
  void start(const Flow& flow, std::uint64_t blocks) {
    flow_ = flow;
    blocks_ = blocks;
    if (blocks > 0) context_.loop.at<&Source::hand_over_block>(context_.now() + sim::Time{flow.first}, port_, *this);
  }
  void stop() { blocks_ = std::min<std::uint64_t>(blocks_, 1); }

 private:
  struct Sent {
    tlm::tlm_generic_payload* payload;
    sim::TimeSequence freed;
  };

  void hand_over_block() {
    for (std::uint32_t begin = 0; begin < kCellsPerBlock; begin += context_.cells_per_train) {
      send(begin, std::min(context_.cells_per_train, kCellsPerBlock - begin));
    }
    if (--blocks_ > 0) {
      context_.loop.at<&Source::hand_over_block>(context_.now() + sim::Time{flow_.period}, port_, *this);
    }
  }
  void send(std::uint32_t begin, std::uint32_t cells) {
    tlm::tlm_generic_payload& payload = context_.payloads.acquire();
    sim::Train& train = sim::train_of(payload);
    const sim::Time gap{flow_.cell_gap};
    train.times = sim::TimeSequence::regular(context_.now() + begin * gap, gap, cells);
    train.cell_bytes = kPayload;
    auto& header = sim::extension<network::PacketHeader>(payload);
    header = {};
    header.source = context_.node;
    header.destination = flow_.destination;
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    payload.set_data_length(train.bytes());
    sent_.push_back({&payload, {}});
    held_ += cells;
    if (held_ > kInjectionSlots) throw std::logic_error("the network does not keep up with this traffic");
    sim::send_on(out, payload);
  }
  tlm::tlm_sync_enum on_slots_freed(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
    const auto& slots = std::get<sim::Answers>(message);
    Sent& to = *std::find_if(sent_.begin(), sent_.end(), [&](const Sent& s) { return s.payload == &payload; });
    const std::uint32_t gone = to.freed.size() - slots.from;
    to.freed.drop_back(gone);
    to.freed.append(slots.instants);
    held_ += gone - slots.instants.size();
    release_oldest();
    return tlm::TLM_ACCEPTED;
  }
  // Those whose slots are free for good.
  void release_oldest() {
    while (!sent_.empty()) {
      const Sent& oldest = sent_.front();
      if (oldest.freed.size() < sim::train_of(*oldest.payload).cells() || oldest.freed.back() > context_.now()) return;
      oldest.payload->release();
      sent_.pop_front();
    }
  }

  sim::Context context_;
  sim::Port port_;
  Flow flow_{};
  std::uint64_t blocks_ = 0;
  std::deque<Sent> sent_;
  std::uint32_t held_ = 0;  // cells in the router's input queue
};

class Sink : public sc_core::sc_module {
 public:
  explicit Sink(sc_core::sc_module_name name) : sc_module(name), in("in") {
    in.register_nb_transport_fw(this, &Sink::on_arrival);
  }
  sim::TargetSocket<Sink> in;

  sim::Time last_arrival{0};
  std::uint64_t cells = 0;

 private:
  // What has been counted of a train.
  struct Counted : tlm::tlm_extension<Counted> {
    std::uint64_t train = 0;
    std::uint32_t cells = 0;
    tlm::tlm_extension_base* clone() const override { return new Counted(*this); }
    void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Counted&>(other); }
  };
  tlm::tlm_sync_enum on_arrival(tlm::tlm_generic_payload& payload, sim::Message&, sc_core::sc_time&) {
    const sim::Train& train = sim::train_of(payload);
    Counted& counted = sim::extension<Counted>(payload);
    if (!sim::is_new(counted, train)) {  // some are recalled
      cells -= std::exchange(counted.cells, train.cells()) - train.cells();
      return tlm::TLM_ACCEPTED;
    }
    counted.cells = train.cells();
    cells += train.cells();
    last_arrival = std::max(last_arrival, train.times.back());
    sim::send_back(in, payload, sim::Answers{0, train.times});
    return tlm::TLM_ACCEPTED;
  }
};

// Store-and-forward, as ns-3's devices are: the hub's pipeline takes as long as the cell, whose head it would let go
// on at once otherwise; the nodes at the ends take no time.
inline network::RouterConfig router_of(bool hub, std::int64_t link_rate) {
  network::RouterConfig config;
  config.internal_rate = {link_rate};
  config.external_rate = {kLinkRate};
  config.internal_latency = config.external_latency = sim::Time{kLinkLatency};
  config.router_latency = sim::Time{hub ? kCellTime : 0};
  config.injection_latency = sim::Time{0};
  config.overhead = kOverhead;
  config.buffer_cells = config.local_buffer_cells = kLinkSlots;
  config.injection_cells = kInjectionSlots;
  config.local_rate = {sim::kPicosecondsPerSecond * 8 *
                       (kPayload + kOverhead)};  // a cell in 1 ps, given and taken back
  return config;
}

struct NetworkRig {
  struct Node {
    sim::Statistics statistics;
    sim::Context context;
    std::unique_ptr<network::Router> router;
    Source source;
    Sink sink;

    Node(const std::string& name, sim::NodeId id, NetworkRig& rig, const network::RouterConfig& config,
         std::uint32_t cells_per_train)
        : context{id, rig.loop, rig.pool, statistics, rig.trace, 1, cells_per_train},
          router(network::make_router(name + "_router", config, context, *rig.topology)),
          source((name + "_source").c_str(), context),
          sink((name + "_sink").c_str()) {
      source.out.bind(router->in[network::kLocalPort]);
      router->out[network::kLocalPort].bind(sink.in);
    }
  };

  NetworkRig(const Shape& shape, const std::vector<Flow>& flows, std::uint32_t cells_per_train,
             const std::string& name = "node")
      : loop((name + "_loop").c_str()), topology(network::make_topology(cluster_shape(shape))) {
    std::vector<std::int64_t> own_link(shape.nodes(), kCellTime);
    for (const Flow& flow : flows) own_link[flow.source] = flow.cell_gap;
    for (sim::NodeId id = 0; id < shape.nodes(); ++id) {
      auto config = router_of(id % shape.mpsocs == 0, kLinkRate * kCellTime / own_link[id]);
      config.virtual_channels = topology->virtual_channels_needed();
      nodes.push_back(std::make_unique<Node>(name + std::to_string(id), id, *this, config, cells_per_train));
    }
    for (const network::Link& link : topology->links()) {
      connect(*nodes[link.a]->router, link.a_port, *nodes[link.b]->router, link.b_port);
    }
  }

  // Cells that crossed a link, the way to the node itself not counted.
  std::uint64_t cell_hops() const {
    std::uint64_t sum = 0;
    for (const auto& node : nodes) {
      for (unsigned port = 1; port < topology->ports(node->context.node); ++port) {
        sum += node->statistics.value("network.port" + std::to_string(port) + ".cells");
      }
    }
    return sum;
  }

  sim::EventLoop loop;  // one, as a cluster has
  std::unique_ptr<const network::Topology> topology;
  sim::PayloadPool pool;
  sim::Trace trace;
  std::vector<std::unique_ptr<Node>> nodes;
};

}  // namespace faultline::bench
