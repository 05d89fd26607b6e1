// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/nic/exanest/steps.hpp"
#include "tests/nic/exanest/prediction.hpp"

using namespace faultline;
using namespace faultline::test;
namespace step = exanest::step;

namespace {

constexpr std::uint64_t kPageAt = kDestination / sim::kPageBytes;

// The way of a retransmission request from the moment it is handed to the packetizer.
Time request_travel(const DmaBench& bench) {
  return 2 * bench.config.clock.cycles(bench.config.message_pipeline) + bench.fabric->cell_time(24) +
         bench.fabric->latency;
}

Time logging(const DmaBench& bench) { return bench.config.clock.cycles(bench.config.fault_logging); }

}  // namespace

TEST_CASE("a write fault stops its block at the first error response, logs one record and sends no acknowledgement") {
  DmaBench bench({}, 1);
  bench.set_up();
  bench.memory[0]->fill(kSource, 16384, 1);
  bench.memory[1]->missing = {kPageAt + 2};
  const Prediction clean = predict(bench, {kSource, kDestination, 16384}, bench.now());
  const auto id = bench.post(0, {kSource, kDestination, 16384});
  bench.run(500us);

  const Time error = clean.cells[32].written;
  CHECK(bench.at(step::kFaultDetected, {id, 0, 0}) == error);
  CHECK(bench.at(step::kFaultLogged, {id, 0, 0}) == error + logging(bench));
  // Cells that were written before the error response have gone out, the others of the block are dropped.
  const auto gone =
      std::count_if(clean.cells.begin(), clean.cells.end(), [&](const auto& c) { return c.write < error; });
  CHECK(gone > 33);
  CHECK(bench.memory[1]->accesses.size() == static_cast<std::size_t>(gone));
  CHECK(bench.counted(1, "dma.faulted_cells") == static_cast<std::uint64_t>(64 - gone));
  // Refused or dropped, from the missing page on nothing has arrived.
  CHECK(bench.counted(1, "dma.dropped_bytes") == std::uint64_t{64 - 32} * 256);

  REQUIRE(bench.privileged_read(1, exanest::reg::kFaultCount) == 1);
  CHECK(bench.privileged_read(1, exanest::reg::kFaultWord0) == kDestination + 0x2000);
  CHECK(bench.privileged_read(1, exanest::reg::kFaultWord1) == DmaBench::pdid_of(1));
  CHECK(bench.privileged_read(1, exanest::reg::kFaultWord2) == id);
  CHECK(bench.privileged_read(1, exanest::reg::kFaultWord3) == 0);
  bench.privileged_write(1, exanest::reg::kFaultPop, 0);
  CHECK(bench.privileged_read(1, exanest::reg::kFaultCount) == 0);
  CHECK(bench.all(step::kBlockAcknowledged).empty());
}

TEST_CASE("only the faulted block is sent again, and the others do not wait for it") {
  DmaBench bench;
  bench.set_up();
  bench.resolve_after = 30us;
  bench.memory[0]->fill(kSource, 8 * 16384, 1);
  bench.memory[1]->missing = {kPageAt + 9};  // of block 2
  const auto id = bench.post(0, {kSource, kDestination, 8 * 16384});
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench, 8 * 16384));
  CHECK(bench.counted(0, "dma.retransmitted_blocks") == 1);
  CHECK(bench.counted(0, "dma.retransmitted_bytes") == 16384);
  CHECK(bench.counted(0, "dma.timeouts") == 0);

  const Time logged = bench.at(step::kFaultLogged, {id, 2, 0});
  const Time received = logged + 30us + request_travel(bench);
  CHECK(bench.at(step::kRetryReceived, {id, 2, 0}) == received);
  // The R5 may be at work on a block when the request comes.
  const Time requeued = bench.at(step::kBlockRequeued, {id, 2, 1});
  CHECK(requeued >= received + bench.config.retransmit_processing);
  CHECK(requeued <= received + bench.config.retransmit_processing + bench.config.block_scheduling);
  CHECK(bench.at(step::kBlockAcknowledged, {id, 4, 0}) < requeued);
  CHECK(bench.at(step::kBlockAcknowledged, {id, 2, 1}) != sim::kNever);
}

