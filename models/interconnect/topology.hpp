// SPDX-License-Identifier: Apache-2.0
// Who is wired to whom and which way packets go: pure functions of the cluster's shape. A QFDB is a
// few MPSoCs wired all to all; QFDBs form a ring, a 2-D or a 3-D torus through the network MPSoC (number
// 0) of each.
#pragma once

#include <cstdint>
#include <vector>

#include "models/sim/parameters.hpp"
#include "models/sim/trace.hpp"

namespace faultline::interconnect {

using sim::NodeId;

struct ClusterShape {
  unsigned x = 1;  // QFDBs in each dimension of the torus; 1 x 1 x 1 is a single QFDB
  unsigned y = 1;
  unsigned z = 1;
  unsigned mpsocs_per_qfdb = 4;

  unsigned qfdbs() const { return x * y * z; }
  unsigned nodes() const { return qfdbs() * mpsocs_per_qfdb; }
  void declare(sim::ParameterTable& table);
};

// A cable or board trace: one serial line in each direction.
struct Link {
  NodeId a;
  unsigned a_port;
  NodeId b;
  unsigned b_port;
  bool external;  // between QFDBs
};

// Where a packet leaves a router. Port 0 is the node itself.
struct Route {
  unsigned port;
  unsigned virtual_channel;
  bool operator==(const Route&) const = default;
};

inline constexpr unsigned kLocalPort = 0;

class Topology {
 public:
  // Throws std::logic_error when a dimension is 0.
  explicit Topology(const ClusterShape& shape);

  const ClusterShape& shape() const { return shape_; }
  unsigned nodes() const { return shape_.nodes(); }
  const std::vector<Link>& links() const { return links_; }

  // Number of ports of a node's router, the local one included.
  unsigned ports(NodeId node) const { return static_cast<unsigned>(ports_[node].size()); }
  bool is_external(NodeId node, unsigned port) const { return ports_[node][port].external; }

  // Dimension-ordered and minimal: to the network MPSoC, along x, y and z, then to the MPSoC. Equal
  // distances both ways round a ring go in the positive direction. Within a dimension a packet takes
  // virtual channel 0 while the wrap-around link is still before it (that link included) and 1 after
  // it, so that no cycle of buffers can wait for each other. Requires both nodes to exist.
  Route route(NodeId at, NodeId destination) const;
  unsigned next_port(NodeId at, NodeId destination) const { return route(at, destination).port; }
  // The router at the other end of a link port.
  NodeId neighbour(NodeId node, unsigned port) const { return ports_[node][port].peer; }

  // 2 when a ring has three or more members, which could deadlock with fewer; else 1.
  unsigned virtual_channels_needed() const;

 private:
  static constexpr unsigned kDimensions = 3;
  struct PortEnd {
    NodeId peer;
    bool external;
  };

  unsigned size(unsigned dimension) const;
  unsigned stride(unsigned dimension) const;  // in QFDBs
  unsigned coordinate(unsigned qfdb, unsigned dimension) const { return qfdb / stride(dimension) % size(dimension); }
  unsigned internal_port(unsigned mpsoc, unsigned peer) const { return peer < mpsoc ? peer + 1 : peer; }
  unsigned external_port(unsigned dimension, bool positive) const;
  Route along(unsigned dimension, unsigned here, unsigned there) const;
  void wire_qfdb(unsigned qfdb);
  void wire_ring(unsigned qfdb, unsigned dimension);
  void add_link(const Link& link);

  ClusterShape shape_;
  std::vector<Link> links_;
  std::vector<std::vector<PortEnd>> ports_;  // by node, then by port; port 0 leads to itself
};

}  // namespace faultline::interconnect
