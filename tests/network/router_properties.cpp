// SPDX-License-Identifier: Apache-2.0
// Chains of routers against their equations cell by cell, and networks under random traffic.
#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <tuple>

#include "models/network/router.hpp"
#include "tests/network/shapes.hpp"
#include "tests/support/network_mocks.hpp"

using namespace faultline;
using namespace faultline::sim;
using network::ClusterShape;
using network::PacketKind;
using network::RouterConfig;
using test::Delivery;
using test::instants;
using test::NetworkRig;
using test::Shipment;

namespace {

const ClusterShape kQfdb{1, 1, 1, 4};
const ClusterShape kTwoQfdbs{2, 1, 1, 4};

Time now() { return from_sc_time(sc_core::sc_time_stamp()); }

// A chain of routers, cell by cell: what the equations in router.hpp say, with every bound on slots.
struct Chain {
  struct Stage {
    BitRate in;
    BitRate out;
    std::uint32_t slots;  // of the buffer that this stage reads
    Time pipeline;
    Time link;           // of the output
    Time credit_return;  // of the buffer that this stage reads
  };
  std::vector<Stage> stages;
  RouterConfig config;
  const test::NetworkSink* sink;

  // The way 1 -> 0 -> 4 -> 5 of two QFDBs.
  Chain(const RouterConfig& c, const test::NetworkSink& s) : config(c), sink(&s) {
    const BitRate inside = c.internal_data_rate(), outside = c.external_data_rate();
    const Time link = c.internal_latency, cable = c.external_latency;
    stages = {{c.local_rate, inside, c.injection_cells, c.injection_latency, link, Time{0}},
              {inside, outside, c.buffer_cells, c.router_latency, cable, link},
              {outside, inside, c.buffer_cells, c.router_latency, link, cable},
              {inside, c.local_rate, c.buffer_cells, c.router_latency, Time{0}, link}};
  }

  std::vector<Time> arrivals(const std::vector<Shipment>& shipments) const {
    std::vector<std::vector<Time>> left(stages.size());
    std::vector<Time> taken, arrived;  // handed to the first router; delivered to the sink
    std::vector<Time> sink_freed;
    Time injected{0};
    for (const Shipment& shipment : shipments) {
      for (std::uint32_t i = 0; i < shipment.ready.size(); ++i) {
        const std::size_t n = arrived.size();
        // A slot is taken when the source may send; before that the cell waits in the source.
        Time at = std::max(shipment.ready.at(i), n == 0 ? Time{0} : taken.back());
        if (n >= config.injection_cells) at = std::max(at, left[0][n - config.injection_cells]);
        taken.push_back(at);
        injected = std::max(at, injected) + config.cell_time(config.local_rate, shipment.cell_bytes);
        at = injected;
        for (std::size_t k = 0; k < stages.size(); ++k) at = pass(k, at, shipment.cell_bytes, left, sink_freed);
        arrived.push_back(at);
        sink_freed.push_back(std::max(at, n == 0 ? Time{0} : sink_freed.back()) + sink->hold(n));
      }
    }
    return arrived;
  }

