// SPDX-License-Identifier: Apache-2.0
// A fat tree of equal switches (Leiserson 1985, with fixed-size switches as in Petrini and Vanneschi's k-ary
// n-trees and Al-Fares et al., SIGCOMM 2008): `levels` levels of switches with `arity` ports down and `up` ports
// up; fewer up than down is a tapered tree. MPSoCs hang on the lowest level by internal links, all others are
// external. A switch of level l (from 1) is known by its subtree (of arity^l MPSoCs) and by the ports that lead up
// to it.
//
// A packet goes up to the first switch above source and destination, then down; the way down is fixed by the
// destination, and every way up works. The fixed path takes at each level the port that the destination's number
// says (D-mod-k, Zahavi 2012), so that traffic to different destinations spreads. Path p takes at the lowest switch
// the p-th port after that one: such paths share no link but those of the two MPSoCs. No packet goes up again, so
// one virtual channel is enough.
#pragma once

#include "models/network/topology.hpp"

namespace faultline::network {

class FatTree : public Topology {
 public:
  explicit FatTree(const ClusterShape& shape);

  unsigned ports(RouterId router) const override;
  LinkEnd neighbour(RouterId router, unsigned port) const override;
  bool is_external(RouterId router, unsigned port) const override;

  Route route(RouterId at, NodeId destination, Path path) const override;
  unsigned virtual_channels_needed() const override { return 1; }
  unsigned diameter() const override { return nodes() == 1 ? 0 : 2 * levels_; }
  unsigned longest_path() const override { return diameter(); }

  bool is_entry(RouterId router, unsigned port) const override;
  unsigned paths(RouterId entry, NodeId destination) const override;
  Path path(RouterId, NodeId, unsigned number) const override { return static_cast<Path>(number); }
  void candidates(RouterId entry, NodeId destination, std::uint64_t draw, std::vector<Candidate>& found) const override;

 private:
  struct Switch {
    unsigned level;
    unsigned subtree;
    unsigned ways;  // by which ports it was reached from below, the lowest level's as the least digit
  };
  Switch switch_of(RouterId router) const;
  RouterId id_of(const Switch& s) const;
  unsigned down_port(unsigned child) const { return 1 + child; }
  unsigned up_port(unsigned way) const { return 1 + arity_ + way; }

  unsigned arity_;
  unsigned up_;
  unsigned levels_;
  std::vector<unsigned> first_;    // switch of each level, and the end
  std::vector<unsigned> subtree_;  // MPSoCs under a switch of each level; level 0 is an MPSoC
  std::vector<unsigned> spread_;   // switches that share a subtree, of each level
};

}  // namespace faultline::network
