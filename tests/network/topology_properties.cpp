// SPDX-License-Identifier: Apache-2.0
// What holds for every network of every family.
#include <catch2/catch.hpp>

#include <set>

#include "models/network/divisor.hpp"
#include "tests/network/shapes.hpp"

using namespace faultline::test;

namespace {

// On a dragonfly with several links between two groups, the one that a destination's number chooses may be near.
bool is_tight(const ClusterShape& s) {
  return s.topology != TopologyKind::dragonfly || s.dragonfly_groups == 1 ||
         s.dragonfly_routers * s.dragonfly_global_links < 2 * (s.dragonfly_groups - 1);
}

}  // namespace

TEST_CASE("a divisor divides as the processor does") {
  bool right = true;
  for (const std::uint32_t d : {1U, 2U, 3U, 5U, 7U, 64U, 641U, 1023U, 4097U, 65535U, 65536U, 699'051U, 1'048'575U}) {
    const Divisor by(d);
    for (std::uint32_t n = 0; n < 1U << 20; n += n < 5000 ? 1 : 97) right &= n / by == n / d && n % by == n % d;
    for (std::uint32_t k = 1; k * d < 1U << 20; ++k) right &= (k * d) / by == k && (k * d - 1) / by == k - 1;
  }
  CHECK(right);
}

TEST_CASE("each port has one link and each link one port at both ends") {
  for (const ClusterShape& shape : every_shape()) {
    INFO(name_of(shape));
    const auto topology = make_topology(shape);
    REQUIRE(topology->nodes() == node_count(shape));
    REQUIRE(topology->routers() >= topology->nodes());
    std::size_t ports = 0;
    bool right = true;
    for (RouterId router = 0; router < topology->routers(); ++router) {
      ports += topology->ports(router) - 1;
      for (unsigned port = 1; port < topology->ports(router); ++port) {
        const LinkEnd other = topology->neighbour(router, port);
        right &= other.router < topology->routers() && other.router != router;
        right &= other.port >= 1 && other.port < topology->ports(other.router);
        right &= topology->neighbour(other.router, other.port) == LinkEnd{router, port};
        right &= topology->is_external(router, port) == topology->is_external(other.router, other.port);
      }
    }
    CHECK(right);
    const std::vector<Link> links = topology->links();
    CHECK(2 * links.size() == ports);
    std::set<std::pair<RouterId, unsigned>> ends;
    for (const Link& link : links) {
      ends.insert({link.a, link.a_port});
      ends.insert({link.b, link.b_port});
      right &= topology->is_external(link.a, link.a_port) == link.external;
    }
    CHECK(right);
    CHECK(ends.size() == ports);
  }
}

TEST_CASE("fixed paths are as long as the diameter says, and shortest but on a dragonfly") {
  for (const ClusterShape& shape : every_shape()) {
    INFO(name_of(shape));
    const auto topology = make_topology(shape);
    std::size_t longest = 0;
    for (NodeId from = 0; from < topology->nodes(); ++from) {
      const std::vector<unsigned> distance = distances(*topology, from);
      for (NodeId to = 0; to < topology->nodes(); ++to) {
        const auto hops = way(*topology, from, to, kFixedPath, topology->diameter());
        longest = std::max(longest, hops.size());
        if (shape.topology != TopologyKind::dragonfly && hops.size() != distance[to]) FAIL(from << " to " << to);
      }
      REQUIRE(topology->route(from, from, kFixedPath) == Route{kLocalPort, 0});
    }
    CHECK(longest <= topology->diameter());
    if (is_tight(shape)) CHECK(longest == topology->diameter());
  }
}

TEST_CASE("every offered path is another way to the destination, within the bound") {
  for (const ClusterShape& shape : every_shape()) {
    INFO(name_of(shape));
    const auto topology = make_topology(shape);
    std::size_t longest = 0;
    unsigned channels = 0;
    for (NodeId from = 0; from < topology->nodes(); ++from) {
      for (NodeId to = 0; to < topology->nodes(); ++to) {
        const unsigned paths = topology->paths(from, to);
        REQUIRE(paths >= 1);
        REQUIRE(topology->path(from, to, 0) == kFixedPath);
        if (!shape.has_detours()) REQUIRE(paths == 1);
        std::set<Path> different;
        for (unsigned n = 0; n < paths; ++n) {
          different.insert(topology->path(from, to, n));
          const auto hops = way(*topology, from, to, topology->path(from, to, n), topology->longest_path());
          longest = std::max(longest, hops.size());
          for (const Hop& hop : hops) channels = std::max(channels, hop.out.virtual_channel + 1);
        }
        if (different.size() != paths) FAIL("twice the same path from " << from << " to " << to);
      }
    }
    CHECK(longest <= topology->longest_path());
    if (is_tight(shape)) CHECK(longest == topology->longest_path());
    CHECK(channels <= topology->virtual_channels_needed());
    if (topology->nodes() > 1 && topology->nodes() > 4 * topology->diameter())
      CHECK(channels == topology->virtual_channels_needed());
  }
}

TEST_CASE("no packets can wait for each other in a circle, whatever paths they take") {
  for (const ClusterShape& shape : every_shape()) {
    INFO(name_of(shape));
    const auto topology = make_topology(shape);
    CHECK_FALSE(Dependencies(*topology).has_cycle());
  }
}

TEST_CASE("the search for circles finds those of networks without their virtual channels") {
  ClusterShape orders = torus("4 x 4");
  orders.routing = Routing::adaptive;
  ClusterShape cube = torus("2 x 2 x 2");
  cube.routing = Routing::adaptive;
  for (const ClusterShape& shape : {torus("5"), qfdbs(4, 1, 1, 4), orders, cube, dragonfly(9, 4, 2, 2)}) {
    INFO(name_of(shape));
    CHECK(Dependencies(*make_topology(shape), false).has_cycle());
  }
}

TEST_CASE("what adaptive routing may choose are offered paths, told truly, and the choice is made before it matters") {
  for (const ClusterShape& shape : every_shape()) {
    if (shape.routing != Routing::adaptive) continue;
    INFO(name_of(shape));
    const auto topology = make_topology(shape);
    std::vector<Candidate> found;
    for (NodeId from = 0; from < topology->nodes(); ++from) {
      for (NodeId to = 0; to < topology->nodes(); ++to) {
        std::set<Path> offered;
        for (unsigned n = 0; n < topology->paths(from, to); ++n) offered.insert(topology->path(from, to, n));
        const auto fixed = way(*topology, from, to, kFixedPath, topology->diameter());
        unsigned entries = 0;
        for (std::size_t i = 0; i < fixed.size(); ++i) {
          if (!topology->is_entry(fixed[i].at, fixed[i].in_port)) continue;
          ++entries;
          topology->candidates(fixed[i].at, to, 0x9e3779b97f4a7c15U * (from + 1) * (to + 7), found);
          REQUIRE_FALSE(found.empty());
          REQUIRE(found.front().path == kFixedPath);
          REQUIRE(topology->paths(fixed[i].at, to) == offered.size());
          for (const Candidate& candidate : found) {
            REQUIRE(offered.count(candidate.path) == 1);
            const auto hops = way(*topology, from, to, candidate.path, topology->longest_path());
            REQUIRE(hops.size() == i + candidate.hops);
            REQUIRE(hops[i].out.port == candidate.port);
            for (std::size_t k = 0; k < i; ++k) REQUIRE(hops[k].out == fixed[k].out);
            if (shape.topology != TopologyKind::dragonfly) REQUIRE(candidate.hops == found.front().hops);
          }
        }
        REQUIRE(entries <= 1);
        if (offered.size() > 1) REQUIRE(entries == 1);
      }
    }
  }
}

TEST_CASE("a network of the greatest size takes no memory and knows its routes") {
  ClusterShape board = qfdbs(16, 16, 16, 8);
  ClusterShape wide = torus("256 x 256");
  ClusterShape deep = fat_tree(16, 16, 4);
  ClusterShape groups = dragonfly(512, 32, 4, 16);
  for (ClusterShape shape : {board, wide, deep, groups}) {
    shape.routing = Routing::adaptive;
    INFO(name_of(shape));
    const auto topology = make_topology(shape);
    REQUIRE(topology->nodes() >= 32768);
    for (NodeId from = 0; from < topology->nodes(); from += 4099) {
      for (NodeId to = 1; to < topology->nodes(); to += 2053) {
        const unsigned n = (from + to) % topology->paths(from, to);
        const auto hops = way(*topology, from, to, topology->path(from, to, n), topology->longest_path());
        REQUIRE(hops.size() <= topology->longest_path());
      }
    }
  }
}
