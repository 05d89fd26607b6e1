// SPDX-License-Identifier: Apache-2.0
#include "models/network/router.hpp"

#include <catch2/catch.hpp>

#include <map>

#include "tests/support/network_mocks.hpp"

using namespace faultline;
using namespace faultline::sim;
using network::ClusterShape;
using network::PacketKind;
using network::RouterConfig;
using test::instants;
using test::NetworkRig;
using test::Shipment;

namespace {

constexpr Time kHop = 120ns + 145ns;
constexpr Time kFarHop = 186ns + 145ns;  // over an external link
// When a cell that is handed over at 1 us may leave its own router.
constexpr Time kStart = 1us + 145ns;
const ClusterShape kQfdb{1, 1, 1, 4};
const ClusterShape kTwoQfdbs{2, 1, 1, 4};
const ClusterShape kLine{8, 1, 1, 1};

Shipment cells(NodeId to, Time at, std::uint32_t count, Time gap = Time{0}, std::uint32_t bytes = kCellBytes) {
  return {to, 0x1000, bytes, TimeSequence::regular(at, gap, count)};
}

std::vector<Time> regular(Time first, Time gap, int count) {
  std::vector<Time> all;
  for (int i = 0; i < count; ++i) all.push_back(first + gap * i);
  return all;
}

// The neighbour of a router at its port 1: knows of slots only what the router says.
struct Neighbour : sc_core::sc_module {
  Neighbour(sc_core::sc_module_name name, network::Router& router, PayloadPool& pool)
      : sc_module(name), out("out"), in("in"), pool_(pool) {
    out.register_nb_transport_bw(this, &Neighbour::on_answers);
    in.register_nb_transport_fw(this, &Neighbour::on_cells);
    out.bind(router.in[1]);
    router.out[1].bind(in);
  }
  InitiatorSocket<Neighbour> out;
  TargetSocket<Neighbour> in;
  std::map<const tlm::tlm_generic_payload*, TimeSequence> slots;  // of each train's cells

  tlm::tlm_generic_payload& send(const TimeSequence& times) {
    tlm::tlm_generic_payload& payload = pool_.acquire();
    train_of(payload).cell_bytes = kCellBytes;
    extension<network::PacketHeader>(payload).source = 1;
    say(payload, times, 0);
    return payload;
  }
  // Its cells from this one on come at other instants than was said.
  void say(tlm::tlm_generic_payload& payload, const TimeSequence& times, std::uint32_t from) {
    Train& train = train_of(payload);
    train.times = times;
    train.content = test::content_at(1, 0, train.bytes());
    send_on(out, payload, {from});
  }

 private:
  tlm::tlm_sync_enum on_answers(tlm::tlm_generic_payload& payload, Message& message, sc_core::sc_time&) {
    const auto& answers = std::get<Answers>(message);
    slots[&payload] = slots[&payload].prefix(answers.from);
    slots[&payload].append(answers.instants);
    return tlm::TLM_ACCEPTED;
  }
  tlm::tlm_sync_enum on_cells(tlm::tlm_generic_payload&, Message&, sc_core::sc_time&) { return tlm::TLM_ACCEPTED; }

  PayloadPool& pool_;
};

}  // namespace

TEST_CASE("a cell over one hop takes its time on the link, the link and the router") {
  NetworkRig rig("n", kQfdb, {}, 16);
  rig.source(0).post(cells(1, 1us, 1));
  sc_core::sc_start();
  // 288 B at 16 Gb/s; the NI behind the router is faster than the link and adds nothing.
  CHECK(instants(rig.delivered(1)) == std::vector<Time>{kStart + 144ns + 120ns + 145ns});
  CHECK(rig.delivered(1)[0].content_right);
}

TEST_CASE("a page over one hop comes at the link's rate") {
  NetworkRig rig("n", kQfdb, {}, 16);
  rig.source(0).post(cells(1, 1us, 16));
  sc_core::sc_start();
  CHECK(instants(rig.delivered(1)) == regular(kStart + 409ns, 144ns, 16));
}

