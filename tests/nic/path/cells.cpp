// SPDX-License-Identifier: Apache-2.0
// How a block is cut into runs of cells.
#include "models/nic/path/cells.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

using namespace faultline;
using namespace faultline::nic;

namespace {

std::uint64_t page_of(std::uint64_t address) { return address / sim::kPageBytes; }

bool is_in_one_page(std::uint64_t begin, std::uint32_t bytes) { return page_of(begin) == page_of(begin + bytes - 1); }

}  // namespace

TEST_CASE(
    "runs cover a block, no cell of them lies across a page's end, and where both ends are aligned they are long") {
  const std::vector<std::uint64_t> offsets{0, 1, 64, 128, 255, 256, 257, 3840, 4000, 4095};
  constexpr std::uint32_t kBlock = 16384;
  for (const std::uint64_t source : offsets) {
    for (const std::uint64_t destination : offsets) {
      for (const std::uint32_t most_cells : {1U, 2U, 16U, 17U, 64U, 256U}) {
        INFO("source " << source << ", destination " << destination << ", " << most_cells << " cells");
        std::uint32_t longest = 0;
        bool whole = true;
        std::uint32_t at = 0;
        while (at < kBlock) {
          const CellRun run = next_run(source, destination, at, kBlock, most_cells);
          REQUIRE(run.offset == at);
          REQUIRE(run.cells >= 1);
          REQUIRE(run.cells <= most_cells);
          for (std::uint32_t cell = 0; cell < run.cells; ++cell, at += run.cell_bytes) {
            whole = whole && is_in_one_page(source + at, run.cell_bytes) &&
                    is_in_one_page(destination + at, run.cell_bytes);
          }
          longest = std::max(longest, run.cells);
        }
        CHECK(at == kBlock);
        CHECK(whole);
        // Those of up to a page end with it.
        if (source % 256 == 0 && destination % 256 == 0 && most_cells != 16)
          CHECK(longest == std::min(most_cells, kBlock / 256));
      }
    }
  }
}
