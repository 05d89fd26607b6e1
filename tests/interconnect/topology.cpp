// SPDX-License-Identifier: Apache-2.0
#include "models/interconnect/topology.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>

using namespace faultline::interconnect;

namespace {

std::vector<ClusterShape> all_shapes() {
  std::vector<ClusterShape> shapes;
  for (unsigned x = 1; x <= 4; ++x) {
    for (unsigned y = 1; y <= 4; ++y) {
      for (unsigned z = 1; z <= 2; ++z) shapes.push_back({x, y, z, 4});
    }
  }
  shapes.push_back({7, 1, 1, 1});
  shapes.push_back({5, 3, 3, 2});
  shapes.push_back({1, 1, 6, 4});
  return shapes;
}

// Distances over the links alone.
std::vector<unsigned> distances(const Topology& topology, NodeId from) {
  std::vector<unsigned> distance(topology.nodes(), UINT32_MAX);
  std::queue<NodeId> open({from});
  distance[from] = 0;
  while (!open.empty()) {
    const NodeId at = open.front();
    open.pop();
    for (unsigned port = 1; port < topology.ports(at); ++port) {
      const NodeId next = topology.neighbour(at, port);
      if (distance[next] != UINT32_MAX) continue;
      distance[next] = distance[at] + 1;
      open.push(next);
    }
  }
  return distance;
}

using Channel = std::tuple<NodeId, unsigned, unsigned>;  // router, output port, virtual channel
using Dependencies = std::map<Channel, std::set<Channel>>;

bool reaches_itself(const Dependencies& graph) {
  std::map<Channel, unsigned> entering;
  for (const auto& [from, to] : graph) {
    entering.try_emplace(from, 0);
    for (const Channel& channel : to) ++entering[channel];
  }
  std::vector<Channel> free;
  for (const auto& [channel, count] : entering) {
    if (count == 0) free.push_back(channel);
  }
  std::size_t removed = 0;
  while (!free.empty()) {
    const Channel channel = free.back();
    free.pop_back();
    ++removed;
    const auto it = graph.find(channel);
    if (it == graph.end()) continue;
    for (const Channel& next : it->second) {
      if (--entering[next] == 0) free.push_back(next);
    }
  }
  return removed < entering.size();
}

// What each held buffer may wait for, over all pairs of nodes.
Dependencies dependencies(const Topology& topology, bool with_virtual_channels) {
  Dependencies graph;
  for (NodeId from = 0; from < topology.nodes(); ++from) {
    for (NodeId to = 0; to < topology.nodes(); ++to) {
      NodeId at = from;
      const Channel* previous = nullptr;
      while (at != to) {
        const Route route = topology.route(at, to);
        const Channel channel{at, route.port, with_virtual_channels ? route.virtual_channel : 0};
        const auto here = graph.try_emplace(channel).first;
        if (previous != nullptr) graph[*previous].insert(channel);
        previous = &here->first;
        at = topology.neighbour(at, route.port);
      }
    }
  }
  return graph;
}

}  // namespace

TEST_CASE("a QFDB is four MPSoCs with a direct link each to each") {
  const Topology topology({});
  CHECK(topology.nodes() == 4);
  CHECK(topology.links().size() == 6);
  CHECK(topology.virtual_channels_needed() == 1);
  for (NodeId a = 0; a < 4; ++a) {
    CHECK(topology.ports(a) == 4);
    CHECK(topology.route(a, a) == Route{kLocalPort, 0});
    for (NodeId b = 0; b < 4; ++b) {
      if (a != b) CHECK(topology.neighbour(a, topology.next_port(a, b)) == b);
    }
  }
  for (const Link& link : topology.links()) CHECK_FALSE(link.external);
}

TEST_CASE("two QFDBs share one external link between their network MPSoCs") {
  const Topology topology({2, 1, 1, 4});
  CHECK(topology.links().size() == 13);
  CHECK(std::count_if(topology.links().begin(), topology.links().end(), [](const Link& l) { return l.external; }) == 1);
  CHECK(topology.virtual_channels_needed() == 1);
  CHECK(distances(topology, 1)[6] == 3);
  CHECK(topology.next_port(1, 6) == topology.next_port(1, 0));
  CHECK(topology.is_external(0, topology.next_port(0, 6)));
  CHECK(topology.ports(0) == 5);
  CHECK(topology.ports(1) == 4);
}

TEST_CASE("each port has one link and each link one port at both ends") {
  for (const ClusterShape& shape : all_shapes()) {
    const Topology topology(shape);
    std::set<std::pair<NodeId, unsigned>> ends;
    for (const Link& link : topology.links()) {
      CHECK(ends.insert({link.a, link.a_port}).second);
      CHECK(ends.insert({link.b, link.b_port}).second);
      CHECK(topology.neighbour(link.a, link.a_port) == link.b);
      CHECK(topology.neighbour(link.b, link.b_port) == link.a);
      CHECK(topology.is_external(link.a, link.a_port) == link.external);
      CHECK(link.external == (link.a / shape.mpsocs_per_qfdb != link.b / shape.mpsocs_per_qfdb));
    }
    std::size_t ports = 0;
    for (NodeId node = 0; node < topology.nodes(); ++node) ports += topology.ports(node) - 1;
    CHECK(ports == ends.size());
  }
}

TEST_CASE("every pair is reached over a shortest path") {
  for (const ClusterShape& shape : all_shapes()) {
    const Topology topology(shape);
    for (NodeId from = 0; from < topology.nodes(); ++from) {
      const std::vector<unsigned> distance = distances(topology, from);
      for (NodeId to = 0; to < topology.nodes(); ++to) {
        unsigned hops = 0;
        NodeId at = from;
        while (at != to && hops <= distance[to]) {
          at = topology.neighbour(at, topology.next_port(at, to));
          ++hops;
        }
        REQUIRE(at == to);
        REQUIRE(hops == distance[to]);
      }
    }
  }
}

TEST_CASE("no cycle of buffers can wait for each other") {
  for (const ClusterShape& shape : all_shapes()) {
    const Topology topology(shape);
    INFO(shape.x << " x " << shape.y << " x " << shape.z);
    CHECK_FALSE(reaches_itself(dependencies(topology, true)));
    if (topology.virtual_channels_needed() == 1) CHECK_FALSE(reaches_itself(dependencies(topology, false)));
  }
  // The check can fail: without virtual channels a ring of five does have a cycle.
  CHECK(reaches_itself(dependencies(Topology({5, 1, 1, 1}), false)));
}

TEST_CASE("the virtual channel switches after the wrap-around link") {
  const Topology ring({5, 1, 1, 1});
  CHECK(ring.route(3, 0).virtual_channel == 0);  // 3 -> 4 -> 0 wraps
  CHECK(ring.route(4, 0).virtual_channel == 0);  // on the wrap-around link itself
  CHECK(ring.route(4, 1).virtual_channel == 0);
  CHECK(ring.route(0, 1).virtual_channel == 1);  // beyond it, or never to cross it
  CHECK(ring.route(0, 4).virtual_channel == 0);  // the other way round
  CHECK(ring.route(4, 2).virtual_channel == 1);
}

TEST_CASE("a shape without nodes is refused") { CHECK_THROWS_AS(Topology({0, 1, 1, 4}), std::logic_error); }
