// SPDX-License-Identifier: Apache-2.0
#include "models/network/topology.hpp"

#include <stdexcept>

#include "models/network/dragonfly.hpp"
#include "models/network/fat_tree.hpp"
#include "models/network/qfdb_torus.hpp"
#include "models/network/torus.hpp"

namespace faultline::network {

Topology::Topology(const ClusterShape& shape, std::uint64_t nodes, std::uint64_t routers)
    : shape_(shape), nodes_(static_cast<unsigned>(nodes)), routers_(static_cast<unsigned>(routers)) {
  if (nodes == 0 || nodes > kMaxNodes) throw std::logic_error("a cluster of no nodes, or of too many");
}

std::vector<Link> Topology::links() const {
  std::vector<Link> links;
  for (RouterId router = 0; router < routers_; ++router) {
    for (unsigned port = kLocalPort + 1; port < ports(router); ++port) {
      const LinkEnd other = neighbour(router, port);
      if (other.router > router) links.push_back({router, port, other.router, other.port, is_external(router, port)});
    }
  }
  return links;
}

std::unique_ptr<const Topology> make_topology(const ClusterShape& shape) {
  switch (shape.topology) {
    case TopologyKind::qfdb_torus: return std::make_unique<QfdbTorus>(shape);
    case TopologyKind::torus: return std::make_unique<Torus>(shape);
    case TopologyKind::fat_tree: return std::make_unique<FatTree>(shape);
    case TopologyKind::dragonfly: return std::make_unique<Dragonfly>(shape);
  }
  throw std::logic_error("a topology of no known kind");
}

unsigned node_count(const ClusterShape& shape) { return make_topology(shape)->nodes(); }

}  // namespace faultline::network
