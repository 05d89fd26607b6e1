// SPDX-License-Identifier: Apache-2.0
// exanest.stop_after_fault: the source sends no more of a block that has faulted at its destination.
#include <catch2/catch.hpp>

#include "models/nic/exanest/steps.hpp"
#include "tests/nic/exanest/prediction.hpp"

using namespace faultline;
using namespace faultline::test;
namespace step = exanest::step;

namespace {

constexpr std::uint64_t kPageAt = kDestination / sim::kPageBytes;
constexpr std::uint64_t kBlock = 16384;

exanest::EngineConfig stopping(bool on = true) {
  exanest::EngineConfig config;
  config.stop_after_fault = on;
  return config;
}

// From the error response to the instant at which the send unit sends no more.
Time stop_travel(const DmaBench& bench) {
  const exanest::EngineConfig& c = bench.config;
  return c.clock.cycles(c.send_pipeline) + bench.fabric->cell_time(16) + bench.fabric->latency +
         c.clock.cycles(c.receive_pipeline);
}

// Starts a write of one block whose first page is missing at the destination.
std::uint64_t post_faulting(DmaBench& bench) {
  bench.memory[0]->fill(kSource, kBlock, 1);
  bench.memory[1]->missing = {kPageAt};
  return bench.post(0, {kSource, kDestination, kBlock});
}

std::uint64_t sent_before(const Prediction& p, Time stop) {
  return static_cast<std::uint64_t>(
      std::count_if(p.cells.begin(), p.cells.end(), [&](const auto& c) { return c.sent < stop; }));
}

}  // namespace

TEST_CASE("after a fault at the destination no cell leaves from the stop on, at that instant neither") {
  // The instant of the stop is put on that of a cell's departure, and a picosecond behind it.
  DmaBench cells_at(stopping(), 1, "cells_at"), cells_behind(stopping(), 1, "cells_behind");
  DmaBench trains_at(stopping(), 16, "trains_at"), trains_behind(stopping(), 16, "trains_behind");
  for (DmaBench* bench : {&cells_at, &cells_behind, &trains_at, &trains_behind}) {
    const bool behind = bench == &cells_behind || bench == &trains_behind;
    INFO("behind: " << behind << ", cells per train " << bench->contexts[0]->cells_per_train);
    bench->set_up();
    Prediction p = predict(*bench, {kSource, kDestination, kBlock}, bench->now());
    const Time distance = p.cells[20].sent - (p.cells[0].written + stop_travel(*bench));
    REQUIRE(distance > Time{0});
    bench->memory[1]->write_latency += distance + Time{behind ? 1 : 0};
    p = predict(*bench, {kSource, kDestination, kBlock}, bench->now());
    const Time stop = p.cells[0].written + stop_travel(*bench);
    REQUIRE(stop == p.cells[20].sent + Time{behind ? 1 : 0});
    post_faulting(*bench);
    bench->run(500us);
    const std::uint64_t sent = behind ? 21 : 20;
    REQUIRE(sent_before(p, stop) == sent);
    CHECK(bench->counted(1, "dma.dropped_bytes") == sent * 256);
    CHECK(bench->counted(0, "dma.stopped_bytes") == kBlock - sent * 256);
    CHECK(bench->counted(1, "dma.stops_sent") == 1);
    CHECK(bench->counted(0, "dma.stops_late") == 0);
    // Nor is memory read for cells that would not be sent.
    const auto reads = instants(*bench->memory[0], false);
    CHECK(reads.size() < 64);
    CHECK(std::all_of(reads.begin(), reads.end(), [&](Time t) { return t < stop; }));
  }
}

TEST_CASE("without stops a block is sent to its end") {
  DmaBench bench(stopping(false));
  bench.set_up();
  post_faulting(bench);
  bench.run(500us);
  CHECK(bench.counted(1, "dma.dropped_bytes") == kBlock);
  CHECK(bench.counted(1, "dma.stops_sent") == 0);
  CHECK(bench.counted(0, "dma.stopped_bytes") == 0);
}

TEST_CASE("a lost stop saves nothing and loses nothing") {
  exanest::EngineConfig lossy = stopping();
  lossy.stop_loss = 1.0;
  DmaBench bench(lossy);
  bench.set_up();
  bench.resolve_after = 30us;
  post_faulting(bench);
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench, kBlock));
  CHECK(bench.counted(0, "dma.stops_lost") == 1);
  CHECK(bench.counted(0, "dma.stopped_bytes") == 0);
  CHECK(bench.counted(1, "dma.dropped_bytes") == kBlock);
}

