// SPDX-License-Identifier: Apache-2.0
// Clusters of every family, and what can be said of a network by walking it.
#pragma once

#include <algorithm>
#include <memory>
#include <queue>
#include <string>
#include <unordered_set>
#include <vector>

#include "models/network/topology.hpp"

namespace faultline::test {

using namespace faultline::network;

inline ClusterShape qfdbs(unsigned x, unsigned y, unsigned z, unsigned mpsocs) {
  ClusterShape shape;
  shape.x = x;
  shape.y = y;
  shape.z = z;
  shape.mpsocs_per_qfdb = mpsocs;
  return shape;
}
inline ClusterShape torus(const std::string& sizes) {
  ClusterShape shape;
  shape.topology = TopologyKind::torus;
  shape.torus = sizes;
  return shape;
}
inline ClusterShape fat_tree(unsigned arity, unsigned up, unsigned levels) {
  ClusterShape shape;
  shape.topology = TopologyKind::fat_tree;
  shape.fat_tree_arity = arity;
  shape.fat_tree_up = up;
  shape.fat_tree_levels = levels;
  return shape;
}
inline ClusterShape dragonfly(unsigned groups, unsigned routers, unsigned terminals, unsigned globals) {
  ClusterShape shape;
  shape.topology = TopologyKind::dragonfly;
  shape.dragonfly_groups = groups;
  shape.dragonfly_routers = routers;
  shape.dragonfly_terminals = terminals;
  shape.dragonfly_global_links = globals;
  return shape;
}

inline std::string name_of(const ClusterShape& s) {
  const std::string mode =
      std::string(s.routing == Routing::adaptive ? " adaptive" : "") + (s.reroute ? " reroute" : "");
  const auto join = [](std::initializer_list<unsigned> numbers) {
    std::string text;
    for (const unsigned n : numbers) text += " " + std::to_string(n);
    return text;
  };
  switch (s.topology) {
    case TopologyKind::qfdb_torus: return "qfdbs" + join({s.x, s.y, s.z, s.mpsocs_per_qfdb}) + mode;
    case TopologyKind::torus: return "torus " + s.torus + mode;
    case TopologyKind::fat_tree: return "fat tree" + join({s.fat_tree_arity, s.fat_tree_up, s.fat_tree_levels}) + mode;
    case TopologyKind::dragonfly:
      return "dragonfly" +
             join({s.dragonfly_groups, s.dragonfly_routers, s.dragonfly_terminals, s.dragonfly_global_links}) + mode;
  }
  return "?";
}

// Each with fixed paths only, with detours round failures, and with adaptive routing.
inline std::vector<ClusterShape> every_shape() {
  std::vector<ClusterShape> plain;
  for (unsigned x = 1; x <= 4; ++x) {
    for (unsigned y = 1; y <= 3; ++y) plain.push_back(qfdbs(x, y, 1 + (x + y) % 2, 1 + (x + 2 * y) % 4));
  }
  for (const ClusterShape& s : {qfdbs(1, 1, 1, 4), qfdbs(2, 1, 1, 4), qfdbs(4, 1, 1, 4), qfdbs(7, 1, 1, 1),
                                qfdbs(1, 1, 6, 4), qfdbs(4, 4, 2, 1), qfdbs(3, 3, 3, 2)}) {
    plain.push_back(s);
  }
  for (const char* sizes : {"1", "2", "3", "8", "9", "4 x 4", "5x3", "2 x 2 x 2 x 2 x 2", "3 x 1 x 4", "4 x 3 x 3",
                            "4 x 4 x 4", "3 x 3 x 2 x 2", "1 x 1 x 1 x 5 x 2", "3 x 2 x 2 x 2 x 3"}) {
    plain.push_back(torus(sizes));
  }
  for (const ClusterShape& s : {fat_tree(2, 2, 1), fat_tree(4, 4, 1), fat_tree(2, 2, 3), fat_tree(4, 4, 2),
                                fat_tree(4, 2, 3), fat_tree(3, 2, 3), fat_tree(2, 1, 4), fat_tree(3, 3, 3)}) {
    plain.push_back(s);
  }
  for (const ClusterShape& s :
       {dragonfly(1, 1, 1, 1), dragonfly(1, 4, 2, 1), dragonfly(2, 1, 2, 1), dragonfly(3, 2, 1, 1),
        dragonfly(9, 4, 2, 2), dragonfly(5, 4, 2, 2), dragonfly(4, 3, 2, 2), dragonfly(3, 1, 2, 2),
        dragonfly(2, 3, 1, 3), dragonfly(7, 3, 1, 2), dragonfly(8, 3, 2, 3)}) {
    plain.push_back(s);
  }
  std::vector<ClusterShape> all;
  for (ClusterShape shape : plain) {
    all.push_back(shape);
    shape.reroute = true;
    all.push_back(shape);
    shape.reroute = false;
    shape.routing = Routing::adaptive;
    all.push_back(shape);
  }
  return all;
}

// Distances over the links alone.
inline std::vector<unsigned> distances(const Topology& topology, RouterId from) {
  std::vector<unsigned> distance(topology.routers(), UINT32_MAX);
  std::queue<RouterId> open({from});
  distance[from] = 0;
  while (!open.empty()) {
    const RouterId at = open.front();
    open.pop();
    for (unsigned port = 1; port < topology.ports(at); ++port) {
      const RouterId next = topology.neighbour(at, port).router;
      if (distance[next] != UINT32_MAX) continue;
      distance[next] = distance[at] + 1;
      open.push(next);
    }
  }
  return distance;
}

struct Hop {
  RouterId at;
  unsigned in_port;  // by which it came
  Route out;
};

// The way of a packet, without the last router. Stops after as many hops as `most` + 1.
inline std::vector<Hop> way(const Topology& topology, RouterId from, NodeId to, Path path, unsigned most) {
  std::vector<Hop> hops;
  LinkEnd at{from, kLocalPort};
  while (at.router != to && hops.size() <= most) {
    const Route route = topology.route(at.router, to, path);
    hops.push_back({at.router, at.port, route});
    at = topology.neighbour(at.router, route.port);
  }
  return hops;
}

// Which channel (output port of a router with its virtual channel) a packet may hold while it waits for which other.
class Dependencies {
 public:
  explicit Dependencies(const Topology& topology, bool with_virtual_channels = true)
      : channels_(with_virtual_channels ? topology.virtual_channels_needed() : 1) {
    for (RouterId r = 0; r < topology.routers(); ++r) ports_ = std::max(ports_, topology.ports(r));
    waits_for_.resize(std::size_t{topology.routers()} * ports_ * channels_);
    for (NodeId from = 0; from < topology.nodes(); ++from) {
      for (NodeId to = 0; to < topology.nodes(); ++to) {
        for (unsigned n = 0; n < topology.paths(from, to); ++n) {
          add(way(topology, from, to, topology.path(from, to, n), topology.longest_path()));
        }
      }
    }
  }

