// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/nic/exanest/steps.hpp"
#include "tests/support/dma_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using network::PacketHeader;
using network::PacketKind;
namespace step = exanest::step;

namespace {

constexpr std::uint64_t kRemote = 0x200000;
constexpr std::uint64_t kLocal = 0x500000;
constexpr std::uint64_t kBytes = 40000;
const DmaPost kRead{kRemote, kLocal, kBytes, 1, 5, exanest::reg::kCommandRead};

bool arrived_whole(DmaBench& bench) {
  return bench.memory[0]->read(kLocal, kBytes) == bench.memory[1]->read(kRemote, kBytes);
}

// Loses the n-th firmware message with this operation.
auto lose_one(std::uint64_t operation, int n) {
  return [operation, n](const PacketHeader& h) mutable {
    return h.kind == PacketKind::firmware && h.words[0] == operation && n-- == 0;
  };
}

}  // namespace

TEST_CASE("a read is the peer's write under the initiator's transfer id, framed by a request and an answer") {
  DmaBench bench;
  bench.set_up();
  bench.memory[1]->fill(kRemote, kBytes, 8);
  const exanest::EngineConfig& c = bench.config;
  const Time posted = bench.now();
  const auto id = bench.post(0, kRead);
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench));
  CHECK(bench.memory[0]->word(DmaBench::kNotify) == (5 << 8 | exanest::reg::kNotifyDone));

  const Time pipelines = 2 * c.clock.cycles(c.message_pipeline);
  const Time asked = posted + c.transfer_startup;
  const Time at_peer = asked + pipelines + bench.fabric->cell_time(48) + bench.fabric->latency;
  CHECK(bench.at(step::kBlockScheduled, {id, 0, 0}) ==
        at_peer + c.message_processing + c.transfer_startup + c.block_scheduling);
  const Time acknowledged = bench.at(step::kBlockAcknowledged, {id, 2, 0});
  const Time answered =
      acknowledged + c.message_processing + pipelines + bench.fabric->cell_time(24) + bench.fabric->latency;
  CHECK(bench.at(step::kNotified, {id, 0, 0}) ==
        answered + c.message_processing + bench.memory[0]->service + bench.memory[0]->write_latency);
}

TEST_CASE("a read meets faults at both ends and gets over them") {
  DmaBench bench;
  bench.set_up();
  bench.resolve_after = 25us;
  bench.memory[1]->fill(kRemote, kBytes, 8);
  bench.memory[1]->missing = {kRemote / sim::kPageBytes + 1};
  bench.memory[0]->missing = {kLocal / sim::kPageBytes + 5};
  bench.post(0, kRead);
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench));
  CHECK(bench.counted(1, "dma.source_faults") == 1);
  CHECK(bench.counted(0, "dma.destination_faults") == 1);
  CHECK(bench.counted(1, "dma.timeouts") == 0);
}

TEST_CASE("a lost read request is sent again after one timeout") {
  DmaBench bench;
  bench.set_up();
  bench.memory[1]->fill(kRemote, kBytes, 8);
  bench.fabric->loses = lose_one(exanest::reg::kReadRequest, 0);
  const Time posted = bench.now();
  const auto id = bench.post(0, kRead);
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench));
  CHECK(bench.at(step::kTimedOut, {id, 0, 0}) == posted + bench.config.transfer_startup + bench.config.block_timeout);
  CHECK(bench.counted(0, "dma.read_request_timeouts") == 1);
}

TEST_CASE("a lost answer is given again when the request is repeated, without moving the data again") {
  DmaBench bench;
  bench.set_up();
  bench.memory[1]->fill(kRemote, kBytes, 8);
  bench.fabric->loses = lose_one(exanest::reg::kReadDone, 0);
  bench.post(0, kRead);
  REQUIRE(bench.run_to_notification(0));
  CHECK(arrived_whole(bench));
  CHECK(bench.counted(1, "dma.blocks_sent") == 3);
}

TEST_CASE("a read that takes longer than its timeouts is not given up while its server works") {
  exanest::EngineConfig config;
  config.block_timeout = 60us;
  config.retry_limit = 2;
  DmaBench bench(config);
  bench.set_up();
  const std::uint64_t bytes = 1 << 20;
  bench.memory[1]->fill(kRemote, bytes, 8);
  bench.post(0, {kRemote, kLocal, bytes, 1, 5, exanest::reg::kCommandRead});
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.memory[0]->word(DmaBench::kNotify) == (5 << 8 | exanest::reg::kNotifyDone));
  CHECK(bench.counted(0, "dma.read_request_timeouts") > 2);
  CHECK(bench.counted(1, "dma.blocks_sent") == 64);
}

TEST_CASE("a read from a node that never answers ends with an error") {
  exanest::EngineConfig config;
  config.block_timeout = 60us;
  config.retry_limit = 2;
  DmaBench bench(config);
  bench.set_up();
  bench.fabric->loses = [](const PacketHeader& h) { return h.kind == PacketKind::firmware; };
  bench.post(0, kRead);
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.memory[0]->word(DmaBench::kNotify) == (5 << 8 | exanest::reg::kNotifyError));
}

TEST_CASE("an abort ends a write at its source and a read at its server, each with an error notification") {
  DmaBench bench;
  bench.set_up();
  bench.memory[1]->missing = {kLocal / sim::kPageBytes, kRemote / sim::kPageBytes};
  const auto write = bench.post(0, {kRemote, kLocal, kBytes, 1, 6});
  bench.run(20us);
  bench.send(1, 0, exanest::reg::kMessageToNic, {exanest::reg::kAbort, write});
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.memory[0]->word(DmaBench::kNotify) == (6 << 8 | exanest::reg::kNotifyError));
  const auto read = bench.post(0, kRead);
  bench.run(20us);
  bench.send(1, 1, exanest::reg::kMessageToNic, {exanest::reg::kAbort, read});
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.memory[0]->word(DmaBench::kNotify) == (5 << 8 | exanest::reg::kNotifyError));
  CHECK(bench.counted(0, "dma.failed_transfers") == 2);
  CHECK(bench.counted(1, "dma.failed_transfers") == 1);
  // Nothing of them is left: no timeout comes.
  bench.run(5ms);
  CHECK(bench.counted(0, "dma.timeouts") + bench.counted(1, "dma.timeouts") == 0);
}
