// SPDX-License-Identifier: Apache-2.0
// Who is wired to whom and which way packets go: functions of the cluster's shape, computed when asked, so that a
// network of any size takes no memory for them. A file for each family of topologies implements them.
//
// Every MPSoC has a router of its own, with the network interface at port 0: routers 0 to nodes() - 1. A family may
// have further, plain routers, whose port 0 leads nowhere.
//
// A packet carries a path, a small number that says which of the ways that a family offers it takes (0: the fixed
// one). Whoever chose it (path_choice.hpp), a packet's way is a function of its destination and path alone, so that
// all cells of a block follow each other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/network/cluster_shape.hpp"
#include "models/sim/trace.hpp"

namespace faultline::network {

using sim::NodeId;
using RouterId = std::uint32_t;
using Path = std::uint16_t;

inline constexpr Path kFixedPath = 0;
inline constexpr unsigned kLocalPort = 0;

struct LinkEnd {
  RouterId router;
  unsigned port;
  bool operator==(const LinkEnd&) const = default;
};

// A cable or board trace: one serial line in each direction.
struct Link {
  RouterId a;
  unsigned a_port;
  RouterId b;
  unsigned b_port;
  bool external;
};

// Where a packet leaves a router. Port 0 is the node itself.
struct Route {
  unsigned port;
  unsigned virtual_channel;
  bool operator==(const Route&) const = default;
};

// A path that adaptive routing may choose, as the router sees it where packets enter.
struct Candidate {
  Path path;
  unsigned port;  // by which it leaves that router
  unsigned hops;  // from there to the destination
};

class Topology {
 public:
  virtual ~Topology() = default;

  const ClusterShape& shape() const { return shape_; }
  unsigned nodes() const { return nodes_; }
  unsigned routers() const { return routers_; }
  // In order of their lower end (router, then port). Computed anew: for whoever wires the network.
  std::vector<Link> links() const;

  // Below, routers, ports and nodes must exist. Ports count the local one; all but that lead somewhere.
  virtual unsigned ports(RouterId router) const = 0;
  // The other end of a link port.
  virtual LinkEnd neighbour(RouterId router, unsigned port) const = 0;
  // Which of the two classes of links, each with its rate.
  virtual bool is_external(RouterId router, unsigned port) const = 0;

  // Requires a path that is offered for the router at which the packet entered and this destination.
  virtual Route route(RouterId at, NodeId destination, Path path) const = 0;
  // Virtual channels of a link without which packets that wait for each other could do so for ever.
  virtual unsigned virtual_channels_needed() const = 0;
  // Links on the longest fixed path, and on the longest path of all that are offered (on a dragonfly bounds of them).
  virtual unsigned diameter() const = 0;
  virtual unsigned longest_path() const = 0;

  // Where a packet's path is chosen: at a port by which packets come from their source only, of the first router that
  // has a choice. Every way from a source passes one entry at most, before any path makes a difference.
  virtual bool is_entry(RouterId router, unsigned port) const = 0;
  // The paths offered from this entry's router (or the source's) to a destination: numbers 0 to paths() - 1; number 0
  // is the fixed one. None but that unless the shape has_detours().
  virtual unsigned paths(RouterId entry, NodeId destination) const = 0;
  virtual Path path(RouterId entry, NodeId destination, unsigned number) const = 0;
  // Those among which adaptive routing decides, at least one and the preferred one first. A family that would offer
  // too many draws some by the random number. Replaces `found`.
  virtual void candidates(RouterId entry, NodeId destination, std::uint64_t draw,
                          std::vector<Candidate>& found) const = 0;

 protected:
  // Throws std::logic_error when there would be no node, or more than kMaxNodes.
  Topology(const ClusterShape& shape, std::uint64_t nodes, std::uint64_t routers);

 private:
  ClusterShape shape_;
  unsigned nodes_;
  unsigned routers_;
};

// Requires a shape without conflicts; throws std::logic_error otherwise.
std::unique_ptr<const Topology> make_topology(const ClusterShape& shape);

// Nodes of a shape without conflicts.
unsigned node_count(const ClusterShape& shape);

}  // namespace faultline::network
