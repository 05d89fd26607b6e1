// SPDX-License-Identifier: Apache-2.0
// The families of topologies by example, and the shapes that are none.
#include "models/network/topology.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <set>

#include "tests/network/shapes.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

unsigned external_links(const Topology& topology) {
  unsigned count = 0;
  for (const Link& link : topology.links()) count += link.external ? 1 : 0;
  return count;
}
unsigned next_port(const Topology& topology, RouterId at, NodeId to) { return topology.route(at, to, kFixedPath).port; }
RouterId next(const Topology& topology, RouterId at, NodeId to, Path path = kFixedPath) {
  return topology.neighbour(at, topology.route(at, to, path).port).router;
}
unsigned channel(const Topology& topology, RouterId at, NodeId to) {
  return topology.route(at, to, kFixedPath).virtual_channel;
}
std::vector<std::string> keys_of(const ClusterShape& shape) {
  const auto found = conflicts(shape);
  return found.empty() ? std::vector<std::string>{} : found.front().keys;
}

}  // namespace

TEST_CASE("a QFDB is four MPSoCs with a direct link each to each") {
  const auto topology = make_topology({});
  CHECK(topology->nodes() == 4);
  CHECK(topology->routers() == 4);
  CHECK(topology->links().size() == 6);
  CHECK(external_links(*topology) == 0);
  CHECK(topology->virtual_channels_needed() == 1);
  CHECK(topology->diameter() == 1);
  for (NodeId a = 0; a < 4; ++a) {
    CHECK(topology->ports(a) == 4);
    for (NodeId b = 0; b < 4; ++b) {
      if (a != b) CHECK(next(*topology, a, b) == b);
    }
  }
}

TEST_CASE("two QFDBs share one external link between their network MPSoCs") {
  const auto topology = make_topology(qfdbs(2, 1, 1, 4));
  CHECK(topology->links().size() == 13);
  CHECK(external_links(*topology) == 1);
  CHECK(topology->virtual_channels_needed() == 1);
  CHECK(distances(*topology, 1)[6] == 3);
  CHECK(next_port(*topology, 1, 6) == next_port(*topology, 1, 0));
  CHECK(topology->is_external(0, next_port(*topology, 0, 6)));
  CHECK(topology->ports(0) == 5);
  CHECK(topology->ports(1) == 4);
}

TEST_CASE("a blade is a ring of four QFDBs, and eight of them the prototype's 128 MPSoCs") {
  const auto blade = make_topology(qfdbs(4, 1, 1, 4));
  CHECK(blade->nodes() == 16);
  CHECK(external_links(*blade) == 4);
  CHECK(blade->diameter() == 1 + 2 + 1);
  CHECK(blade->virtual_channels_needed() == 2);
  const auto prototype = make_topology(qfdbs(4, 4, 2, 4));
  CHECK(prototype->nodes() == 128);
  // Two rings and, along z, one link for each pair.
  CHECK(external_links(*prototype) == 32 + 32 + 16);
  CHECK(prototype->diameter() == 1 + 2 + 2 + 1 + 1);
}

TEST_CASE("the virtual channel switches after the wrap-around link") {
  const auto ring = make_topology(torus("5"));
  CHECK(channel(*ring, 3, 0) == 0);  // 3 -> 4 -> 0 wraps
  CHECK(channel(*ring, 4, 0) == 0);  // on the wrap-around link itself
  CHECK(channel(*ring, 4, 1) == 0);
  CHECK(channel(*ring, 0, 1) == 1);  // beyond it, or never to cross it
  CHECK(channel(*ring, 0, 4) == 0);  // the other way round
  CHECK(channel(*ring, 4, 2) == 1);
}

TEST_CASE("a torus goes through its dimensions in order and the shorter way round, the positive one of equals") {
  const auto topology = make_topology(torus("8 x 4 x 4"));
  CHECK(topology->nodes() == 128);
  CHECK(topology->links().size() == 384);
  CHECK(external_links(*topology) == 3 * 128);
  CHECK(topology->diameter() == 4 + 2 + 2);
  CHECK(next(*topology, 0, 3 + 8 * 1) == 1);
  CHECK(next(*topology, 0, 5 + 8 * 1) == 7);
  CHECK(next(*topology, 0, 4) == 1);
  CHECK(next(*topology, 3, 3 + 8 * 3) == 3 + 8 * 3);
  CHECK(next(*topology, 3, 3 + 32 * 2) == 3 + 32);
}

