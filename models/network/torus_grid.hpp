// SPDX-License-Identifier: Apache-2.0
// The arithmetic that all tori share: members on a grid whose every line is a ring. Members are numbered along the
// first dimension first.
//
// A ring of two members has one link and a ring of one none. Links are numbered by dimension: the one to the only
// neighbour, or the positive direction and then the negative one.
//
// Routes go through the dimensions in order, in each the shorter way round, and the positive one of two equal ways.
// A path other than 0 may say for a dimension which way round to go, and that the dimensions come in descending
// order.
//
// Why no cycle of buffers can wait for each other: within a ring a packet takes virtual channel 0 while the
// wrap-around link is still before it (that link included) and 1 after it or when it never crosses it (Dally and
// Seitz 1987); neither channel alone closes the ring, whichever way round and however far packets go, and from 1
// none goes back to 0. Of dimensions each packet leaves a lower one for a higher one only. Packets in descending
// order have a second pair of channels for themselves (as in O1TURN; Seo et al., ISCA 2005).
#pragma once

#include <vector>

#include "models/network/divisor.hpp"
#include "models/network/topology.hpp"

namespace faultline::network {

class TorusGrid {
 public:
  struct Step {
    unsigned link;
    unsigned virtual_channel;
  };
  struct End {
    unsigned member;
    unsigned link;
  };

  TorusGrid(const TorusSizes& sizes, Routing routing, bool detours);

  std::uint64_t members() const { return members_; }
  unsigned links() const { return links_; }  // of each member
  End neighbour(unsigned member, unsigned link) const;
  // Requires two different members.
  Step step(unsigned at, unsigned to, Path path) const;
  unsigned virtual_channels_needed() const;
  unsigned diameter() const;
  unsigned longest_path() const;
  unsigned hops(unsigned from, unsigned to) const;  // on the shortest way

  // Of two different members: every order of dimensions that is allowed with every way round.
  unsigned paths(unsigned from, unsigned to) const;
  Path path(unsigned from, unsigned to, unsigned number) const;
  // The shortest ones that leave `from` by different links, or in different orders of dimensions: up to four. Link l is
  // port first_port + l, and the destination is `beyond` further hops away.
  void candidates(unsigned from, unsigned to, unsigned first_port, unsigned beyond,
                  std::vector<Candidate>& found) const;

 private:
  unsigned coordinate(unsigned member, unsigned d) const { return member / by_stride_[d] % by_size_[d]; }
  bool orders_differ() const;
  bool is_positive(unsigned here, unsigned there, unsigned d, Path path) const;
  unsigned link(unsigned d, bool positive) const { return first_link_[d] + (positive || sizes_[d] < 3 ? 0 : 1); }
  // First dimension in which the members differ, in the path's order.
  unsigned first_difference(unsigned a, unsigned b, Path path) const;
  Path other_way(unsigned from, unsigned to, unsigned d) const;
  unsigned channels_of_order() const;

  TorusSizes sizes_;
  TorusSizes strides_{};
  TorusSizes first_link_{};
  std::array<Divisor, kMaxDimensions> by_size_;
  std::array<Divisor, kMaxDimensions> by_stride_;
  unsigned lines_ = 0;  // dimensions up to the last one that has a second member
  std::uint64_t members_ = 1;
  unsigned links_ = 0;
  Routing routing_;
  bool detours_;
};

}  // namespace faultline::network
