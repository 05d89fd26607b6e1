// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/nic/exanest/steps.hpp"
#include "tests/nic/exanest/prediction.hpp"

using namespace faultline;
using namespace faultline::test;
using network::PacketHeader;
using network::PacketKind;
namespace step = exanest::step;

namespace {

// One faulted block whose retransmission request does not reach the firmware.
void check_recovered_by_timeout(DmaBench& bench) {
  bench.set_up();
  bench.resolve_after = 30us;
  bench.memory[0]->fill(kSource, 4096, 1);
  bench.memory[1]->missing = {kDestination / sim::kPageBytes};
  const auto id = bench.post(0, {kSource, kDestination, 4096});
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench, 4096));
  const Time expired = bench.at(step::kBlockScheduled, {id, 0, 0}) + bench.config.block_timeout;
  CHECK(bench.at(step::kTimedOut, {id, 0, 0}) == expired);
  CHECK(bench.at(step::kBlockRequeued, {id, 0, 1}) == expired);
  CHECK(bench.at(step::kBlockScheduled, {id, 0, 1}) == expired + bench.config.block_scheduling);
  CHECK(bench.counted(0, "dma.timeouts") == 1);
  CHECK(bench.all(step::kRetryReceived).empty());
}

}  // namespace

TEST_CASE("a retransmission request that the network loses is made good by the timeout, to the picosecond") {
  exanest::EngineConfig config;
  config.block_timeout = 77us + Time{1};
  DmaBench bench(config);
  bench.fabric->loses = [](const PacketHeader& h) { return h.kind == PacketKind::firmware; };
  check_recovered_by_timeout(bench);
}

TEST_CASE("with retransmission requests disabled the timeout does the work") {
  exanest::EngineConfig config;
  config.rapf_enabled = false;
  DmaBench bench(config);
  check_recovered_by_timeout(bench);
  CHECK(bench.counted(0, "dma.rapf_ignored") == 1);
}

TEST_CASE("with all retransmission requests lost by configuration the timeout does the work") {
  exanest::EngineConfig config;
  config.rapf_loss = 1.0;
  DmaBench bench(config);
  check_recovered_by_timeout(bench);
  CHECK(bench.counted(0, "dma.rapf_lost") == 1);
}

TEST_CASE("a full fault FIFO drops records and loses no block") {
  exanest::EngineConfig config;
  config.fault_fifo = 1;
  DmaBench bench(config);
  bench.set_up();
  bench.resolve_after = 60us;
  bench.memory[0]->fill(kSource, 65536, 1);
  for (std::uint64_t block = 0; block < 4; ++block)
    bench.memory[1]->missing.insert(kDestination / sim::kPageBytes + 4 * block);
  bench.post(0, {kSource, kDestination, 65536});
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench, 65536));
  // Each round of timeouts resolves one page: four blocks fault, then three, two, one.
  CHECK(bench.counted(1, "dma.fault_records") == 4);
  CHECK(bench.counted(1, "dma.fault_overflows") == 3 + 2 + 1);
  CHECK(bench.counted(0, "dma.timeouts") == 3 + 2 + 1);
}

TEST_CASE("the receive unit counts the unfinished transfers that it forgets, and they recover") {
  exanest::EngineConfig config;
  config.completed_transfers = 1;
  DmaBench bench(config);
  bench.set_up();
  bench.memory[0]->fill(kSource, 4096, 1);
  bench.memory[1]->missing = {kDestination / sim::kPageBytes};
  const auto id = bench.post(0, {kSource, kDestination, 4096});
  bench.run(20us);
  CHECK(bench.counted(1, "dma.evicted_records") == 0);
  // The first of these drives out a transfer with a block under way, the second one that is complete.
  for (int i = 0; i < 2; ++i) {
    bench.post(0, {kSource, kDestination + 0x10000, 64, 1, 1, exanest::reg::kCommandWrite, 1});
    REQUIRE(bench.run_to_notification(0));
    CHECK(bench.counted(1, "dma.evicted_records") == 1);
  }
  bench.memory[1]->missing.clear();
  bench.send(1, 0, exanest::reg::kMessageToNic, {exanest::reg::kRetransmit, id, 0});
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench, 4096));
  CHECK(bench.counted(1, "dma.evicted_records") == 1);
}