TEST_CASE("a path round a torus may go the other way and through the dimensions in descending order") {
  ClusterShape shape = torus("5 x 5");
  shape.routing = Routing::adaptive;
  const auto topology = make_topology(shape);
  CHECK(topology->virtual_channels_needed() == 4);
  REQUIRE(topology->paths(0, 6) == 8);  // two orders, two ways round in each dimension
  std::set<std::vector<RouterId>> ways;
  for (unsigned n = 0; n < 8; ++n) {
    std::vector<RouterId> routers;
    for (const Hop& hop : way(*topology, 0, 6, topology->path(0, 6, n), 8)) routers.push_back(hop.at);
    ways.insert(routers);
  }
  CHECK(ways.size() == 8);
  CHECK(ways.count({0, 1}) == 1);
  CHECK(ways.count({0, 5}) == 1);
  CHECK(ways.count({0, 4, 3, 2, 1, 21, 16, 11}) == 1);
  CHECK(topology->paths(0, 1) == 2);  // only one dimension to cross: no order
  shape.routing = Routing::minimal;
  shape.reroute = true;
  const auto detours = make_topology(shape);
  CHECK(detours->virtual_channels_needed() == 2);
  CHECK(detours->paths(0, 6) == 4);
}

TEST_CASE("adaptive routing on a torus has both ways round where they are equal, in both orders") {
  ClusterShape shape = torus("4 x 4");
  shape.routing = Routing::adaptive;
  const auto topology = make_topology(shape);
  std::vector<Candidate> found;
  topology->candidates(0, 2 + 4 * 2, 0, found);
  std::set<RouterId> first;
  for (const Candidate& c : found) first.insert(topology->neighbour(0, c.port).router);
  CHECK(first == std::set<RouterId>{1, 3, 4, 12});
  topology->candidates(0, 1 + 4 * 1, 0, found);
  CHECK(found.size() == 2);
  topology->candidates(0, 1, 0, found);
  CHECK(found.size() == 1);
  topology->candidates(3, 3, 0, found);
  CHECK(found.size() == 1);
}

TEST_CASE("a fat tree of full width has as many links at every level as MPSoCs") {
  const auto topology = make_topology(fat_tree(4, 4, 3));
  CHECK(topology->nodes() == 64);
  CHECK(topology->routers() == 64 + 3 * 16);
  CHECK(topology->links().size() == 192);
  CHECK(external_links(*topology) == 2 * 64);
  CHECK(topology->diameter() == 6);
  CHECK(distances(*topology, 0)[1] == 2);
  CHECK(distances(*topology, 0)[4] == 4);
  CHECK(distances(*topology, 0)[16] == 6);
  const auto tapered = make_topology(fat_tree(4, 2, 3));
  CHECK(tapered->nodes() == 64);
  CHECK(tapered->routers() == 64 + 16 + 8 + 4);
  CHECK(tapered->links().size() == 64 + 32 + 16);
}

TEST_CASE("paths through a fat tree share no link but those of the two MPSoCs") {
  ClusterShape shape = fat_tree(4, 3, 3);
  shape.reroute = true;
  const auto topology = make_topology(shape);
  for (const NodeId to : {5U, 16U, 63U}) {
    REQUIRE(topology->paths(0, to) == 3);
    std::set<std::pair<RouterId, unsigned>> used;
    std::size_t hops = 0;
    for (unsigned n = 0; n < 3; ++n) {
      const auto all = way(*topology, 0, to, topology->path(0, to, n), 6);
      for (std::size_t i = 1; i + 1 < all.size(); ++i) used.insert({all[i].at, all[i].out.port});
      hops += all.size() - 2;
    }
    CHECK(used.size() == hops);
  }
  CHECK(topology->paths(0, 3) == 1);  // under the same switch
}

TEST_CASE("fixed paths to all other subtrees spread evenly over a fat tree's links up") {
  const auto topology = make_topology(fat_tree(4, 4, 2));
  std::map<unsigned, unsigned> packets;
  for (NodeId to = 4; to < 16; ++to) ++packets[next_port(*topology, topology->neighbour(0, 1).router, to)];
  CHECK(packets.size() == 4);
  for (const auto& [port, count] : packets) CHECK(count == 3);
}

