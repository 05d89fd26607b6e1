// SPDX-License-Identifier: Apache-2.0
// The traffic of the network benchmarks, as both simulators read it: who sends what to whom, and when. Nothing here
// knows SystemC or ns-3.
//
// Pattern `pairs`: QFDBs with an even x send to their neighbours at x + 1 and, both ways, back. MPSoC m > 0 of the one
// is the source of a flow to MPSoC m of the other, so each flow crosses three links: its own to the hub (MPSoC 0), the
// one between the hubs, which all flows of the QFDB share, and its own again.
//
// Each source sends blocks of 64 cells (16 KiB, as the engine does), without acknowledgements, once every
// 64 x (flows that share a link) cell times: the shared link is busy all the time, and the queue before it stays short.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include "benchmarks/measure.hpp"

namespace faultline::bench {

inline constexpr std::uint32_t kCellsPerBlock = 64;
inline constexpr std::uint32_t kPayload = 256;
// ns-3's point-to-point device adds a header of 2 B; so do the cells, to be as long.
inline constexpr std::uint32_t kOverhead = 2;
inline constexpr std::int64_t kLinkRate = 10'000'000'000;  // bits per second
inline constexpr std::int64_t kLinkLatency = 1'000'000;    // ps
// (256 + 2) B at 10 Gb/s: a whole number of picoseconds, which both simulators therefore agree on.
inline constexpr std::int64_t kCellTime = (kPayload + kOverhead) * 8 * 100;  // ps

struct Shape {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
  unsigned mpsocs = 1;  // of each QFDB
  unsigned qfdbs() const { return x * y * z; }
  unsigned nodes() const { return qfdbs() * mpsocs; }
};

inline Shape read_shape(const std::string& text) {
  Shape s;
  int length = 0;
  if (std::sscanf(text.c_str(), "%ux%ux%ux%u%n", &s.x, &s.y, &s.z, &s.mpsocs, &length) != 4 ||
      text.size() != static_cast<std::size_t>(length) || s.nodes() == 0) {
    refuse("--shape takes XxYxZxMPSOCS, such as 2x4x2x5, not '" + text + "'");
  }
  return s;
}

struct Flow {
  unsigned source;
  unsigned destination;
  std::int64_t first;     // ps: when the first block is handed over
  std::int64_t period;    // ps: between blocks
  std::int64_t cell_gap;  // ps: time of a cell on the source's own link
};

// A cheap mixing function (the finaliser of SplitMix64), so that both programs draw the same.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// `irregular`: each source's own link is slower than the others by a factor of its own between 1 and 4, so that blocks
// of different flows interleave cell by cell, without a common rhythm, where they meet.
inline std::vector<Flow> pairs_of(const Shape& shape, bool both_ways, bool irregular) {
  std::vector<Flow> flows;
  const auto sharing = static_cast<std::int64_t>(shape.mpsocs) - 1;
  const std::int64_t period = kCellsPerBlock * sharing * kCellTime;
  const auto add = [&](unsigned from, unsigned to) {
    for (unsigned m = 1; m < shape.mpsocs; ++m) {
      const std::size_t f = flows.size();
      const std::int64_t slower = irregular ? static_cast<std::int64_t>(mixed(f) % (3 * kCellTime)) : 0;
      flows.push_back({from * shape.mpsocs + m, to * shape.mpsocs + m, static_cast<std::int64_t>(f) * 37'000 % period,
                       period, kCellTime + slower});
    }
  };
  for (unsigned qfdb = 0; qfdb < shape.qfdbs(); ++qfdb) {
    if (qfdb % shape.x % 2 != 0 || qfdb % shape.x + 1 == shape.x) continue;
    add(qfdb, qfdb + 1);
    if (both_ways) add(qfdb + 1, qfdb);
  }
  return flows;
}

// Every node sends to one other node and receives from one: a random cycle through all of them (Sattolo). If a node
// sends at a 32nd of a link's rate, the links between QFDBs, which carry the flows of many nodes, are below their
// capacity.
inline std::vector<Flow> permutation_of(const Shape& shape, std::uint32_t share) {
  const unsigned nodes = shape.nodes();
  std::vector<unsigned> partner(nodes);
  for (unsigned i = 0; i < nodes; ++i) partner[i] = i;
  for (unsigned i = nodes - 1; i > 0; --i) std::swap(partner[i], partner[mixed(i) % i]);
  std::vector<Flow> flows;
  const std::int64_t period = kCellsPerBlock * share * kCellTime;
  for (unsigned i = 0; i < nodes; ++i) {
    flows.push_back({i, partner[i], static_cast<std::int64_t>(mixed(nodes + i) % static_cast<std::uint64_t>(period)),
                     period, kCellTime});
  }
  return flows;
}

// The nodes that a cell visits, ends included: to the hub of its QFDB (MPSoC 0), from hub to hub by x, then y, then z,
// the shorter way round each (of two equal ones that of growing coordinates), to its MPSoC.
inline std::vector<unsigned> path_of(const Shape& shape, unsigned from, unsigned to) {
  std::vector<unsigned> path{from};
  const auto visit = [&](unsigned node) {
    if (path.back() != node) path.push_back(node);
  };
  unsigned qfdb = from / shape.mpsocs;
  const unsigned to_qfdb = to / shape.mpsocs;
  if (qfdb != to_qfdb) visit(qfdb * shape.mpsocs);
  unsigned stride = 1;
  for (const unsigned size : {shape.x, shape.y, shape.z}) {
    const unsigned there = to_qfdb / stride % size;
    for (unsigned here = qfdb / stride % size; here != there;) {
      const bool ahead = 2 * ((there + size - here) % size) <= size;
      const unsigned next = (here + (ahead ? 1 : size - 1)) % size;
      qfdb = qfdb - here * stride + next * stride;
      here = next;
      visit(qfdb * shape.mpsocs);
    }
    stride *= size;
  }
  visit(to);
  return path;
}

struct TrafficArguments {
  std::string pattern;
  Shape shape;
  bool both_ways;
  bool irregular;
  std::uint32_t blocks;  // of each flow
  std::uint32_t share;   // permutation: a node sends at this part of a link's rate

  explicit TrafficArguments(Arguments& given)
      : pattern(given.text("pattern", "pairs")),
        shape(read_shape(given.text("shape", "2x1x1x2"))),
        both_ways(given.count("both-ways", 0) != 0),
        irregular(given.count("irregular", 0) != 0),
        blocks(given.count("blocks", 250)),
        share(given.count("share", 32)) {
    if (pattern != "pairs" && pattern != "permutation") refuse("--pattern takes pairs or permutation");
    if (pattern == "pairs" && (shape.x % 2 != 0 || shape.mpsocs < 2)) refuse("pairs need an even x and two MPSoCs");
    if (shape.nodes() < 2) refuse("there is nobody to send to");
  }
  std::vector<Flow> flows() const {
    return pattern == "pairs" ? pairs_of(shape, both_ways, irregular) : permutation_of(shape, share);
  }
};

}  // namespace faultline::bench
