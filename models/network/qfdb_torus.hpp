// SPDX-License-Identifier: Apache-2.0
// ExaNeSt's way to build a machine: a QFDB is a few MPSoCs wired all to all by internal links; QFDBs form a ring (a
// blade), a 2-D or a 3-D torus through external links of the network MPSoC (number 0) of each.
//
// Routes go to the network MPSoC, through the torus (torus_grid.hpp), to the MPSoC. The internal links into a
// network MPSoC stand before all links of the torus in every route, and those out of it after them, so they close
// no cycle.
#pragma once

#include "models/network/torus_grid.hpp"

namespace faultline::network {

class QfdbTorus : public Topology {
 public:
  explicit QfdbTorus(const ClusterShape& shape);

  unsigned ports(RouterId router) const override;
  LinkEnd neighbour(RouterId router, unsigned port) const override;
  bool is_external(RouterId, unsigned port) const override { return port >= mpsocs_.value(); }

  Route route(RouterId at, NodeId destination, Path path) const override;
  unsigned virtual_channels_needed() const override { return grid_.virtual_channels_needed(); }
  unsigned diameter() const override { return ends() + grid_.diameter(); }
  unsigned longest_path() const override { return ends() + grid_.longest_path(); }

  // The network MPSoC is the first on the way out of the QFDB that has a choice.
  bool is_entry(RouterId router, unsigned port) const override {
    return router % mpsocs_ == 0 && port < mpsocs_.value();
  }
  unsigned paths(RouterId entry, NodeId destination) const override;
  Path path(RouterId entry, NodeId destination, unsigned number) const override;
  void candidates(RouterId entry, NodeId destination, std::uint64_t draw, std::vector<Candidate>& found) const override;

 private:
  QfdbTorus(const ClusterShape& shape, const TorusGrid& grid);
  // Links within QFDBs on the longest route.
  unsigned ends() const { return mpsocs_.value() == 1 ? 0 : grid_.members() == 1 ? 1 : 2; }
  // The port of one MPSoC that leads to another of its QFDB.
  static unsigned internal_port(unsigned mpsoc, unsigned peer) { return peer < mpsoc ? peer + 1 : peer; }

  TorusGrid grid_;
  Divisor mpsocs_;
};

}  // namespace faultline::network