TEST_CASE("one fault's recovery takes the sum of its steps") {
  DmaBench destination({}, 16, "destination");
  DmaBench source({}, 16, "source");
  destination.set_up();
  source.set_up();
  for (const bool at_source : {false, true}) {
    INFO("at source: " << at_source);
    DmaBench& bench = at_source ? source : destination;
    bench.resolve_after = 20us;
    bench.memory[0]->fill(kSource, 4096, 1);
    bench.memory[at_source ? 0 : 1]->missing = {at_source ? kSource / sim::kPageBytes : kPageAt};
    const Prediction clean = predict(bench, {kSource, kDestination, 4096}, bench.now());
    const auto id = bench.post(0, {kSource, kDestination, 4096});
    REQUIRE(bench.run_to_notification(0));
    const Time detected = at_source ? clean.cells[0].back : clean.cells[0].written;
    CHECK(bench.at(step::kFaultDetected, {id, 0, 0}) == detected);
    const Time travel =
        at_source ? 2 * bench.config.clock.cycles(bench.config.message_pipeline) : request_travel(bench);
    CHECK(bench.at(step::kFaultLogged, {id, 0, 0}) == detected + logging(bench));
    const Time received = detected + logging(bench) + 20us + travel;
    CHECK(bench.at(step::kRetryReceived, {id, 0, 0}) == received);
    CHECK(bench.at(step::kBlockRequeued, {id, 0, 1}) == received + bench.config.retransmit_processing);
    const Time again = received + bench.config.retransmit_processing + bench.config.block_scheduling;
    CHECK(bench.at(step::kBlockScheduled, {id, 0, 1}) == again);
    // From there on it goes as if nothing had happened.
    CHECK(bench.at(step::kNotified, {id, 0, 0}) == again + (clean.notified - clean.blocks[0].scheduled));
    CHECK(arrived_whole(bench, 4096));
  }
}

TEST_CASE("a fault's record is in the FIFO so many cycles after the error response, at either end") {
  exanest::EngineConfig config;
  config.fault_logging = 333;
  DmaBench destination(config, 16, "destination"), source(config, 16, "source");
  for (DmaBench* bench : {&destination, &source}) {
    const bool at_source = bench == &source;
    const sim::NodeId node = at_source ? 0 : 1;
    bench->set_up();
    bench->memory[node]->missing = {at_source ? kSource / sim::kPageBytes : kPageAt};
    const Prediction clean = predict(*bench, {kSource, kDestination, 64}, bench->now());
    const auto id = bench->post(0, {kSource, kDestination, 64});
    const Time logged =
        (at_source ? clean.cells[0].back : clean.cells[0].written) + sim::Frequency{150'000'000}.cycles(333);
    bench->run(logged - bench->now() - Time{1});
    CHECK(bench->privileged_read(node, exanest::reg::kFaultCount) == 0);
    bench->run(Time{2});
    CHECK(bench->privileged_read(node, exanest::reg::kFaultCount) == 1);
    CHECK(bench->at(step::kFaultLogged, {id, 0, 0}) == logged);
  }
}

TEST_CASE("a block that faults again and again ends its transfer after so many retransmissions") {
  exanest::EngineConfig config;
  config.refault_limit = 3;
  DmaBench destination(config, 16, "destination"), source(config, 16, "source");
  for (DmaBench* bench : {&destination, &source}) {
    const bool at_source = bench == &source;
    bench->set_up();
    bench->resolve_after = 20us;
    bench->pages_appear = false;
    bench->memory[at_source ? 0 : 1]->missing = {at_source ? kSource / sim::kPageBytes : kPageAt};
    const auto id = bench->post(0, {kSource, kDestination, 64, 1, 8});
    REQUIRE(bench->run_to_notification(0));
    CHECK(bench->memory[0]->word(DmaBench::kNotify) == (8 << 8 | exanest::reg::kNotifyError));
    for (std::uint32_t attempt = 0; attempt < 3; ++attempt) {
      CHECK(bench->at(step::kBlockRequeued, {id, 0, attempt + 1}) ==
            bench->at(step::kRetryReceived, {id, 0, attempt}) + config.retransmit_processing);
    }
    // The fourth request ends it instead.
    CHECK(bench->at(step::kBlockRequeued, {id, 0, 4}) == sim::kNever);
    CHECK(bench->at(step::kNotified, {id, 0, 0}) == bench->at(step::kRetryReceived, {id, 0, 3}) +
                                                        config.retransmit_processing + bench->memory[0]->service +
                                                        bench->memory[0]->write_latency);
    CHECK(bench->counted(0, "dma.blocks_sent") == 4);
    CHECK(bench->counted(0, "dma.failed_transfers") == 1);
    CHECK(bench->counted(0, "dma.refault_failures") == 1);
    CHECK(bench->counted(0, "dma.timeouts") == 0);
  }
}

