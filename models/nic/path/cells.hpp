// SPDX-License-Identifier: Apache-2.0
// How a block is cut into cells.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/sim/payload.hpp"

namespace faultline::nic {

// Equal cells of a block that start `offset` bytes into it.
struct CellRun {
  std::uint32_t offset;
  std::uint32_t cell_bytes;
  std::uint32_t cells;
  std::uint32_t bytes() const { return cell_bytes * cells; }
};

// The run from `offset` on: at most `most_cells` cells of at most 256 B, none of which lies across a page boundary at
// either end. Where the cells' boundaries fall does not depend on most_cells. Runs of no more than a page end with it:
// where translations end they would only part.
inline CellRun next_run(std::uint64_t source, std::uint64_t destination, std::uint32_t offset,
                        std::uint32_t block_bytes, std::uint32_t most_cells) {
  const auto page_left = [offset](std::uint64_t base) {
    return static_cast<std::uint32_t>(sim::kPageBytes - (base + offset) % sim::kPageBytes);
  };
  std::uint32_t left = block_bytes - offset;
  const bool aligned = (source + offset) % sim::kCellBytes == 0 && (destination + offset) % sim::kCellBytes == 0;
  if (!aligned || most_cells * sim::kCellBytes <= sim::kPageBytes) {
    left = std::min({left, page_left(source), page_left(destination)});
  }
  if (left < sim::kCellBytes) return {offset, left, 1};
  return {offset, sim::kCellBytes, std::min(left / sim::kCellBytes, most_cells)};
}

}  // namespace faultline::nic
