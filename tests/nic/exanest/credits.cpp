// SPDX-License-Identifier: Apache-2.0
// A fault cuts what had been given credits ahead of time: the next block gets them as if they had never been taken.
#include <catch2/catch.hpp>

#include "tests/nic/exanest/prediction.hpp"

using namespace faultline;
using namespace faultline::test;

TEST_CASE("reads that a fault cuts off leave their credits to the next block, at the instants they had") {
  exanest::EngineConfig config;
  config.block_bytes = 4096;
  config.block_contexts = 2;
  config.neighbours.outstanding_reads = 10;
  DmaBench trains(config, 16, "trains"), cells(config, 1, "cells");
  for (DmaBench* bench : {&trains, &cells}) {
    bench->set_up();
    // Four cells of block 0 in a page that is present, twelve in one that is missing. Ten are read at once, up to where
    // a page of the destination ends. The last six wait for credits that come free from the first response on; the
    // fifth response is an error.
    const DmaPost post{kSource + 0xc00, kDestination + 0x600, 8192};
    PagedMemory& memory = *bench->memory[0];
    memory.missing = {kSource / sim::kPageBytes + 1};
    memory.read_latency = 5us;
    const Time first = bench->now() + bench->config.transfer_startup + bench->config.block_scheduling;
    bench->post(0, post);
    bench->run(10us);
    const auto back = [&](int cell) { return first + (cell + 1) * memory.service + memory.read_latency; };
    const std::vector<Time> next = instants(memory, false, post.source + 4096);
    REQUIRE(next.size() >= 6);
    for (int j = 0; j < 6; ++j) CHECK(next[static_cast<std::size_t>(j)] == back(4 + j));
  }
}

TEST_CASE("writes that a fault cuts off leave their credits to the next block, at the instants they had") {
  exanest::EngineConfig config;
  config.block_bytes = 3072;
  DmaBench trains(config, 16, "trains"), cells(config, 1, "cells");
  for (DmaBench* bench : {&trains, &cells}) {
    bench->set_up();
    // Block 0 ends with a page that is missing. Eight of its cells are being written when the first error response
    // comes; four have been promised the first credits that come free, and block 1 waits behind them.
    const DmaPost post{kSource, kDestination + 0x400, 6144};
    PagedMemory& memory = *bench->memory[1];
    memory.missing = {kDestination / sim::kPageBytes};
    memory.write_latency = 8us;
    const Prediction clean = predict(*bench, post, bench->now());
    const Time error = clean.cells[0].written;
    REQUIRE(clean.cells[23].arrived < error);
    bench->post(0, post);
    bench->run(40us);
    const std::vector<Time> next = instants(memory, true, kDestination + sim::kPageBytes);
    REQUIRE(next.size() == 12);
    for (std::size_t j = 0; j < 8; ++j) CHECK(next[j] == clean.cells[j].written);
  }
}

TEST_CASE("a run of writes that has begun when its block's fault is due is cut at that instant") {
  exanest::EngineConfig config;
  config.block_bytes = 4096;
  config.neighbours.outstanding_writes = 12;
  DmaBench trains(config, 16, "trains"), cells(config, 1, "cells");
  for (DmaBench* bench : {&trains, &cells}) {
    bench->set_up();
    // The second train of block 0 has four credits at once and four from the first response on, which is the error.
    const DmaPost post{kSource, kDestination, 8192};
    PagedMemory& memory = *bench->memory[1];
    memory.missing = {kDestination / sim::kPageBytes};
    memory.write_latency = 8us;
    const Prediction clean = predict(*bench, post, bench->now());
    REQUIRE(clean.cells[31].arrived < clean.cells[0].written);
    bench->post(0, post);
    bench->run(40us);
    const std::vector<Time> all = instants(memory, true, kDestination);
    REQUIRE(all.size() == 12 + 16);
    for (std::size_t j = 0; j < 12; ++j) {
      CHECK(all[j] == clean.cells[j].write);
      CHECK(all[12 + j] == clean.cells[j].written);
    }
    CHECK(bench->counted(1, "dma.faulted_cells") == 4);
  }
}
