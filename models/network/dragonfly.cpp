// SPDX-License-Identifier: Apache-2.0
#include "models/network/dragonfly.hpp"

#include <algorithm>

namespace faultline::network {
namespace {

std::uint64_t all_routers(const ClusterShape& shape) {
  return std::uint64_t{shape.dragonfly_groups} * shape.dragonfly_routers;
}

constexpr unsigned kDrawn = 2;

}  // namespace

Dragonfly::Dragonfly(const ClusterShape& shape)
    : Topology(shape, all_routers(shape) * shape.dragonfly_terminals,
               all_routers(shape) * (shape.dragonfly_terminals + 1)),
      groups_(shape.dragonfly_groups),
      routers_(shape.dragonfly_routers),
      terminals_(shape.dragonfly_terminals),
      globals_(shape.dragonfly_global_links) {}

unsigned Dragonfly::diameter() const {
  if (nodes() == 1) return 0;
  return groups_ == 1 ? 2 + local_hops() : 3 + 2 * local_hops();
}

unsigned Dragonfly::longest_path() const {
  const bool detours = shape().has_detours() && groups_ > 2;
  return diameter() + (detours ? 1 + local_hops() : 0);
}

unsigned Dragonfly::ports(RouterId router) const {
  if (router < nodes()) return 2;
  const unsigned index = (router - nodes()) % routers_;
  const unsigned used = slots() / routers_ + (index < slots() % routers_ ? 1 : 0);
  return global_port(used);
}

LinkEnd Dragonfly::neighbour(RouterId router, unsigned port) const {
  if (router < nodes()) return {nodes() + router / terminals_, terminal_port(router % terminals_)};
  const unsigned group = (router - nodes()) / routers_, index = (router - nodes()) % routers_;
  if (port < local_port(0)) return {(router - nodes()) * terminals_ + port - terminal_port(0), 1};
  if (port < global_port(0)) {
    const unsigned other = port - local_port(0);
    const unsigned peer = other < index ? other : other + 1;
    return {nodes() + group * routers_ + peer, local_port_to(peer, index)};
  }
  // Of the same links that join the two groups, the other group counts the groups the other way round.
  const unsigned slot = (port - global_port(0)) * routers_ + index;
  const unsigned join = slot / (groups_ - 1), after = slot % (groups_ - 1);
  const unsigned there = join * (groups_ - 1) + groups_ - 2 - after;
  return {nodes() + (group + 1 + after) % groups_ * routers_ + there % routers_, global_port(there / routers_)};
}

unsigned Dragonfly::slot_to(unsigned group, unsigned to_group, NodeId destination) const {
  const unsigned after = (to_group + groups_ - group - 1) % groups_;
  return destination / terminals_ % joins() * (groups_ - 1) + after;
}

Route Dragonfly::route(RouterId at, NodeId destination, Path path) const {
  if (at < nodes()) return {at == destination ? kLocalPort : 1, 0};
  const unsigned group = group_of(at), index = (at - nodes()) % routers_;
  const unsigned last_group = group_of_node(destination);
  const unsigned via = path == kFixedPath ? last_group : path - 1U;
  if (group == last_group) {
    const unsigned there = destination / terminals_ % routers_;
    if (there == index) return {terminal_port(destination % terminals_), 0};
    return {local_port_to(index, there), groups_ == 1 ? 0U : via == last_group ? 1U : 2U};
  }
  const unsigned channel = path != kFixedPath && group == via ? 1 : 0;
  const unsigned slot = slot_to(group, group == via ? last_group : via, destination);
  const unsigned there = slot % routers_;
  return {there == index ? global_port(slot / routers_) : local_port_to(index, there), channel};
}

unsigned Dragonfly::paths(RouterId entry, NodeId destination) const {
  if (group_of(entry) == group_of_node(destination) || !shape().has_detours()) return 1;
  return groups_ - 1;
}

// Number n > 0 goes through the n-th group that is neither the first nor the last.
Path Dragonfly::path(RouterId entry, NodeId destination, unsigned number) const {
  if (number == 0) return kFixedPath;
  const unsigned a = std::min(group_of(entry), group_of_node(destination));
  const unsigned b = std::max(group_of(entry), group_of_node(destination));
  unsigned via = number - 1;
  if (via >= a) ++via;
  if (via >= b) ++via;
  return static_cast<Path>(via + 1);
}

unsigned Dragonfly::hops(RouterId from, NodeId destination, Path path) const {
  unsigned count = 0;
  for (RouterId at = from; at != destination; ++count) at = neighbour(at, route(at, destination, path).port).router;
  return count;
}

void Dragonfly::candidates(RouterId entry, NodeId destination, std::uint64_t draw,
                           std::vector<Candidate>& found) const {
  found.clear();
  const auto add = [&](Path p) {
    found.push_back({p, route(entry, destination, p).port, hops(entry, destination, p)});
  };
  add(kFixedPath);
  const unsigned others = paths(entry, destination) - 1;
  if (others == 0) return;
  for (unsigned i = 0; i < kDrawn; ++i) {
    const auto drawn = static_cast<unsigned>((draw >> (32 * i) & UINT32_MAX) * others >> 32);
    add(path(entry, destination, 1 + drawn));
  }
}

}  // namespace faultline::network
