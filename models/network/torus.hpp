// SPDX-License-Identifier: Apache-2.0
// Single MPSoCs in a torus of one to five dimensions: torus_grid.hpp and no more. All links are external ones.
#pragma once

#include "models/network/torus_grid.hpp"

namespace faultline::network {

class Torus : public Topology {
 public:
  explicit Torus(const ClusterShape& shape) : Torus(shape, grid_of(shape)) {}

  unsigned ports(RouterId) const override { return 1 + grid_.links(); }
  LinkEnd neighbour(RouterId router, unsigned port) const override {
    const TorusGrid::End end = grid_.neighbour(router, port - 1);
    return {end.member, end.link + 1};
  }
  bool is_external(RouterId, unsigned port) const override { return port != kLocalPort; }

  Route route(RouterId at, NodeId destination, Path path) const override {
    if (at == destination) return {kLocalPort, 0};
    const TorusGrid::Step step = grid_.step(at, destination, path);
    return {step.link + 1, step.virtual_channel};
  }
  unsigned virtual_channels_needed() const override { return grid_.virtual_channels_needed(); }
  unsigned diameter() const override { return grid_.diameter(); }
  unsigned longest_path() const override { return grid_.longest_path(); }

  bool is_entry(RouterId, unsigned port) const override { return port == kLocalPort; }
  unsigned paths(RouterId entry, NodeId destination) const override {
    return entry == destination ? 1 : grid_.paths(entry, destination);
  }
  Path path(RouterId entry, NodeId destination, unsigned number) const override {
    return entry == destination ? kFixedPath : grid_.path(entry, destination, number);
  }
  void candidates(RouterId entry, NodeId destination, std::uint64_t draw, std::vector<Candidate>& found) const override;

 private:
  Torus(const ClusterShape& shape, const TorusGrid& grid)
      : Topology(shape, grid.members(), grid.members()), grid_(grid) {}
  static TorusGrid grid_of(const ClusterShape& shape) {
    return {parse_torus(shape.torus), shape.routing, shape.has_detours()};
  }
  TorusGrid grid_;
};

}  // namespace faultline::network