TEST_CASE("a stopped block is sent again when it is asked for, whole") {
  DmaBench bench(stopping()), never(stopping(false), 16, "never");
  for (DmaBench* b : {&bench, &never}) {
    b->set_up();
    b->resolve_after = 30us;
    const auto id = post_faulting(*b);
    REQUIRE(b->run_to_notification(0));
    CHECK(arrived_whole(*b, kBlock));
    CHECK(b->counted(0, "dma.retransmitted_bytes") == kBlock);
    CHECK(b->counted(0, "dma.timeouts") == 0);
    CHECK(b->at(step::kBlockAcknowledged, {id, 0, 1}) != sim::kNever);
  }
  // One block by itself: what is saved is bytes, not time.
  const auto took = [](const DmaBench& b) {
    return b.at(step::kNotified, {1, 0, 0}) - b.at(step::kTransferStarted, {1, 0, 0});
  };
  CHECK(took(bench) == took(never));
  CHECK(bench.counted(0, "dma.stopped_bytes") + bench.counted(1, "dma.dropped_bytes") == kBlock);
}

TEST_CASE("a stop concerns one attempt of one block, and the next block begins in its place") {
  std::vector<std::unique_ptr<DmaBench>> with, without;
  for (const unsigned contexts : {1U, 2U}) {
    for (const bool on : {true, false}) {
      exanest::EngineConfig config = stopping(on);
      config.block_contexts = contexts;
      const std::string name = (on ? "with" : "without") + std::to_string(contexts);
      (on ? with : without).push_back(std::make_unique<DmaBench>(config, 16, name));
    }
  }
  for (std::size_t i = 0; i < with.size(); ++i) {
    for (DmaBench* b : {with[i].get(), without[i].get()}) {
      b->set_up();
      b->resolve_after = 30us;
      b->memory[0]->fill(kSource, 4 * kBlock, 1);
      b->memory[1]->missing = {kPageAt};
      b->post(0, {kSource, kDestination, 4 * kBlock});
      REQUIRE(b->run_to_notification(0));
      CHECK(arrived_whole(*b, 4 * kBlock));
      CHECK(b->counted(0, "dma.retransmitted_bytes") == kBlock);
    }
    const Time start = with[i]->at(step::kTransferStarted, {1, 0, 0});
    const Time other_start = without[i]->at(step::kTransferStarted, {1, 0, 0});
    CHECK(with[i]->at(step::kBlockAcknowledged, {1, 3, 0}) - start <
          without[i]->at(step::kBlockAcknowledged, {1, 3, 0}) - other_start);
    CHECK(with[i]->counted(1, "dma.stops_sent") == 1);
    CHECK(with[i]->counted(0, "dma.stopped_bytes") > 0);
    CHECK(with[i]->counted(0, "dma.stopped_bytes") + with[i]->counted(1, "dma.dropped_bytes") == kBlock);
  }
}

TEST_CASE("a stop that comes when the block has gone out is late and does nothing") {
  DmaBench bench(stopping());
  bench.set_up();
  bench.resolve_after = 30us;
  bench.memory[0]->fill(kSource, 64, 1);
  bench.memory[1]->missing = {kPageAt};
  bench.post(0, {kSource, kDestination, 64});
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench, 64));
  CHECK(bench.counted(0, "dma.stops_late") == 1);
  CHECK(bench.counted(0, "dma.stopped_bytes") == 0);
  CHECK(bench.counted(1, "dma.dropped_bytes") == 64);
}

TEST_CASE("the data of an RDMA read are stopped where they come from") {
  DmaBench bench(stopping());
  bench.set_up();
  bench.resolve_after = 30us;
  bench.memory[1]->fill(kSource, kBlock, 1);
  bench.memory[0]->missing = {kPageAt};
  DmaPost read{kSource, kDestination, kBlock};
  read.command = exanest::reg::kCommandRead;
  bench.post(0, read);
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.memory[0]->read(kDestination, kBlock) == bench.memory[1]->read(kSource, kBlock));
  CHECK(bench.counted(0, "dma.stops_sent") == 1);
  CHECK(bench.counted(1, "dma.stopped_bytes") > 0);
  CHECK(bench.counted(1, "dma.stopped_bytes") + bench.counted(0, "dma.dropped_bytes") == kBlock);
}

TEST_CASE("a fault at both ends of a block leads to one delivery, with stops as without") {
  DmaBench on(stopping(true), 16, "on"), off(stopping(false), 16, "off");
  for (DmaBench* bench : {&on, &off}) {
    bench->set_up();
    bench->resolve_after = 30us;
    bench->memory[0]->fill(kSource, kBlock, 1);
    bench->memory[0]->missing = {kSource / sim::kPageBytes + 1};
    bench->memory[1]->missing = {kPageAt, kPageAt + 3};
    bench->post(0, {kSource, kDestination, kBlock});
    REQUIRE(bench->run_to_notification(0));
    CHECK(arrived_whole(*bench, kBlock));
  }
}
