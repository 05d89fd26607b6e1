// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <memory>

#include "models/nic/exanest/steps.hpp"
#include "tests/nic/exanest/prediction.hpp"

using namespace faultline;
using namespace faultline::test;
namespace step = exanest::step;

namespace {

void check_write(DmaBench& bench, const DmaPost& post) {
  INFO("length " << post.length << " from " << post.source << " to " << post.destination);
  bench.memory[0]->fill(post.source, post.length, 42);
  bench.steps.clear();
  for (const auto& memory : bench.memory) memory->forget_accesses();
  const Prediction expected = predict(bench, post, bench.now());
  const std::uint64_t id = bench.post(0, post);
  REQUIRE(id != 0);
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.at(step::kTransferStarted, {id, 0, 0}) == expected.started);
  for (std::uint32_t k = 0; k < expected.blocks.size(); ++k) {
    INFO("block " << k);
    const sim::PartKey key{id, k, 0};
    const BlockTimes& block = expected.blocks[k];
    const CellTimes& cell = expected.cells[block.first_cell];
    CHECK(bench.at(step::kBlockScheduled, key) == block.scheduled);
    CHECK(bench.at(step::kReadIssued, key) == cell.issued);
    CHECK(bench.at(step::kCellSent, key) == cell.sent);
    CHECK(bench.at(step::kCellArrived, key) == cell.arrived);
    CHECK(bench.at(step::kBlockAcknowledged, key) == block.acknowledged);
  }
  CHECK(bench.all(step::kBlockScheduled).size() == expected.blocks.size());
  std::vector<Time> reads, writes;
  for (const CellTimes& cell : expected.cells) {
    reads.push_back(cell.issued);
    writes.push_back(cell.write);
  }
  CHECK(instants(*bench.memory[0], false) == reads);
  CHECK(instants(*bench.memory[1], true) == writes);
  CHECK(bench.at(step::kNotified, {id, 0, 0}) == expected.notified);
  CHECK(bench.memory[0]->word(DmaBench::kNotify) == (post.cookie << 8 | exanest::reg::kNotifyDone));
  CHECK(bench.memory[1]->read(post.destination, post.length) == bench.memory[0]->read(post.source, post.length));
}

void check_sizes(DmaBench& bench) {
  for (const std::uint64_t length : {64, 256, 4096, 16384, 65536}) check_write(bench, {0x100000, 0x400000, length});
  check_write(bench, {0x100064, 0x400007, 20000});
  check_write(bench, {0x100fff, 0x400ffe, 9000});
}

}  // namespace

TEST_CASE("every step of a write comes at the instant that the configuration gives, for both train lengths") {
  DmaBench trains({}, 16, "trains");
  DmaBench cells({}, 1, "cells");
  trains.set_up();
  cells.set_up();
  check_sizes(trains);
  check_sizes(cells);
}

TEST_CASE("every bound of the engine delays a write exactly as it must") {
  exanest::EngineConfig tight;
  tight.neighbours.outstanding_reads = 2;
  tight.neighbours.outstanding_writes = 1;
  tight.cell_buffer = 3;
  tight.receive_buffer = 16;
  tight.send_queue = 1;
  tight.outstanding_blocks = 2;
  tight.block_bytes = 4096;
  tight.neighbours.router_cells = 5;
  // Bounds on cells that are fewer than a train's, and none before the router's.
  exanest::EngineConfig short_of_slots;
  short_of_slots.neighbours.outstanding_writes = 4;
  short_of_slots.receive_buffer = 6;
  short_of_slots.neighbours.router_cells = 2;
  DmaBench tight_trains(tight, 16, "tight_trains"), tight_cells(tight, 1, "tight_cells");
  DmaBench short_trains(short_of_slots, 16, "short_trains"), short_cells(short_of_slots, 1, "short_cells");
  for (DmaBench* bench : {&tight_trains, &tight_cells, &short_trains, &short_cells}) {
    bench->set_up();
    check_sizes(*bench);
  }
  // Trains are what is compared with cells, and those that were cut late are among them.
  for (const auto& [trains, cells] : {std::pair(&tight_trains, &tight_cells), std::pair(&short_trains, &short_cells)}) {
    CHECK(3 * trains->fabric->delivered_trains < 2 * cells->fabric->delivered_trains);
    CHECK(trains->fabric->recalled_cells > 0);
    CHECK(cells->fabric->recalled_cells == 0);
  }
}

TEST_CASE("the window of one block waits for each acknowledgement") {
  exanest::EngineConfig one;
  one.outstanding_blocks = 1;
  DmaBench bench(one);
  bench.set_up();
  check_write(bench, {0x100000, 0x400000, 65536});
}