TEST_CASE("a lost acknowledgement costs a timeout and the copy is recognised, dropped and acknowledged again") {
  DmaBench bench;
  bench.set_up();
  int lost = 0;
  bench.fabric->loses = [&lost](const PacketHeader& h) { return h.kind == PacketKind::acknowledge && lost++ == 0; };
  bench.memory[0]->fill(kSource, 16384, 1);
  const auto id = bench.post(0, {kSource, kDestination, 16384});
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.counted(1, "dma.duplicate_blocks") == 1);
  CHECK(bench.counted(1, "dma.duplicate_cells") == 64);
  CHECK(bench.counted(1, "dma.acknowledgements_sent") == 2);
  CHECK(bench.at(step::kBlockAcknowledged, {id, 0, 1}) != sim::kNever);
  std::uint32_t written = 0;
  for (const auto& a : bench.memory[1]->accesses) written += a.cells;
  CHECK(written == 64);
}

TEST_CASE("without acknowledgements a transfer stops at its outstanding blocks, and ends at the retry limit") {
  exanest::EngineConfig config;
  config.block_timeout = 200us;
  config.retry_limit = 2;
  DmaBench bench(config);
  bench.set_up();
  bench.fabric->loses = [](const PacketHeader& h) { return h.kind == PacketKind::acknowledge; };
  const auto id = bench.post(0, {kSource, kDestination, 20 * 16384, 1, 77});
  bench.run(190us);
  CHECK(bench.all(step::kBlockScheduled).size() == config.outstanding_blocks);
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.memory[0]->word(DmaBench::kNotify) == (77 << 8 | exanest::reg::kNotifyError));
  const Time second = bench.at(step::kBlockScheduled, {id, 0, 2});
  CHECK(bench.at(step::kTimedOut, {id, 0, 2}) == second + config.block_timeout);
  CHECK(bench.at(step::kBlockScheduled, {id, 0, 3}) == sim::kNever);
}

TEST_CASE("a retransmission request for an old attempt or a finished block is ignored") {
  DmaBench bench;
  bench.set_up();
  bench.memory[1]->missing = {kDestination / sim::kPageBytes};
  const auto id = bench.post(0, {kSource, kDestination, 4096});
  bench.run(20us);
  const auto request = [&](std::uint64_t block, std::uint64_t attempt) {
    bench.send(1, 0, exanest::reg::kMessageToNic, {exanest::reg::kRetransmit, id, block | attempt << 32});
  };
  request(0, 1);  // of the future
  request(3, 0);  // no such block
  bench.run(20us);
  CHECK(bench.counted(0, "dma.rapf_stale") == 2);
  bench.memory[1]->missing.clear();
  request(0, 0);
  request(0, 0);  // the second one is of an old attempt, or of a finished block
  REQUIRE(bench.run_to_notification(0));
  request(0, 1);
  bench.run(20us);
  CHECK(bench.counted(0, "dma.rapf_stale") == 4);
  CHECK(bench.counted(0, "dma.retransmitted_blocks") == 1);
}

TEST_CASE("requests for blocks that may not have faulted do not count towards the limit") {
  exanest::EngineConfig config;
  config.refault_limit = 1;
  DmaBench bench(config);
  bench.set_up();
  bench.memory[1]->missing = {kDestination / sim::kPageBytes};
  const auto id = bench.post(0, {kSource, kDestination, 4096, 1, 8});
  const auto request = [&](std::uint64_t operation, std::uint64_t attempt) {
    bench.run(20us);
    bench.send(1, 0, exanest::reg::kMessageToNic, {operation, id, attempt << 32});
  };
  for (std::uint64_t attempt = 0; attempt < 3; ++attempt) request(exanest::reg::kResend, attempt);
  request(exanest::reg::kRetransmit, 3);
  request(exanest::reg::kResend, 4);
  bench.run(20us);
  CHECK(bench.counted(0, "dma.failed_transfers") == 0);
  CHECK(bench.counted(0, "dma.retransmitted_blocks") == 5);
  request(exanest::reg::kRetransmit, 5);
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.memory[0]->word(DmaBench::kNotify) == (8 << 8 | exanest::reg::kNotifyError));
  CHECK(bench.counted(0, "dma.refault_failures") == 1);
  CHECK(bench.counted(0, "dma.timeouts") == 0);
}

TEST_CASE("a timeout shorter than the way there and back resends, and the copies do no harm") {
  exanest::EngineConfig config;
  config.block_timeout = 2us;
  config.retry_limit = 0;
  DmaBench bench(config);
  bench.set_up();
  bench.memory[0]->fill(kSource, 65536, 9);
  bench.post(0, {kSource, kDestination, 65536});
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench, 65536));
  CHECK(bench.counted(0, "dma.timeouts") > 0);
  bench.run(1ms);
  CHECK(bench.counted(0, "dma.acknowledgements") == 4);
  CHECK(arrived_whole(bench, 65536));
}
