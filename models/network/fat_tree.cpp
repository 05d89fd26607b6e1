// SPDX-License-Identifier: Apache-2.0
#include "models/network/fat_tree.hpp"

namespace faultline::network {
namespace {

std::uint64_t power(std::uint64_t base, unsigned exponent) {
  std::uint64_t result = 1;
  for (unsigned i = 0; i < exponent; ++i) result *= base;
  return result;
}

std::uint64_t switches(const ClusterShape& shape) {
  std::uint64_t sum = 0;
  for (unsigned level = 1; level <= shape.fat_tree_levels; ++level) {
    sum += power(shape.fat_tree_arity, shape.fat_tree_levels - level) * power(shape.fat_tree_up, level - 1);
  }
  return sum;
}

}  // namespace

FatTree::FatTree(const ClusterShape& shape)
    : Topology(shape, power(shape.fat_tree_arity, shape.fat_tree_levels),
               power(shape.fat_tree_arity, shape.fat_tree_levels) + switches(shape)),
      arity_(shape.fat_tree_arity),
      up_(shape.fat_tree_up),
      levels_(shape.fat_tree_levels),
      first_{0, nodes()},
      subtree_{1},
      spread_{1} {
  for (unsigned level = 1; level <= levels_; ++level) {
    subtree_.push_back(subtree_.back() * arity_);
    spread_.push_back(level == 1 ? 1 : spread_.back() * up_);
    first_.push_back(first_.back() + nodes() / subtree_.back() * spread_.back());
  }
}

FatTree::Switch FatTree::switch_of(RouterId router) const {
  unsigned level = 1;
  while (router >= first_[level + 1]) ++level;
  const unsigned index = router - first_[level];
  return {level, index / spread_[level], index % spread_[level]};
}

RouterId FatTree::id_of(const Switch& s) const { return first_[s.level] + s.subtree * spread_[s.level] + s.ways; }

unsigned FatTree::ports(RouterId router) const {
  if (router < nodes()) return 2;
  return 1 + arity_ + (router < first_[levels_] ? up_ : 0);
}

bool FatTree::is_external(RouterId router, unsigned port) const {
  return router >= nodes() && port != kLocalPort && (router >= first_[2] || port > arity_);
}

LinkEnd FatTree::neighbour(RouterId router, unsigned port) const {
  if (router < nodes()) return {first_[1] + router / arity_, down_port(router % arity_)};
  const Switch here = switch_of(router);
  if (port > arity_) {
    const unsigned way = port - up_port(0);
    return {id_of({here.level + 1, here.subtree / arity_, here.ways + way * spread_[here.level]}),
            down_port(here.subtree % arity_)};
  }
  const unsigned child = here.subtree * arity_ + port - down_port(0);
  if (here.level == 1) return {child, 1};
  const unsigned below = spread_[here.level - 1];
  return {id_of({here.level - 1, child, here.ways % below}), up_port(here.ways / below)};
}

Route FatTree::route(RouterId at, NodeId destination, Path path) const {
  if (at < nodes()) return {at == destination ? kLocalPort : 1, 0};
  const Switch here = switch_of(at);
  if (destination / subtree_[here.level] == here.subtree) {
    return {down_port(destination / subtree_[here.level - 1] % arity_), 0};
  }
  const unsigned turned = here.level == 1 ? path : 0;
  return {up_port((destination / spread_[here.level] + turned) % up_), 0};
}

bool FatTree::is_entry(RouterId router, unsigned port) const {
  return router >= first_[1] && router < first_[2] && port >= down_port(0) && port < up_port(0);
}

unsigned FatTree::paths(RouterId entry, NodeId destination) const {
  const unsigned leaf = entry < nodes() ? entry / arity_ : switch_of(entry).subtree;
  return leaf == destination / arity_ || !shape().has_detours() ? 1 : up_;
}

void FatTree::candidates(RouterId entry, NodeId destination, std::uint64_t, std::vector<Candidate>& found) const {
  found.clear();
  const unsigned leaf = switch_of(entry).subtree;
  unsigned level = 1;
  while (leaf * arity_ / subtree_[level] != destination / subtree_[level]) ++level;
  for (unsigned number = 0; number < paths(entry, destination); ++number) {
    const auto path = static_cast<Path>(number);
    found.push_back({path, route(entry, destination, path).port, 2 * level - 1});
  }
}

}  // namespace faultline::network