TEST_CASE("cells that come slower than the link can carry do not wait for each other") {
  NetworkRig rig("n", kQfdb, {}, 16);
  rig.source(0).post(cells(1, 1us, 16, 200ns));
  sc_core::sc_start();
  CHECK(instants(rig.delivered(1)) == regular(kStart + 409ns, 200ns, 16));
}

TEST_CASE("a short packet takes its own time on the link") {
  NetworkRig rig("n", kQfdb, {}, 16);
  Shipment message = cells(1, 1us, 1, Time{0}, 64);
  message.kind = PacketKind::message;
  rig.source(0).post(message);
  sc_core::sc_start();
  CHECK(instants(rig.delivered(1)) == std::vector<Time>{kStart + 48ns + 265ns});  // 96 B at 16 Gb/s
}

TEST_CASE("a second hop at the same rate costs link and router, not the cell's time again") {
  NetworkRig rig("n", {5, 1, 1, 1}, {}, 16);
  rig.source(0).post(cells(2, 1us, 16));
  sc_core::sc_start();
  const Time service = Time{230'400};  // 288 B at 10 Gb/s
  CHECK(instants(rig.delivered(2)) == regular(kStart + service + 2 * kFarHop, service, 16));
}

TEST_CASE("a slow link after a fast one is entered by the cell's head") {
  NetworkRig rig("n", kTwoQfdbs, {}, 16);
  rig.source(1).post(cells(4, 1us, 16));
  sc_core::sc_start();
  CHECK(instants(rig.delivered(4)) == regular(kStart + kHop + kFarHop + Time{230'400}, Time{230'400}, 16));
}

TEST_CASE("a fast link after a slow one cannot outrun the cell's tail") {
  NetworkRig rig("n", kTwoQfdbs, {}, 16);
  rig.source(0).post(cells(5, 1us, 16));
  sc_core::sc_start();
  CHECK(instants(rig.delivered(5)) == regular(kStart + kHop + kFarHop + Time{230'400}, Time{230'400}, 16));
}

TEST_CASE("three hops from board to board") {
  NetworkRig rig("n", kTwoQfdbs, {}, 16);
  rig.source(1).post(cells(6, 1us, 16));
  sc_core::sc_start();
  CHECK(instants(rig.delivered(6)) == regular(kStart + 2 * kHop + kFarHop + Time{230'400}, Time{230'400}, 16));
}

TEST_CASE("each kind of link has a latency and a coding of its own") {
  RouterConfig config;
  config.internal_latency = 50ns;
  config.external_latency = 700ns;
  config.internal_coding = network::LineCoding::b8_10;   // 288 B in 180 ns
  config.external_coding = network::LineCoding::b64_66;  // in 237.6 ns, up to the next picosecond
  NetworkRig rig("n", kTwoQfdbs, config, 16);
  rig.source(2).post(cells(3, 1us, 16));
  rig.source(1).post(cells(4, 1us, 16));
  sc_core::sc_start();
  CHECK(instants(rig.delivered(3)) == regular(kStart + 180ns + 50ns + 145ns, 180ns, 16));
  const Time slow = config.cell_time(config.external_data_rate(), kCellBytes);
  CHECK(slow == Time{237'601});
  CHECK(instants(rig.delivered(4)) == regular(kStart + 50ns + 145ns + slow + 700ns + 145ns, slow, 16));
}

TEST_CASE("the news of a free slot takes the latency of the link that it goes back over") {
  RouterConfig config;
  config.buffer_cells = 1;
  config.internal_latency = 50ns;
  config.external_latency = 700ns;
  NetworkRig inside("inside", kQfdb, config, 16), outside("outside", kLine, config, 16);
  inside.source(0).post(cells(1, 1us, 4));
  outside.source(0).post(cells(1, 1us, 4));
  sc_core::sc_start();
  // From a cell's last byte on the link: its latency, the router's pipeline and what the NI's datapath takes longer
  // than the link has given it already; then the news. The next cell then takes its own time on the link.
  const auto period = [](Time on_link, Time latency) { return 2 * latency + 145ns + on_link; };
  CHECK(instants(inside.delivered(1)) == regular(kStart + 144ns + 50ns + 145ns, period(144ns, 50ns), 4));
  CHECK(instants(outside.delivered(1)) ==
        regular(kStart + Time{230'400} + 700ns + 145ns, period(Time{230'400}, 700ns), 4));
}

TEST_CASE("an NI slower than the link sets the pace at both ends") {
  RouterConfig config;
  config.local_rate = BitRate{8'000'000'000};  // 288 ns a cell
  NetworkRig rig("n", kQfdb, config, 16);
  rig.source(0).post(cells(1, 1us, 16));
  sc_core::sc_start();
  // The link ends a cell when the NI has handed over its tail; the receiving NI starts with its head.
  const Time first = kStart + 288ns + 120ns + 145ns - 144ns + 288ns;
  CHECK(instants(rig.delivered(1)) == regular(first, 288ns, 16));
}

TEST_CASE("a cell crosses the pipeline of its own router once, and then that of each router it is led to") {
  RouterConfig config;
  config.injection_latency = 37ns;
  config.router_latency = 500ns;
  NetworkRig rig("n", kTwoQfdbs, config, 16);
  rig.source(0).post(cells(0, 1us, 16));
  rig.source(2).post(cells(3, 1us, 16));
  rig.source(1).post(cells(4, 1us, 16));
  sc_core::sc_start();
  CHECK(instants(rig.delivered(0)) == regular(1us + 37ns + 120ns, 120ns, 16));
  CHECK(instants(rig.delivered(3)) == regular(1us + 37ns + 144ns + 620ns, 144ns, 16));
  CHECK(instants(rig.delivered(4)) == regular(1us + 37ns + Time{230'400} + 620ns + 686ns, Time{230'400}, 16));
}

TEST_CASE("a node reaches itself through its own router") {
  NetworkRig rig("n", kQfdb, {}, 16);
  rig.source(2).post(cells(2, 1us, 4));
  sc_core::sc_start();
  CHECK(instants(rig.delivered(2)) == regular(kStart + 120ns, 120ns, 4));  // 288 B at 19.2 Gb/s
}

TEST_CASE("a packet to a node that does not exist is lost and counted, and its slots come back") {
  RouterConfig config;
  config.buffer_cells = 4;
  config.injection_cells = 4;
  NetworkRig rig("n", kQfdb, config, 16);
  rig.source(0).post(cells(4, 1us, 16));  // there are 0 to 3
  rig.source(0).post(cells(1, 2us, 1));
  sc_core::sc_start();
  CHECK(rig.total("network.undeliverable_cells") == 16);
  CHECK(rig.delivered(1).size() == 1);
  CHECK(rig.pool.in_use() <= rig.most_kept());
}

TEST_CASE("an NI that sends a cell without a free slot is found out when the cell has left") {
  RouterConfig config;
  config.injection_cells = 4;
  NetworkRig rig("n", kQfdb, config, 16, 0ns, false, {}, 1);
  rig.source(0).post(cells(1, 1us, 16));
  rig.source(0).post(cells(1, 20us, 1));
  CHECK_THROWS_WITH(sc_core::sc_start(), Catch::Contains("without a free slot"));
}

TEST_CASE("ports count what they send and for how long") {
  NetworkRig rig("n", kQfdb, {}, 16);
  rig.source(0).post(cells(1, 1us, 16));
  sc_core::sc_start();
  const auto& sender = rig.nodes[0]->statistics;
  CHECK(sender.value("network.port1.cells") == 16);
  CHECK(sender.value("network.port1.bytes") == 16 * 288);
  CHECK(sender.value("network.port1.busy") == 16 * 144'000);
  CHECK(sender.value("network.port0.cells") == 0);
  CHECK(rig.nodes[1]->statistics.value("network.port0.cells") == 16);
  CHECK(rig.nodes[1]->statistics.value("network.port0.busy") == 16 * 120'000);
}

TEST_CASE("an undisturbed train costs one event on its way, where it reaches its node") {
  NetworkRig rig("n", kTwoQfdbs, {}, 16);
  rig.source(1).post(cells(5, 1us, 16));
  sc_core::sc_start();
  CHECK(rig.delivered(5).size() == 16);
  // The source is woken to submit, to send, for the slots and to let go of the payload.
  CHECK(rig.loop.events_run() == 4 + 1);
}

TEST_CASE("one virtual channel is enough where a path meets no ring") {
  RouterConfig config;
  config.virtual_channels = 1;
  NetworkRig rig("n", {5, 1, 1, 1}, config, 16);
  rig.source(0).post(cells(1, 1us, 1));  // would take channel 1
  rig.source(4).post(cells(0, 1us, 1));  // the wrap-around link
  sc_core::sc_start();
  CHECK(instants(rig.delivered(1)) == std::vector<Time>{kStart + kFarHop + Time{230'400}});
  CHECK(instants(rig.delivered(0)) == std::vector<Time>{kStart + kFarHop + Time{230'400}});
}

TEST_CASE("messages do not wait behind data in the network interface") {
  NetworkRig rig("n", kQfdb, {}, 16);
  rig.source(0).post(cells(1, 1us, 16));
  Shipment message = cells(2, 1us, 1, Time{0}, 64);
  message.kind = PacketKind::message;
  rig.source(0).post(message);
  sc_core::sc_start();
  CHECK(instants(rig.delivered(2)) == std::vector<Time>{kStart + 48ns + kHop});
}

TEST_CASE("two inputs share an output cell by cell, however long their trains") {
  NetworkRig single("single", kTwoQfdbs, {}, 1), train("train", kTwoQfdbs, {}, 16);
  for (NetworkRig* rig : {&single, &train}) {
    rig->source(1).post(cells(4, 1us, 16));
    rig->source(2).post(cells(4, 1us, 16));
  }
  sc_core::sc_start();
  for (NetworkRig* rig : {&single, &train}) {
    const auto& d = rig->delivered(4);
    REQUIRE(instants(d) == regular(kStart + kHop + kFarHop + Time{230'400}, Time{230'400}, 32));
    for (std::size_t i = 0; i < d.size(); ++i) CHECK(d[i].source == (i % 2 == 0 ? d[0].source : 3 - d[0].source));
  }
}

TEST_CASE("three inputs share an output equally, the network interface among them") {
  NetworkRig rig("n", kTwoQfdbs, {}, 16);
  // The two from the QFDB need 265 ns to reach the external link.
  for (const NodeId from : {1U, 2U}) rig.source(from).post(cells(4, 1us, 16));
  rig.source(0).post(cells(4, 1us + 265ns, 16));
  sc_core::sc_start();
  const auto& d = rig.delivered(4);
  REQUIRE(instants(d) == regular(kStart + kHop + kFarHop + Time{230'400}, Time{230'400}, 48));
  for (std::size_t i = 0; i + 3 <= d.size(); i += 3) {
    CHECK(d[i].source + d[i + 1].source + d[i + 2].source == 3);
    CHECK(d[i].source != d[i + 1].source);
    CHECK(d[i].source != d[i + 2].source);
  }
}

TEST_CASE("trains that share an output cost no more events if they have different lengths") {
  RouterConfig config;
  config.buffer_cells = config.local_buffer_cells = 64;
  NetworkRig equal("equal", kTwoQfdbs, config, 16), different("different", kTwoQfdbs, config, 16);
  for (const NodeId source : {1U, 2U, 3U}) {
    equal.source(source).post(cells(4 + source, 1us, 12));
    different.source(source).post(cells(4 + source, 1us, 20 - 4 * source));
  }
  sc_core::sc_start();
  for (const NodeId source : {1U, 2U, 3U}) CHECK(different.delivered(4 + source).size() == 20 - 4 * source);
  CHECK(different.loop.events_run() <= equal.loop.events_run());
}

TEST_CASE("cells of a run that have not started are taken back for a competitor that becomes known later") {
  NetworkRig single("single", kTwoQfdbs, {}, 1), train("train", kTwoQfdbs, {}, 16);
  for (NetworkRig* rig : {&single, &train}) {
    rig->source(1).post(cells(4, 1us, 16));
    rig->source(2).post(cells(4, 2us, 4));
  }
  sc_core::sc_start();
  for (NetworkRig* rig : {&single, &train}) {
    const auto& d = rig->delivered(4);
    REQUIRE(instants(d) == regular(kStart + kHop + kFarHop + Time{230'400}, Time{230'400}, 20));
    // Cells start each 230.4 ns from 1.41 us; at 2.3316 the fifth does, at 2.562 it is the others' turn.
    for (std::size_t i = 0; i < 20; ++i) CHECK(d[i].source == (i >= 5 && i < 13 && i % 2 == 1 ? 2U : 1U));
    CHECK(rig->nodes[0]->statistics.value("network.port4.cells") == 20);
  }
}

TEST_CASE("a train that was announced ahead gives way to cells that are ready before its first") {
  RouterConfig config;
  config.buffer_cells = 2;
  NetworkRig single("single", kTwoQfdbs, config, 1), train("train", kTwoQfdbs, config, 16);
  for (NetworkRig* rig : {&single, &train}) {
    rig->source(1).post(cells(4, 1us, 2));
    // The hub's own are ready for its link at 1.245 us, those from the QFDB, which were announced there, at 1.41 us.
    rig->source(0).post(cells(4, 1us + 100ns, 2));
  }
  sc_core::sc_start();
  CHECK(train.delivered(4) == single.delivered(4));
  REQUIRE(train.delivered(4).size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(train.delivered(4)[i].source == i % 2);
}

TEST_CASE("a train that slots cut is lengthened when its last cell leaves, whatever others announce ahead") {
  // Nothing takes time but cells on links, which is less than a cluster may have: the routers behind have started the
  // last cell before that. A cell of the second router's own comes at each instant in turn and makes both look for what
  // has left.
  RouterConfig config;
  config.internal_latency = config.external_latency = config.router_latency = config.injection_latency = Time{0};
  config.buffer_cells = 4;
  std::vector<std::unique_ptr<NetworkRig>> rigs;
  for (int i = 0; i < 120; ++i) {
    for (const std::uint32_t cells_per_train : {16U, 1U}) {
      rigs.push_back(std::make_unique<NetworkRig>("rig" + std::to_string(rigs.size()), kLine, config, cells_per_train));
      rigs.back()->source(0).post(cells(3, 1us, 16));
      rigs.back()->source(1).post(cells(3, 1us + i * Time{33'000}, 1));
      rigs.back()->source(1).post(cells(2, 1us + i * Time{33'000}, 1));
    }
  }
  sc_core::sc_start();
  for (std::size_t i = 0; i < rigs.size(); i += 2) {
    CHECK(rigs[i]->delivered(3).size() == 17);
    CHECK(rigs[i]->delivered(3) == rigs[i + 1]->delivered(3));
  }
}

TEST_CASE("a router takes back what it said of a cell's slot when another cell has its turn") {
  RouterConfig config;
  config.local_buffer_cells = 2;
  EventLoop loop("loop");
  PayloadPool pool;
  Trace trace;
  const auto topology = network::make_topology({2, 1, 1, 1});
  test::BareRouter node("node", 0, loop, pool, trace, config, *topology, 16);
  test::NetworkSink sink("sink", config.local_buffer_cells, 1ms, true, node.context);
  Neighbour neighbour("neighbour", *node.router, pool);
  node.router->out[network::kLocalPort].bind(sink.in);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  auto& train = neighbour.send(TimeSequence::regular(1us, 9us, 2));
  auto& other = neighbour.send(TimeSequence::single(20us));
  sc_core::sc_start(sc_core::sc_time(4, sc_core::SC_US));
  CHECK(neighbour.slots[&train].size() == 2);
  CHECK(neighbour.slots[&other].size() == 0);
  // The train's last cell comes behind the other train, which has the node's second slot then.
  neighbour.say(train, TimeSequence::regular(1us, 29us, 2), 1);
  sc_core::sc_start(sc_core::sc_time(20, sc_core::SC_US));
  CHECK(neighbour.slots[&train].size() == 1);
  CHECK(neighbour.slots[&other].size() == 1);
  sc_core::sc_start();
  CHECK(neighbour.slots[&train].size() == 2);
}

TEST_CASE("a competitor that is ready when a cell of a run starts goes first, one picosecond later it does not") {
  NetworkRig tied("tied", kTwoQfdbs, {}, 16), late("late", kTwoQfdbs, {}, 16);
  for (NetworkRig* rig : {&tied, &late}) rig->source(1).post(cells(4, 1us, 16));
  const Time last_start = 1us + 15 * Time{230'400};  // less the way to the external link, which is the same for both
  tied.source(2).post(cells(4, last_start, 1));
  late.source(2).post(cells(4, last_start + Time{1}, 1));
  sc_core::sc_start();
  CHECK(tied.delivered(4)[15].source == 2);
  CHECK(tied.delivered(4)[16].source == 1);
  CHECK(late.delivered(4)[15].source == 1);
  CHECK(late.delivered(4)[16].source == 2);
}

TEST_CASE("what software sends at the instant of a decision comes behind it, what hardware sends takes part") {
  RouterConfig config;
  config.injection_latency = Time{0};
  const Time second_start = 1us + kHop + Time{230'400};
  struct Node {
    NetworkRig rig;
    void send() { rig.source(0).post(cells(4, rig.loop.now(), 1)); }
  };
  std::vector<std::unique_ptr<Node>> nodes;
  for (const bool software : {true, false}) {
    for (const std::uint32_t cells_per_train : {1U, 16U}) {
      const std::string name = "n" + std::to_string(nodes.size());
      nodes.emplace_back(new Node{{name, kTwoQfdbs, config, cells_per_train}});
      NetworkRig& rig = nodes.back()->rig;
      rig.source(1).post(cells(4, 1us, 3));
      // The hub's own cell is ready for its link when the train's second one starts, and would have its turn before it.
      rig.loop.at<&Node::send>(second_start, software ? rig.loop.new_core_port() : rig.loop.new_port(), *nodes.back());
    }
  }
  sc_core::sc_start();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    INFO(i);
    std::vector<NodeId> sources;
    for (const test::Delivery& d : nodes[i]->rig.delivered(4)) sources.push_back(d.source);
    CHECK(sources == (i < 2 ? std::vector<NodeId>{1, 1, 0, 1} : std::vector<NodeId>{1, 0, 1, 1}));
  }
}

TEST_CASE("a run is cut where a competitor is known to come") {
  NetworkRig rig("n", kTwoQfdbs, {}, 16);
  // Both are announced before the first starts on the external link.
  rig.source(1).post(cells(4, 1us, 16));
  rig.source(2).post(cells(4, 1us + 200ns, 16));
  sc_core::sc_start();
  const auto& d = rig.delivered(4);
  REQUIRE(instants(d) == regular(kStart + kHop + kFarHop + Time{230'400}, Time{230'400}, 32));
  for (std::size_t i = 0; i < 32; ++i) CHECK(d[i].source == (i % 2 == 0 ? 1U : 2U));
}
