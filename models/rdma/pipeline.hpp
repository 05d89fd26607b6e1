// SPDX-License-Identifier: Apache-2.0
// How a transfer that both ends prepare is cut into parts, so that one part is prepared while another one crosses the
// network (Woodall et al., EuroPVM/MPI 2006).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "models/sim/parameters.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::rdma {

// Of a transfer's data, from its first byte.
struct Part {
  std::uint64_t offset;
  std::uint64_t bytes;
  bool operator==(const Part&) const = default;
};

enum class Chunks : std::uint8_t {
  none,     // the whole transfer is one part
  fixed,    // parts of strategy.pipeline_chunk
  growing,  // the first one of strategy.pipeline_first, each twice as long as the one before, up to pipeline_chunk
};

struct Pipeline {
  Chunks chunks = Chunks::none;
  std::uint64_t chunk = std::uint64_t{1} << 20;
  std::uint64_t first = std::uint64_t{64} << 10;
  unsigned depth = 4;

  bool is_used() const { return chunks != Chunks::none; }
  // That are under way at a time, of a transfer of so many bytes.
  std::size_t most_parts(std::uint64_t bytes) const { return std::min<std::size_t>(parts(bytes).size(), depth); }
  // Of a transfer: one part at the least. The last one may be shorter.
  sim::Vector<Part> parts(std::uint64_t bytes) const;
  // strategy.pipeline and strategy.pipeline_*, in the group that is open.
  void declare(sim::ParameterTable& table);
  std::vector<sim::Conflict> conflicts() const;
};

}  // namespace faultline::rdma