TEST_CASE("any two groups of a dragonfly have as many links as any other two") {
  for (const auto& [groups, joins] : {std::pair{9U, 1U}, {5U, 2U}, {4U, 2U}, {3U, 4U}, {2U, 8U}}) {
    const auto topology = make_topology(dragonfly(groups, 4, 2, 2));
    std::map<std::pair<unsigned, unsigned>, unsigned> count;
    for (const Link& link : topology->links()) {
      if (!link.external) continue;
      const unsigned a = (link.a - topology->nodes()) / 4, b = (link.b - topology->nodes()) / 4;
      ++count[{std::min(a, b), std::max(a, b)}];
    }
    CHECK(count.size() == groups * (groups - 1) / 2);
    for (const auto& [pair, links] : count) CHECK(links == joins);
    CHECK(count.count({1, 1}) == 0);
  }
}

TEST_CASE("fixed paths between two groups of a dragonfly spread evenly over their links") {
  const auto topology = make_topology(dragonfly(4, 4, 2, 2));  // two links between any two groups
  std::map<std::pair<RouterId, unsigned>, unsigned> used;
  for (NodeId to = 8; to < 16; ++to) {
    for (const Hop& hop : way(*topology, 0, to, kFixedPath, topology->diameter())) {
      if (topology->is_external(hop.at, hop.out.port)) ++used[{hop.at, hop.out.port}];
    }
  }
  CHECK(used.size() == 2);
  for (const auto& [link, packets] : used) CHECK(packets == 4);
}

TEST_CASE("a dragonfly's packets take one global link, or two through another group") {
  ClusterShape shape = dragonfly(9, 4, 2, 2);
  shape.routing = Routing::adaptive;
  const auto topology = make_topology(shape);
  CHECK(topology->nodes() == 72);
  CHECK(topology->routers() == 72 + 36);
  CHECK(topology->diameter() == 5);
  CHECK(topology->longest_path() == 7);
  CHECK(topology->virtual_channels_needed() == 3);
  CHECK(topology->paths(0, 71) == 8);
  CHECK(topology->paths(0, 7) == 1);  // within a group
  for (unsigned n = 0; n < 8; ++n) {
    unsigned globals = 0;
    for (const Hop& hop : way(*topology, 0, 71, topology->path(0, 71, n), 7)) {
      globals += topology->is_external(hop.at, hop.out.port) ? 1 : 0;
    }
    CHECK(globals == (n == 0 ? 1 : 2));
  }
  CHECK(make_topology(dragonfly(9, 4, 2, 2))->virtual_channels_needed() == 2);
}

TEST_CASE("the sizes of a torus are read from text") {
  CHECK(parse_torus("8 x 4 x 4") == TorusSizes{8, 4, 4, 1, 1});
  CHECK(parse_torus("8x4") == TorusSizes{8, 4, 1, 1, 1});
  CHECK(parse_torus(" 1024 ") == TorusSizes{1024, 1, 1, 1, 1});
  CHECK(parse_torus("2x3 x4x 5 x 6") == TorusSizes{2, 3, 4, 5, 6});
  for (const char* text : {"", "x", "4 x", "x 4", "0", "1025", "4 4", "4 x 4 x 4 x 4 x 4 x 4", "4 * 4", "-4", "4 x 4x",
                           "4.0", "1024 x 65", "99999999999"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_torus(text), sim::BadParameterValue);
  }
}

TEST_CASE("shapes that no network has are told by their keys") {
  using Keys = std::vector<std::string>;
  for (const ClusterShape& shape : every_shape()) CHECK(conflicts(shape).empty());
  ClusterShape ordered = dragonfly(9, 4, 2, 2);
  ordered.routing = Routing::dimension_ordered;
  CHECK(keys_of(ordered) == Keys{"network.routing", "network.topology"});
  ordered = torus("4 x 4");
  ordered.routing = Routing::dimension_ordered;
  CHECK(keys_of(ordered).empty());
  CHECK(keys_of(fat_tree(2, 3, 2)) == Keys{"cluster.fat_tree_up", "cluster.fat_tree_arity"});
  CHECK(keys_of(fat_tree(16, 16, 4)).empty());
  CHECK(keys_of(fat_tree(17, 16, 4)) == Keys{"cluster.fat_tree_levels", "cluster.fat_tree_arity"});
  CHECK(keys_of(dragonfly(10, 4, 2, 2)) ==
        Keys{"cluster.dragonfly_groups", "cluster.dragonfly_routers", "cluster.dragonfly_global_links"});
  CHECK(keys_of(dragonfly(4096, 256, 64, 64)) ==
        Keys{"cluster.dragonfly_groups", "cluster.dragonfly_routers", "cluster.dragonfly_terminals"});
}

TEST_CASE("a cluster without nodes is a bug of whoever asks for it") {
  CHECK_THROWS_AS(make_topology(qfdbs(0, 1, 1, 4)), std::logic_error);
}
