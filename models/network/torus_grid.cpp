// SPDX-License-Identifier: Apache-2.0
#include "models/network/torus_grid.hpp"

#include <algorithm>

namespace faultline::network {
namespace {

// A path: the order of dimensions, and two bits for each of them.
constexpr Path kDescending = 1;
constexpr unsigned kShorter = 0, kPositive = 1, kNegative = 2;

constexpr unsigned way_of(Path path, unsigned dimension) { return path >> (1 + 2 * dimension) & 3U; }
constexpr Path with_way(unsigned way, unsigned dimension) { return static_cast<Path>(way << (1 + 2 * dimension)); }
static_assert(1 + 2 * kMaxDimensions <= 16, "a path has 16 bits");

}  // namespace

TorusGrid::TorusGrid(const TorusSizes& sizes, Routing routing, bool detours)
    : sizes_(sizes), routing_(routing), detours_(detours) {
  for (unsigned d = 0; d < kMaxDimensions; ++d) {
    strides_[d] = static_cast<unsigned>(members_);
    first_link_[d] = links_;
    members_ *= sizes_[d];
    if (members_ == 0 || members_ > kMaxNodes) return;  // no cluster: Topology refuses it
    links_ += std::min(sizes_[d] - 1, 2U);
    by_size_[d] = Divisor(sizes_[d]);
    by_stride_[d] = Divisor(strides_[d]);
    if (sizes_[d] > 1) lines_ = d + 1;
  }
}

TorusGrid::End TorusGrid::neighbour(unsigned member, unsigned link_number) const {
  unsigned d = kMaxDimensions - 1;
  while (first_link_[d] > link_number || sizes_[d] == 1) --d;
  const bool positive = link_number == first_link_[d];
  const unsigned here = coordinate(member, d);
  const unsigned there = (here + (positive ? 1 : sizes_[d] - 1)) % by_size_[d];
  return {member - here * strides_[d] + there * strides_[d], link(d, !positive)};
}

bool TorusGrid::is_positive(unsigned here, unsigned there, unsigned d, Path path) const {
  const unsigned way = way_of(path, d);
  if (way != kShorter) return way == kPositive;
  const unsigned ahead = there >= here ? there - here : there + sizes_[d] - here;
  return 2 * ahead <= sizes_[d];
}

unsigned TorusGrid::first_difference(unsigned a, unsigned b, Path path) const {
  const bool descending = (path & kDescending) != 0;
  unsigned d = descending ? lines_ - 1 : 0;
  while (coordinate(a, d) == coordinate(b, d)) d = descending ? d - 1 : d + 1;
  return d;
}

unsigned TorusGrid::channels_of_order() const { return *std::max_element(sizes_.begin(), sizes_.end()) >= 3 ? 2 : 1; }

TorusGrid::Step TorusGrid::step(unsigned at, unsigned to, Path path) const {
  const unsigned d = first_difference(at, to, path);
  const unsigned here = coordinate(at, d), there = coordinate(to, d);
  const bool positive = is_positive(here, there, d, path);
  const bool wraps = positive ? there < here : there > here;
  const unsigned channel = wraps || sizes_[d] < 3 ? 0U : 1U;  // two members have no ring to close
  return {link(d, positive), channel + ((path & kDescending) != 0 ? channels_of_order() : 0)};
}

bool TorusGrid::orders_differ() const {
  const auto lines = std::count_if(sizes_.begin(), sizes_.end(), [](unsigned size) { return size > 1; });
  return routing_ == Routing::adaptive && lines > 1;
}

unsigned TorusGrid::virtual_channels_needed() const { return channels_of_order() * (orders_differ() ? 2 : 1); }

unsigned TorusGrid::diameter() const {
  unsigned sum = 0;
  for (const unsigned size : sizes_) sum += size / 2;
  return sum;
}

unsigned TorusGrid::longest_path() const {
  if (!detours_) return diameter();
  unsigned sum = 0;
  for (const unsigned size : sizes_) sum += size - 1;
  return sum;
}

unsigned TorusGrid::hops(unsigned from, unsigned to) const {
  unsigned sum = 0;
  for (unsigned d = 0; d < kMaxDimensions; ++d) {
    const unsigned ahead = (coordinate(to, d) + sizes_[d] - coordinate(from, d)) % sizes_[d];
    sum += std::min(ahead, sizes_[d] - ahead);
  }
  return sum;
}

Path TorusGrid::other_way(unsigned from, unsigned to, unsigned d) const {
  const bool positive = is_positive(coordinate(from, d), coordinate(to, d), d, kFixedPath);
  return with_way(positive ? kNegative : kPositive, d);
}

unsigned TorusGrid::paths(unsigned from, unsigned to) const {
  if (!detours_) return 1;
  unsigned ways = 1, dimensions = 0;
  for (unsigned d = 0; d < kMaxDimensions; ++d) {
    if (coordinate(from, d) == coordinate(to, d)) continue;
    ++dimensions;
    if (sizes_[d] >= 3) ways *= 2;
  }
  return ways * (orders_differ() && dimensions > 1 ? 2 : 1);
}

Path TorusGrid::path(unsigned from, unsigned to, unsigned number) const {
  if (number == 0) return kFixedPath;
  unsigned differing = 0;
  for (unsigned d = 0; d < kMaxDimensions; ++d) differing += coordinate(from, d) != coordinate(to, d) ? 1 : 0;
  Path path = kFixedPath;
  if (orders_differ() && differing > 1) {
    path = number % 2 != 0 ? kDescending : kFixedPath;
    number /= 2;
  }
  for (unsigned d = 0; d < kMaxDimensions; ++d) {
    if (coordinate(from, d) == coordinate(to, d) || sizes_[d] < 3) continue;
    if (number % 2 != 0) path = static_cast<Path>(path | other_way(from, to, d));
    number /= 2;
  }
  return path;
}

void TorusGrid::candidates(unsigned from, unsigned to, unsigned first_port, unsigned beyond,
                           std::vector<Candidate>& found) const {
  found.clear();
  const unsigned length = hops(from, to) + beyond;
  const auto add = [&](Path path) { found.push_back({path, first_port + step(from, to, path).link, length}); };
  const unsigned lowest = first_difference(from, to, kFixedPath);
  const unsigned highest = first_difference(from, to, kDescending);
  for (const Path order : {kFixedPath, kDescending}) {
    if (order == kDescending && (!orders_differ() || lowest == highest)) break;
    add(order);
    const unsigned d = order == kDescending ? highest : lowest;
    const unsigned ahead = (coordinate(to, d) + sizes_[d] - coordinate(from, d)) % sizes_[d];
    if (2 * ahead == sizes_[d] && sizes_[d] >= 3) add(static_cast<Path>(order | other_way(from, to, d)));
  }
}

}  // namespace faultline::network
