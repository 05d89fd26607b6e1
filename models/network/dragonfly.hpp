// SPDX-License-Identifier: Apache-2.0
// A dragonfly (Kim, Dally, Scott and Abts, ISCA 2008): groups of routers wired all to all, each router with a few
// MPSoCs and a few global links, so that any two groups have a link. Links to MPSoCs and within groups are
// internal, global ones external.
//
// Global links: slot s of a group is at router s mod `routers` and leads to the (1 + s mod (groups - 1))-th group
// after it; the slots that are too few for a further link to every group stay empty. Where several links join two
// groups, the destination's number decides.
//
// The fixed path is the shortest: within the group to the router that has the link, over it, within the group to
// the router of the destination. Path p > 0 goes through group p - 1 first (Valiant). Virtual channels count the
// groups before: a channel of a link waits only for links of the same group that come later in it, or for a higher
// channel, so no cycle closes; 2 for the shortest paths, 3 with an intermediate group.
#pragma once

#include "models/network/topology.hpp"

namespace faultline::network {

class Dragonfly : public Topology {
 public:
  explicit Dragonfly(const ClusterShape& shape);

  unsigned ports(RouterId router) const override;
  LinkEnd neighbour(RouterId router, unsigned port) const override;
  bool is_external(RouterId router, unsigned port) const override {
    return router >= nodes() && port >= global_port(0);
  }

  Route route(RouterId at, NodeId destination, Path path) const override;
  unsigned virtual_channels_needed() const override { return groups_ == 1 ? 1 : shape().has_detours() ? 3 : 2; }
  // Bounds: where several links join two groups, the ones that destinations choose may all be nearer.
  unsigned diameter() const override;
  unsigned longest_path() const override;

  bool is_entry(RouterId router, unsigned port) const override {
    return router >= nodes() && port != kLocalPort && port < local_port(0);
  }
  unsigned paths(RouterId entry, NodeId destination) const override;
  Path path(RouterId entry, NodeId destination, unsigned number) const override;
  // The shortest and two drawn intermediate groups, as UGAL compares them.
  void candidates(RouterId entry, NodeId destination, std::uint64_t draw, std::vector<Candidate>& found) const override;

 private:
  unsigned local_hops() const { return routers_ == 1 ? 0 : 1; }
  unsigned terminal_port(unsigned terminal) const { return 1 + terminal; }
  unsigned local_port(unsigned index) const { return 1 + terminals_ + index; }
  unsigned global_port(unsigned index) const { return terminals_ + routers_ + index; }
  unsigned local_port_to(unsigned router, unsigned peer) const { return local_port(peer < router ? peer : peer - 1); }
  // Links that join two groups, and a group's slots that are in use.
  unsigned joins() const { return groups_ == 1 ? 0 : routers_ * globals_ / (groups_ - 1); }
  unsigned slots() const { return joins() * (groups_ - 1); }
  unsigned slot_to(unsigned group, unsigned to_group, NodeId destination) const;
  unsigned group_of_node(NodeId node) const { return node / terminals_ / routers_; }
  unsigned group_of(RouterId router) const {
    return router < nodes() ? group_of_node(router) : (router - nodes()) / routers_;
  }
  unsigned hops(RouterId from, NodeId destination, Path path) const;

  unsigned groups_;
  unsigned routers_;
  unsigned terminals_;
  unsigned globals_;
};

}  // namespace faultline::network