  // Whether some packets can wait for each other in a circle (Dally and Seitz 1987): something is left when what nobody
  // waits for has been taken away, again and again.
  bool has_cycle() const {
    std::vector<unsigned> waiting(waits_for_.size());
    for (const auto& targets : waits_for_) {
      for (const std::uint32_t target : targets) ++waiting[target];
    }
    std::vector<std::uint32_t> free;
    for (std::uint32_t c = 0; c < waiting.size(); ++c) {
      if (waiting[c] == 0) free.push_back(c);
    }
    std::size_t removed = 0;
    while (!free.empty()) {
      const std::uint32_t channel = free.back();
      free.pop_back();
      ++removed;
      for (const std::uint32_t target : waits_for_[channel]) {
        if (--waiting[target] == 0) free.push_back(target);
      }
    }
    return removed < waiting.size();
  }

 private:
  void add(const std::vector<Hop>& hops) {
    const auto number = [&](const Hop& hop) {
      const unsigned channel = std::min(hop.out.virtual_channel, channels_ - 1);
      return static_cast<std::uint32_t>((hop.at * ports_ + hop.out.port) * channels_ + channel);
    };
    for (std::size_t i = 1; i < hops.size(); ++i) {
      const std::uint32_t held = number(hops[i - 1]), wanted = number(hops[i]);
      if (known_.insert(std::uint64_t{held} << 32 | wanted).second) waits_for_[held].push_back(wanted);
    }
  }

  unsigned ports_ = 0;
  unsigned channels_;
  std::vector<std::vector<std::uint32_t>> waits_for_;
  std::unordered_set<std::uint64_t> known_;
};

}  // namespace faultline::test