TEST_CASE("as many faults of one block as may be requested again, and another block's, end no transfer") {
  exanest::EngineConfig config;
  config.refault_limit = 3;
  DmaBench bench(config);
  bench.set_up();
  bench.resolve_after = 20us;
  bench.memory[0]->fill(kSource, 32768, 1);
  for (std::uint64_t page = 0; page < 3; ++page) bench.memory[1]->missing.insert({kPageAt + page, kPageAt + 4 + page});
  bench.post(0, {kSource, kDestination, 32768});
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench, 32768));
  CHECK(bench.counted(0, "dma.retransmitted_blocks") == 6);
  CHECK(bench.counted(0, "dma.failed_transfers") == 0);
}

TEST_CASE("a read fault ends the block's reads and its record says so") {
  DmaBench bench;
  bench.set_up();
  bench.memory[0]->fill(kSource, 16384, 1);
  bench.memory[0]->missing = {kSource / sim::kPageBytes + 1};
  const auto id = bench.post(0, {kSource, kDestination, 16384});
  bench.run(500us);
  for (const auto& a : bench.memory[0]->accesses) {
    if (!a.write) CHECK(a.address < kSource + 0x2000);
  }
  REQUIRE(bench.privileged_read(0, exanest::reg::kFaultCount) == 1);
  CHECK(bench.privileged_read(0, exanest::reg::kFaultWord0) == (kSource + 0x1000) + exanest::reg::kFaultAtSource);
  CHECK(bench.privileged_read(0, exanest::reg::kFaultWord1) == DmaBench::pdid_of(0));
  CHECK(bench.privileged_read(0, exanest::reg::kFaultWord2) == id);
  // The first page's 16 cells had gone out.
  CHECK(bench.memory[1]->read(kDestination, 4096) == bench.memory[0]->read(kSource, 4096));
  CHECK(bench.memory[1]->read(kDestination + 4096, 4096) == sim::Content::zeros(4096));
}

TEST_CASE("all pages cold at both ends: every block arrives in the end") {
  DmaBench bench;
  bench.set_up();
  bench.resolve_after = 25us;
  bench.memory[0]->fill(kSource, 65536, 1);
  for (std::uint64_t p = 0; p < 16; ++p) {
    bench.memory[0]->missing.insert(kSource / sim::kPageBytes + p);
    bench.memory[1]->missing.insert(kPageAt + p);
  }
  bench.post(0, {kSource, kDestination, 65536});
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench, 65536));
  CHECK(bench.counted(0, "dma.source_faults") == 16);
  CHECK(bench.counted(1, "dma.destination_faults") == 16);
  CHECK(bench.counted(0, "dma.timeouts") == 0);
}

TEST_CASE("a fault on the notification word or a mailbox slot is tried again after a timeout") {
  DmaBench bench;
  bench.set_up();
  bench.memory[0]->missing = {DmaBench::kNotify / sim::kPageBytes};
  const auto id = bench.post(0, {kSource, kDestination, 64});
  bench.run(100us);
  CHECK(bench.counted(0, "dma.control_write_faults") == 1);
  CHECK(bench.all(step::kNotified).empty());
  bench.memory[0]->missing.clear();
  const Time failed =
      bench.at(step::kBlockAcknowledged, {id, 0, 0}) + bench.memory[0]->service + bench.memory[0]->write_latency;
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.at(step::kNotified, {id, 0, 0}) ==
        failed + bench.config.block_timeout + bench.memory[0]->service + bench.memory[0]->write_latency);
}