TEST_CASE("a block's first read waits for a context, which is free when a block's last cell has gone out") {
  exanest::EngineConfig one;
  // Blocks shorter than the cell buffer on a slow line: contexts run out before slots for cells do.
  one.block_bytes = 4096;
  one.cell_buffer = 64;
  one.neighbours.router_cells = 4;
  exanest::EngineConfig two = one;
  two.block_contexts = 2;
  DmaBench one_trains(one, 16, "one_trains"), one_cells(one, 1, "one_cells");
  DmaBench two_trains(two, 16, "two_trains"), two_cells(two, 1, "two_cells");
  for (DmaBench* bench : {&one_trains, &one_cells, &two_trains, &two_cells}) {
    bench->set_up();
    check_sizes(*bench);
    bench->fabric->rate = sim::BitRate{4'000'000'000};
    check_sizes(*bench);
    const std::size_t contexts = bench->config.block_contexts;
    const Prediction expected = predict(*bench, {0x100000, 0x400000, 65536}, bench->now());
    const CellTimes& last = expected.cells[expected.blocks[0].end_cell - 1];
    CHECK(last.sent > last.back + bench->config.clock.cycles(bench->config.send_pipeline));
    CHECK(expected.cells[expected.blocks[contexts].first_cell].issued == last.sent);
  }
}

TEST_CASE("with two contexts the next block's reads do not wait for the previous block's data") {
  exanest::EngineConfig two;
  two.block_contexts = 2;
  DmaBench trains(two, 16, "trains"), cells(two, 1, "cells");
  for (DmaBench* bench : {&trains, &cells}) {
    bench->set_up();
    check_sizes(*bench);
    // Faster than the reads: behind a slower line the cell buffer hides what the second context gains.
    bench->fabric->rate = sim::BitRate{100'000'000'000};
    bench->memory[0]->fill(0x100000, 65536, 5);
    const Prediction expected = predict(*bench, {0x100000, 0x400000, 65536}, bench->now());
    bench->steps.clear();
    const std::uint64_t id = bench->post(0, {0x100000, 0x400000, 65536});
    REQUIRE(bench->run_to_notification(0));
    // Block 1's first read takes the slot that the eighth last read of block 0 leaves, as within a block.
    const std::size_t end = expected.blocks[0].end_cell;
    CHECK(bench->at(step::kReadIssued, {id, 1, 0}) < expected.cells[end - 1].back);
    CHECK(bench->at(step::kReadIssued, {id, 1, 0}) == expected.cells[end - 8].back);
  }
}

TEST_CASE("blocks of any length in bytes are cut, sent and acknowledged like others") {
  std::vector<std::unique_ptr<DmaBench>> benches;
  for (const std::uint64_t block : {4097, 5000, 65535}) {
    exanest::EngineConfig odd;
    odd.block_bytes = block;
    for (const std::uint32_t cells : {1U, 16U}) {
      benches.push_back(std::make_unique<DmaBench>(odd, cells, fmt::format("block{}_{}", block, cells)));
    }
  }
  for (const auto& bench : benches) {
    bench->set_up();
    check_sizes(*bench);
    check_write(*bench, {0x100064, 0x400007, 3 * bench->config.block_bytes + 1});
  }
}

TEST_CASE("writes of both directions at once arrive whole") {
  DmaBench bench;
  bench.set_up();
  bench.memory[0]->fill(0x100000, 65536, 3);
  bench.memory[1]->fill(0x200000, 65536, 4);
  CHECK(bench.post(0, {0x100000, 0x400000, 65536, 1}) == 1);
  CHECK(bench.post(1, {0x200000, 0x500000, 65536, 0}) == (std::uint64_t{1} << 32 | 1));
  bench.run(200us);
  CHECK(bench.all(step::kNotified).size() == 2);
  CHECK(bench.memory[1]->read(0x400000, 65536) == bench.memory[0]->read(0x100000, 65536));
  CHECK(bench.memory[0]->read(0x500000, 65536) == bench.memory[1]->read(0x200000, 65536));
}

TEST_CASE("channels take turns and the accesses carry their process's master id") {
  DmaBench bench;
  bench.set_up();
  bench.memory[0]->fill(0x100000, 0x40000, 3);
  const auto first = bench.post(0, {0x100000, 0x400000, 65536, 1, 1, exanest::reg::kCommandWrite, 0});
  const auto second = bench.post(0, {0x120000, 0x420000, 65536, 1, 2, exanest::reg::kCommandWrite, 1});
  bench.run(300us);
  std::vector<std::uint64_t> order;
  for (const auto& step : bench.all(step::kBlockScheduled)) order.push_back(step.key.transfer);
  // The first block goes before the second transfer is set up; then they alternate.
  REQUIRE(order.size() == 8);
  CHECK(std::count(order.begin(), order.begin() + 4, second) >= 1);
  CHECK(std::count(order.begin(), order.end(), first) == 4);
  for (const auto& a : bench.memory[0]->accesses) CHECK(a.master_id == (0b1000u << 6 | DmaBench::pdid_of(0)));
  for (const auto& a : bench.memory[1]->accesses) CHECK(a.master_id == (0b1000u << 6 | DmaBench::pdid_of(1)));
}
