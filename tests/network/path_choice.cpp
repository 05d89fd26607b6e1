// SPDX-License-Identifier: Apache-2.0
#include "models/network/path_choice.hpp"

#include <catch2/catch.hpp>

#include <map>

#include "tests/network/shapes.hpp"
#include "tests/support/network_mocks.hpp"

using namespace faultline;
using namespace faultline::sim;
using namespace faultline::test;

namespace {

constexpr Time kHop = 120ns + 145ns;
constexpr Time kFarHop = 186ns + 145ns;  // over an external link
constexpr Time kExternal{230'400};

ClusterShape adaptive(ClusterShape shape) {
  shape.routing = Routing::adaptive;
  return shape;
}
RouterConfig with_channels(unsigned channels) {
  RouterConfig config;
  config.virtual_channels = channels;
  return config;
}
Shipment block_of(std::uint32_t cells, NodeId to, Time at, std::uint32_t number, Time gap = Time{0}) {
  Shipment shipment{to, 0x1000 + number * 0x10000, kCellBytes, TimeSequence::regular(at, gap, cells)};
  shipment.block = number;
  return shipment;
}
std::vector<Time> regular(Time first, Time gap, int count) {
  const TimeSequence times = TimeSequence::regular(first, gap, static_cast<std::uint32_t>(count));
  std::vector<Time> all(times.size());
  for (std::uint32_t i = 0; i < times.size(); ++i) all[i] = times.at(i);
  return all;
}
std::uint64_t sent(NetworkRig& rig, RouterId router, unsigned port) {
  const std::string name = "network.port" + std::to_string(port) + ".cells";
  const std::size_t nodes = rig.nodes.size();
  return router < nodes ? rig.nodes[router]->statistics.value(name) : rig.bare[router - nodes]->statistics.value(name);
}

}  // namespace

TEST_CASE("an output's load is what has arrived and holds a slot that has not come free") {
  OutputLoad load;
  load.arriving(nullptr, TimeSequence::regular(10ns, 10ns, 4), 5ns);  // 10, 20, 30, 40
  CHECK(load.at(10ns - Time{1}) == 0);
  CHECK(load.at(10ns) == 1);
  load.freed(nullptr, TimeSequence::regular(25ns, 10ns, 4), 12ns);  // 25, 35, 45, 55
  CHECK(load.at(20ns) == 2);
  CHECK(load.at(25ns) == 1);
  CHECK(load.at(40ns) == 2);
  CHECK(load.at(55ns) == 0);
  for (int i = 0; i < 1000; ++i) {
    load.arriving(nullptr, TimeSequence::single(60ns + Time{i}), 60ns);
    load.freed(nullptr, TimeSequence::single(70ns + Time{i}), 60ns);
  }
  CHECK(load.at(65ns) == 1000);
  CHECK(load.at(70ns + Time{499}) == 500);
}

TEST_CASE("on a fat tree a block avoids the way up that another one loads") {
  // 4 and 6 have the same fixed way up from the switch of 0 and 1.
  const ClusterShape tree = fat_tree(4, 2, 2);
  NetworkRig fixed("fixed", tree, {}, 16), trains("trains", adaptive(tree), {}, 16),
      single("single", adaptive(tree), {}, 1);
  for (NetworkRig* rig : {&fixed, &trains, &single}) {
    rig->source(0).post(block_of(16, 4, 1us, 0));
    rig->source(1).post(block_of(16, 6, 2us, 0));
  }
  sc_core::sc_start();
  const RouterId leaf = 16;
  CHECK(sent(fixed, leaf, 5) == 32);
  CHECK(sent(fixed, leaf, 6) == 0);
  for (NetworkRig* rig : {&trains, &single}) {
    CHECK(sent(*rig, leaf, 5) == 16);
    CHECK(sent(*rig, leaf, 6) == 16);
    CHECK(instants(rig->delivered(4)) == regular(1us + 145ns + 2 * kHop + 2 * kFarHop + kExternal, kExternal, 16));
    CHECK(instants(rig->delivered(6)) == regular(2us + 145ns + 2 * kHop + 2 * kFarHop + kExternal, kExternal, 16));
    CHECK(instants(fixed.delivered(6)) != instants(rig->delivered(6)));
    CHECK(rig->pool.in_use() <= rig->most_kept());
  }
}

TEST_CASE("the choice is made when the head is there, by what has come free until then") {
  // The first block's last cell leaves the lowest switch's way up, and its slot at the next one is free again, when a
  // second block's head arrives; a picosecond earlier it is not.
  const Time head = 145ns + 120ns;                          // of a cell that is injected at 0, at the switch
  const Time tail_leaves = 1us + 145ns + kHop + kExternal;  // a single cell, up
  const Time slot_free = tail_leaves + kFarHop + 186ns;     // it goes on at once, and the news comes back
  NetworkRig same("same", adaptive(fat_tree(4, 2, 2)), {}, 16), early("early", adaptive(fat_tree(4, 2, 2)), {}, 16);
  for (NetworkRig* rig : {&same, &early}) rig->source(0).post(block_of(1, 4, 1us, 0));
  same.source(1).post(block_of(1, 6, slot_free - head, 0));
  early.source(1).post(block_of(1, 6, slot_free - head - Time{1}, 0));
  sc_core::sc_start();
  CHECK(sent(same, 16, 5) == 2);
  CHECK(sent(early, 16, 5) == 1);
  CHECK(sent(early, 16, 6) == 1);
}

TEST_CASE("a block keeps its path, whatever comes meanwhile, and the next one chooses anew") {
  NetworkRig rig("n", adaptive(fat_tree(4, 2, 2)), {}, 4);
  rig.source(0).post(block_of(16, 4, 1us, 0, 500ns));
  rig.source(1).post(block_of(16, 6, 1us + 100ns, 0, 300ns));
  rig.source(2).post(block_of(64, 8, 2us, 0));
  rig.source(0).post(block_of(16, 12, 9us, 1));
  sc_core::sc_start();
  for (const NodeId to : {4U, 6U, 8U, 12U}) {
    const auto& delivered = rig.delivered(to);
    REQUIRE(delivered.size() == (to == 8 ? 64 : 16));
    for (std::size_t i = 1; i < delivered.size(); ++i) CHECK(delivered[i].address == delivered[i - 1].address + 256);
  }
  // Blocks are whole on one way up.
  CHECK(sent(rig, 16, 5) % 16 == 0);
  CHECK(sent(rig, 16, 5) + sent(rig, 16, 6) == 112);
}

TEST_CASE("messages keep to the fixed path and so to their order") {
  NetworkRig rig("n", adaptive(fat_tree(4, 2, 2)), {}, 16);
  rig.source(0).post(block_of(32, 4, 1us, 0));
  for (std::uint32_t i = 0; i < 8; ++i) {
    Shipment message = block_of(1, 6, 2us + i * 10ns, i);
    message.kind = PacketKind::message;
    rig.source(1).post(message);
  }
  sc_core::sc_start();
  REQUIRE(rig.delivered(6).size() == 8);
  for (std::uint32_t i = 0; i < 8; ++i) CHECK(rig.delivered(6)[i].block == i);
  CHECK(sent(rig, 16, 5) == 40);
}

TEST_CASE("on a torus a block enters by the other dimension when the first is loaded") {
  const ClusterShape shape = adaptive(torus("5 x 5"));
  NetworkRig trains("trains", shape, with_channels(4), 16), single("single", shape, with_channels(4), 1);
  for (NetworkRig* rig : {&trains, &single}) {
    rig->source(0).post(block_of(16, 6, 1us, 0));
    rig->source(0).post(block_of(16, 6, 1us, 1));
  }
  sc_core::sc_start();
  for (NetworkRig* rig : {&trains, &single}) {
    CHECK(sent(*rig, 0, 1) == 16);  // positive x
    CHECK(sent(*rig, 0, 3) == 16);  // positive y
    std::map<std::uint32_t, std::vector<Time>> arrived;
    for (const Delivery& d : rig->delivered(6)) arrived[d.block].push_back(d.at);
    // They share the queue of the NI, so that the second block's head goes when the first block has gone.
    CHECK(arrived[0] == regular(1us + 145ns + 2 * kFarHop + kExternal, kExternal, 16));
    CHECK(arrived[1] == regular(1us + 145ns + 16 * kExternal + 2 * kFarHop + kExternal, kExternal, 16));
  }
}

TEST_CASE("on a torus of QFDBs the network MPSoC chooses for its QFDB") {
  ClusterShape shape = adaptive(qfdbs(3, 3, 1, 4));
  NetworkRig rig("n", shape, with_channels(4), 16);
  rig.source(1).post(block_of(16, 4 * 4, 1us, 0));
  rig.source(2).post(block_of(16, 4 * 4 + 1, 2us, 0));
  sc_core::sc_start();
  CHECK(sent(rig, 0, 4) == 16);
  CHECK(sent(rig, 0, 6) == 16);
  CHECK(instants(rig.delivered(16)) == regular(1us + 145ns + kHop + 2 * kFarHop + kExternal, kExternal, 16));
  CHECK(instants(rig.delivered(17)) == regular(2us + 145ns + 2 * kHop + 2 * kFarHop + kExternal, kExternal, 16));
}

TEST_CASE("a dragonfly's blocks go through another group when the direct link is loaded beyond the way's length") {
  NetworkRig rig("n", adaptive(dragonfly(9, 4, 2, 2)), with_channels(3), 16);
  // To group 1: its link is this router's own, slot 0.
  for (std::uint32_t i = 0; i < 8; ++i) rig.source(0).post(block_of(16, 8, 1us, i));
  sc_core::sc_start();
  const RouterId router = 72;
  const std::uint64_t direct = sent(rig, router, 6);
  CHECK(direct >= 16);
  CHECK(direct < 128);
  std::map<std::uint32_t, std::vector<std::uint64_t>> blocks;
  for (const Delivery& d : rig.delivered(8)) blocks[d.block].push_back(d.address);
  REQUIRE(blocks.size() == 8);
  for (const auto& [number, addresses] : blocks) {
    REQUIRE(addresses.size() == 16);
    CHECK(std::is_sorted(addresses.begin(), addresses.end()));
  }
  // The first met no load.
  CHECK(rig.delivered(8).front().at == 1us + 145ns + 3 * kHop + kFarHop + kExternal);
  CHECK(rig.delivered(8).front().block == 0);
}