 private:
  // The cell's tail reaches the stage at `tail`; returns when it reaches the next one.
  Time pass(std::size_t k, Time tail, std::uint32_t bytes, std::vector<std::vector<Time>>& left,
            const std::vector<Time>& sink_freed) const {
    const Stage& stage = stages[k];
    const Time in = config.cell_time(stage.in, bytes);
    const Time out = config.cell_time(stage.out, bytes);
    Time start = tail + stage.pipeline - std::min(in, out);
    const std::size_t n = left[k].size();
    if (n > 0) start = std::max(start, left[k].back());
    if (k + 1 < stages.size()) {
      const std::size_t slots = stages[k + 1].slots;
      if (n >= slots) start = std::max(start, left[k + 1][n - slots] + stages[k + 1].credit_return);
    } else if (n >= config.local_buffer_cells) {
      start = std::max(start, sink_freed[n - config.local_buffer_cells]);
    }
    left[k].push_back(start + out);
    return start + out + stage.link;
  }
};

std::vector<Shipment> any_shipments(NodeId to, Time base) {
  std::vector<Shipment> shipments;
  Time at = base;
  const int count = *rc::gen::inRange(1, 8);
  for (int i = 0; i < count; ++i) {
    const auto bytes = *rc::gen::element<std::uint32_t>(256U, 256U, 64U, 1U, 200U);
    at += Time{*rc::gen::inRange(0, 2'000'000)};
    const Time gap{*rc::gen::inRange(0, 400'000)};
    shipments.push_back({to, static_cast<std::uint64_t>(i) * kPageBytes, bytes,
                         TimeSequence::regular(at, gap, *rc::gen::inRange<std::uint32_t>(1, 17))});
    at = shipments.back().ready.back();
  }
  return shipments;
}

}  // namespace

TEST_CASE("a sink that frees its slots late holds the cells back all the way to the source") {
  RouterConfig config;
  config.buffer_cells = 4;
  config.injection_cells = 4;
  config.local_buffer_cells = 2;
  NetworkRig rig("n", kTwoQfdbs, config, 16, 5us);
  const Shipment page{5, 0x1000, kCellBytes, TimeSequence::regular(1us, Time{0}, 16)};
  const std::vector<Shipment> shipments{page, page, page};
  for (const Shipment& shipment : shipments) rig.source(1).post(shipment);
  sc_core::sc_start(sc_core::sc_time(30, sc_core::SC_US));
  CHECK(rig.source(1).unsent());  // 18 slots on the way are not enough for 48 cells
  sc_core::sc_start();
  const auto expected = Chain(config, rig.nodes[5]->sink).arrivals(shipments);
  REQUIRE(expected.size() == 48);
  CHECK(instants(rig.delivered(5)) == expected);
  CHECK_FALSE(rig.nodes[5]->sink.overfilled);
  CHECK(rig.pool.in_use() <= rig.most_kept());
}

TEST_CASE("trains of any length and single cells meet the same instants on a chain of routers") {
  RouterConfig tight;
  tight.buffer_cells = 3;
  tight.injection_cells = 3;
  tight.local_buffer_cells = 2;
  tight.injection_latency = 61ns;
  tight.internal_latency = 90ns;
  tight.external_latency = 700ns;
  tight.internal_coding = network::LineCoding::b64_66;
  tight.external_coding = network::LineCoding::b8_10;
  NetworkRig cell("cell", kTwoQfdbs, tight, 1, 600ns), train("train", kTwoQfdbs, tight, 16, 600ns);
  NetworkRig late("late", kTwoQfdbs, tight, 16, 600ns, true), late_cell("late_cell", kTwoQfdbs, tight, 1, 600ns, true);
  NetworkRig wide("wide", kTwoQfdbs, {}, 16, 300ns), wide_cell("wide_cell", kTwoQfdbs, {}, 1, 300ns);
  REQUIRE(rc::check([&] {
    const auto shipments = any_shipments(5, now() + 100us);
    for (NetworkRig* rig : {&cell, &train, &late, &late_cell, &wide, &wide_cell}) {
      rig->clear();
      for (const Shipment& shipment : shipments) rig->source(1).post(shipment);
    }
    sc_core::sc_start();
    for (NetworkRig* rig : {&cell, &train, &late, &late_cell, &wide, &wide_cell}) {
      const bool narrow = rig != &wide && rig != &wide_cell;
      const auto expected = Chain(narrow ? tight : RouterConfig{}, rig->nodes[5]->sink).arrivals(shipments);
      RC_ASSERT(instants(rig->delivered(5)) == expected);
      RC_ASSERT_FALSE(rig->nodes[5]->sink.overfilled);
      RC_ASSERT(rig->pool.in_use() <= rig->most_kept());
    }
  }));
}

namespace {

// Every cell arrives once, whole, and in order per source, destination and kind.
void check_conservation(const ClusterShape& shape, bool many_to_one) {
  RouterConfig config;
  config.buffer_cells = 5;
  config.injection_cells = 5;
  config.local_buffer_cells = 3;
  NetworkRig trains("train", shape, config, 16, 400ns), single("single", shape, config, 1, 400ns, true);
  const NodeId nodes = trains.topology->nodes();
  REQUIRE(rc::check([&] {
    std::map<std::tuple<NodeId, NodeId, PacketKind>, std::uint64_t> sent;
    const Time base = now() + 100us;
    trains.clear();
    single.clear();
    for (NodeId from = 0; from < nodes; ++from) {
      Time at = base;
      const int count = *rc::gen::inRange(0, 6);
      for (int i = 0; i < count; ++i) {
        Shipment shipment;
        shipment.destination = many_to_one ? 0 : *rc::gen::inRange<NodeId>(0, nodes);
        shipment.kind = *rc::gen::element(PacketKind::data, PacketKind::data, PacketKind::message);
        at += Time{*rc::gen::inRange(0, 1'000'000)};
        shipment.ready =
            TimeSequence::regular(at, Time{*rc::gen::inRange(0, 300'000)}, *rc::gen::inRange<std::uint32_t>(1, 17));
        at = shipment.ready.back();
        auto& next = sent[{from, shipment.destination, shipment.kind}];
        shipment.address = next * kCellBytes;
        next += shipment.ready.size();
        for (NetworkRig* rig : {&trains, &single}) rig->source(from).post(shipment);
      }
    }
    if (!sent.empty()) sc_core::sc_start();
    for (NetworkRig* rig : {&trains, &single}) {
      std::map<std::tuple<NodeId, NodeId, PacketKind>, std::uint64_t> got;
      for (NodeId to = 0; to < nodes; ++to) {
        RC_ASSERT_FALSE(rig->nodes[to]->sink.overfilled);
        for (const Delivery& d : rig->delivered(to)) {
          RC_ASSERT(d.content_right);
          RC_ASSERT(d.address == got[std::tuple(d.source, to, d.kind)]++ * kCellBytes);
        }
      }
      RC_ASSERT(got == sent);
      RC_ASSERT(rig->pool.in_use() <= rig->most_kept());
    }
  }));
}

// Every node sends to one or several others, as fast as it can or with pauses; slots are plenty or few. Trains go as
// single cells, and as trains of which everything is said twice.
void check_loaded(const ClusterShape& shape) {
  RouterConfig few;
  few.buffer_cells = 6;
  few.injection_cells = 8;
  few.local_buffer_cells = 4;
  few.external_latency = 700ns;
  NetworkRig trains("train", shape, {}, 16), single("single", shape, {}, 1);
  NetworkRig few_trains("few_train", shape, few, 16, 300ns), few_single("few_single", shape, few, 1, 300ns);
  NetworkRig twice("twice", shape, few, 16, 300ns, false, {}, 0, true);
  const NodeId nodes = trains.topology->nodes();
  REQUIRE(rc::check([&] {
    const Time base = now() + 100us;
    for (NetworkRig* rig : {&trains, &single, &few_trains, &few_single, &twice}) rig->clear();
    const int most = *rc::gen::inRange(1, 12);
    const Time pause{*rc::gen::element(1, 300'000, 5'000'000, 20'000'000)};
    for (NodeId from = 0; from < nodes; ++from) {
      const NodeId partner = *rc::gen::inRange<NodeId>(0, nodes);
      Time at = base;
      for (int i = *rc::gen::inRange(0, most + 1); i > 0; --i) {
        Shipment shipment;
        shipment.destination = *rc::gen::inRange(0, 3) == 0 ? *rc::gen::inRange<NodeId>(0, nodes) : partner;
        at += Time{*rc::gen::inRange<std::int64_t>(0, pause.count())};
        shipment.ready = TimeSequence::regular(at, Time{*rc::gen::element(0, 0, 144'000, 250'000)},
                                               *rc::gen::inRange<std::uint32_t>(1, 33));
        at = shipment.ready.back();
        for (NetworkRig* rig : {&trains, &single, &few_trains, &few_single, &twice}) rig->source(from).post(shipment);
      }
    }
    if (trains.loop.pending()) sc_core::sc_start();
    for (NodeId to = 0; to < nodes; ++to) {
      RC_ASSERT(trains.delivered(to) == single.delivered(to));
      RC_ASSERT(few_trains.delivered(to) == few_single.delivered(to));
      RC_ASSERT(twice.delivered(to) == few_single.delivered(to));
    }
    for (const auto& rig : {&trains, &few_trains}) RC_ASSERT(rig->pool.in_use() <= rig->most_kept());
  }));
}

}  // namespace

TEST_CASE("every cell of random traffic on a QFDB arrives once and in order") { check_conservation(kQfdb, false); }
TEST_CASE("every cell of random traffic on two QFDBs arrives once and in order") {
  check_conservation(kTwoQfdbs, false);
}
TEST_CASE("every cell of random traffic on a torus arrives once and in order") {
  check_conservation({4, 3, 1, 1}, false);
}
TEST_CASE("every cell of random traffic on a fat tree arrives once and in order") {
  check_conservation(test::fat_tree(3, 2, 2), false);
}
TEST_CASE("every cell of random traffic on a dragonfly arrives once and in order") {
  check_conservation(test::dragonfly(4, 3, 1, 1), false);
}
TEST_CASE("trains and single cells meet the same instants in a loaded network of two QFDBs") {
  check_loaded(kTwoQfdbs);
}
TEST_CASE("trains and single cells meet the same instants in a loaded torus") { check_loaded({4, 3, 1, 1}); }
TEST_CASE("trains and single cells meet the same instants in a loaded fat tree") {
  check_loaded(test::fat_tree(3, 2, 2));
}
TEST_CASE("trains and single cells meet the same instants in a loaded torus with paths chosen by load") {
  ClusterShape shape = test::torus("3 x 3");
  shape.routing = network::Routing::adaptive;
  check_loaded(shape);
}
TEST_CASE("every cell arrives once and in order when all send to one") { check_conservation(kTwoQfdbs, true); }

namespace {

// All send to all at once, through buffers of one cell: the network fills up wherever it can.
void post_all_to_all(NetworkRig& rig) {
  const NodeId nodes = rig.topology->nodes();
  for (NodeId from = 0; from < nodes; ++from) {
    for (NodeId i = 1; i < nodes; ++i) {
      Shipment shipment{(from + i) % nodes, 0x1000, kCellBytes, TimeSequence::regular(1us, Time{0}, 8)};
      shipment.block = i;
      rig.source(from).post(shipment);
    }
  }
}
RouterConfig tight(unsigned virtual_channels) {
  RouterConfig config;
  config.buffer_cells = 1;
  config.injection_cells = 2;
  config.local_buffer_cells = 1;
  config.virtual_channels = virtual_channels;
  return config;
}

}  // namespace

TEST_CASE("saturated networks of every family come to an end with the virtual channels that they ask for") {
  std::vector<std::unique_ptr<NetworkRig>> rigs;
  for (ClusterShape shape : {test::qfdbs(4, 1, 1, 2), test::qfdbs(3, 3, 1, 1), test::torus("6"), test::torus("3 x 3"),
                             test::torus("2 x 2 x 2"), test::fat_tree(3, 2, 2), test::fat_tree(2, 2, 3),
                             test::dragonfly(4, 3, 1, 1), test::dragonfly(3, 2, 2, 1)}) {
    for (const network::Routing routing : {network::Routing::minimal, network::Routing::adaptive}) {
      shape.routing = routing;
      const unsigned channels = network::make_topology(shape)->virtual_channels_needed();
      rigs.push_back(
          std::make_unique<NetworkRig>("rig" + std::to_string(rigs.size()) + "_", shape, tight(channels), 16));
      post_all_to_all(*rigs.back());
    }
  }
  sc_core::sc_start();
  for (const auto& rig : rigs) {
    INFO(test::name_of(rig->topology->shape()));
    const NodeId nodes = rig->topology->nodes();
    CHECK(rig->total("network.port0.cells") == std::uint64_t{nodes} * (nodes - 1) * 8);
    CHECK(rig->pool.in_use() <= rig->most_kept());
  }
}

TEST_CASE("a saturated ring with one virtual channel too few waits for itself for ever") {
  NetworkRig rig("n", test::torus("6"), tight(1), 16);
  post_all_to_all(rig);
  sc_core::sc_start();
  CHECK(rig.total("network.port0.cells") < std::uint64_t{6} * 5 * 8);
  CHECK(rig.pool.in_use() > 0);
}
