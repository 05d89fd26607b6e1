// SPDX-License-Identifier: Apache-2.0
#include "models/network/qfdb_torus.hpp"

namespace faultline::network {

QfdbTorus::QfdbTorus(const ClusterShape& shape)
    : QfdbTorus(shape, TorusGrid({shape.x, shape.y, shape.z, 1, 1}, shape.routing, shape.has_detours())) {}

QfdbTorus::QfdbTorus(const ClusterShape& shape, const TorusGrid& grid)
    : Topology(shape, grid.members() * shape.mpsocs_per_qfdb, grid.members() * shape.mpsocs_per_qfdb),
      grid_(grid),
      mpsocs_(shape.mpsocs_per_qfdb) {}

unsigned QfdbTorus::ports(RouterId router) const {
  return mpsocs_.value() + (router % mpsocs_ == 0 ? grid_.links() : 0);
}

LinkEnd QfdbTorus::neighbour(RouterId router, unsigned port) const {
  const unsigned qfdb = router / mpsocs_, mpsoc = router % mpsocs_;
  if (port < mpsocs_.value()) {
    const unsigned peer = port <= mpsoc ? port - 1 : port;
    return {qfdb * mpsocs_.value() + peer, internal_port(peer, mpsoc)};
  }
  const TorusGrid::End end = grid_.neighbour(qfdb, port - mpsocs_.value());
  return {end.member * mpsocs_.value(), mpsocs_.value() + end.link};
}

Route QfdbTorus::route(RouterId at, NodeId destination, Path path) const {
  if (at == destination) return {kLocalPort, 0};
  const unsigned qfdb = at / mpsocs_, mpsoc = at % mpsocs_;
  const unsigned to_qfdb = destination / mpsocs_;
  if (qfdb == to_qfdb) return {internal_port(mpsoc, destination % mpsocs_), 0};
  if (mpsoc != 0) return {internal_port(mpsoc, 0), 0};
  const TorusGrid::Step step = grid_.step(qfdb, to_qfdb, path);
  return {mpsocs_.value() + step.link, step.virtual_channel};
}

unsigned QfdbTorus::paths(RouterId entry, NodeId destination) const {
  const unsigned qfdb = entry / mpsocs_, to_qfdb = destination / mpsocs_;
  return qfdb == to_qfdb ? 1 : grid_.paths(qfdb, to_qfdb);
}

Path QfdbTorus::path(RouterId entry, NodeId destination, unsigned number) const {
  const unsigned qfdb = entry / mpsocs_, to_qfdb = destination / mpsocs_;
  return qfdb == to_qfdb ? kFixedPath : grid_.path(qfdb, to_qfdb, number);
}

void QfdbTorus::candidates(RouterId entry, NodeId destination, std::uint64_t, std::vector<Candidate>& found) const {
  const unsigned qfdb = entry / mpsocs_, to_qfdb = destination / mpsocs_;
  const unsigned beyond = destination % mpsocs_ == 0 ? 0 : 1;
  if (qfdb == to_qfdb) {
    found.assign(1, {kFixedPath, route(entry, destination, kFixedPath).port, entry == destination ? 0U : 1U});
  } else {
    grid_.candidates(qfdb, to_qfdb, mpsocs_.value(), beyond, found);
  }
}

}  // namespace faultline::network
