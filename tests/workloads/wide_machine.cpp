// SPDX-License-Identifier: Apache-2.0
// Ports and memory of 400 Gb/s: the limits of the model are not those of one board.
#include <catch2/catch.hpp>

#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

// 128 B a beat at 400 MHz are 409.6 Gb/s; all else is wider, and has slots for what is on its way.
Settings wide(const char* pl_clock) {
  return preset("resident") + Settings{{"workload.size", "8 MiB"},
                                       {"os.thp", "always"},  // with pages of 4 KiB it is the walks that limit
                                       {"workload.iterations", 2},
                                       {"workload.warmup", 1},
                                       {"axi.width", "128 B"},
                                       {"axi.pl_clock", pl_clock},
                                       {"axi.outstanding_reads", 256},
                                       {"axi.outstanding_writes", 256},
                                       {"ddr.peak_bandwidth", "400 GB/s"},
                                       {"network.internal_rate", "1000 Gb/s"},
                                       {"network.buffer_cells", 4096},
                                       {"network.injection_cells", 4096},
                                       {"exanest.block_bytes", "256 KiB"},
                                       {"exanest.outstanding_blocks", 16},
                                       {"exanest.send_queue", 16},
                                       {"exanest.cell_buffer", 4096},
                                       {"exanest.receive_buffer", 4096}};
}

// Payload that the network interface moves, in B/s, at `clock` Hz: it moves a beat of 128 B a clock, too, and 256 B of
// each cell's 288 B are payload.
double interface_rate(double clock) { return 128 * clock * 256 / (256 + 32); }

}  // namespace

TEST_CASE("a transfer through ports of 409.6 Gb/s takes what its cells take at the network interface") {
  const Point point = run_well(wide("400 MHz"));
  const double rate = point.metrics.at("goodput") * 1e6;
  CHECK(rate <= interface_rate(400e6));
  CHECK(rate >= 0.96 * interface_rate(400e6));  // the rest is the start of a transfer, and its end
}

TEST_CASE("ports of half the rate take twice as long") {
  const Point point = run_well(wide("200 MHz"));
  const double rate = point.metrics.at("goodput") * 1e6;
  CHECK(rate <= interface_rate(200e6));
  CHECK(rate >= 0.96 * interface_rate(200e6));
}
