// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/nic/exanest/steps.hpp"
#include "tests/support/dma_bench.hpp"

using namespace faultline;
using namespace faultline::test;
namespace step = exanest::step;
using sim::Step;

namespace {

std::uint64_t header_of(DmaBench& bench, sim::NodeId node, std::uint64_t slot) {
  return bench.memory[node]->word(DmaBench::kRing + slot * exanest::reg::kSlotBytes + exanest::reg::kSlotHeader);
}

// From the command register to the write of the slot.
Time travel(const DmaBench& bench, std::uint32_t words) {
  return 2 * bench.config.clock.cycles(bench.config.message_pipeline) + bench.fabric->cell_time(8 * words) +
         bench.fabric->latency;
}

}  // namespace

TEST_CASE("a message to a user is written into the next ring slot, with a valid header") {
  DmaBench bench;
  bench.set_up();
  const Time sent = bench.now();
  bench.send(0, 1, exanest::reg::kMessageToUser, {11, 22, 33});
  bench.run(10us);
  REQUIRE(bench.memory[1]->accesses.size() == 1);
  const auto& access = bench.memory[1]->accesses[0];
  CHECK(access.times.front() == sent + travel(bench, 3));
  CHECK(access.address == DmaBench::kRing);
  CHECK(access.master_id == (0b1000u << 6 | DmaBench::pdid_of(1)));
  CHECK(bench.memory[1]->word(DmaBench::kRing + 8) == 22);
  CHECK(header_of(bench, 1, 0) == (std::uint64_t{3} << 56 | 1));
  bench.send(0, 1, exanest::reg::kMessageToUser, {1, 2, 3, 4, 5, 6, 7});
  bench.run(10us);
  CHECK(header_of(bench, 1, 1) == (std::uint64_t{7} << 56 | 2));
  CHECK(bench.memory[1]->word(DmaBench::kRing + 64 + 48) == 7);
}

TEST_CASE("the steps of messages to users are reported when they happen") {
  exanest::EngineConfig config;
  config.neighbours.router_cells = 1;
  DmaBench bench(config);
  bench.set_up();
  const Time sent = bench.now();
  bench.send(0, 1, exanest::reg::kMessageToUser, {1, 2, 3});
  bench.send(0, 1, exanest::reg::kMessageToUser, {4});
  bench.run(10us);
  const Time pipeline = bench.config.clock.cycles(bench.config.message_pipeline);
  // The second one waits until the first has left its slot of the router.
  const Time injected[] = {sent + pipeline, sent + pipeline + bench.fabric->cell_time(24)};
  const Time arrived[] = {injected[1] + bench.fabric->latency,
                          injected[1] + bench.fabric->cell_time(8) + bench.fabric->latency};
  const auto check = [&](Step step, sim::NodeId node, Time first, Time second) {
    const auto steps = bench.all(step);
    REQUIRE(steps.size() == 2);
    CHECK(steps[0].at == first);
    CHECK(steps[1].at == second);
    for (const auto& s : steps) {
      CHECK(s.node == node);
      CHECK(s.key == sim::PartKey{});
    }
  };
  check(step::kMessagePosted, 0, sent, sent);
  check(step::kMessageInjected, 0, injected[0], injected[1]);
  check(step::kMessageArrived, 1, arrived[0], arrived[1]);
  check(step::kMessageDelivered, 1, arrived[0] + pipeline, arrived[1] + pipeline);
  REQUIRE(bench.memory[1]->accesses.size() == 2);
  CHECK(bench.memory[1]->accesses[0].times.front() == arrived[0] + pipeline);
  CHECK(bench.memory[1]->accesses[1].times.front() == arrived[1] + pipeline);

  bench.steps.clear();
  bench.send(0, 1, exanest::reg::kMessageToNic, {exanest::reg::kRetransmit, 1, 0});
  bench.send(0, 1, exanest::reg::kMessageToUser, {});  // dropped before it goes
  bench.run(10us);
  CHECK(bench.steps.size() == 1);
  CHECK(bench.all(step::kRetryReceived).size() == 1);
}

TEST_CASE("a full ring drops messages until its owner has consumed some") {
  DmaBench bench;
  bench.set_up();
  for (std::uint64_t i = 0; i < DmaBench::kSlots + 2; ++i) {
    bench.send(0, 1, exanest::reg::kMessageToUser, {i});
    bench.run(2us);
  }
  CHECK(bench.counted(1, "dma.messages_received") == DmaBench::kSlots);
  CHECK(bench.counted(1, "dma.messages_dropped") == 2);
  bench.mmio[1]->write(exanest::reg::kMailboxHead, 1);
  bench.send(0, 1, exanest::reg::kMessageToUser, {99});
  bench.run(2us);
  CHECK(bench.memory[1]->word(DmaBench::kRing) == 99);
  CHECK((header_of(bench, 1, 0) & UINT32_MAX) == DmaBench::kSlots + 1);
}

TEST_CASE("messages without a legal length or a ring are dropped and counted") {
  DmaBench bench;
  bench.set_up();
  bench.send(0, 1, exanest::reg::kMessageToUser, {1, 2, 3, 4, 5, 6, 7, 8});  // leaves no room for the header
  bench.send(0, 1, exanest::reg::kMessageToUser, {});
  bench.privileged_write(1, exanest::reg::kChannelSelect, 0);
  bench.privileged_write(1, exanest::reg::kChannelMailbox, 0);
  bench.send(0, 1, exanest::reg::kMessageToUser, {1});
  bench.run(10us);
  CHECK(bench.counted(0, "dma.messages_dropped") + bench.counted(1, "dma.messages_dropped") == 3);
  CHECK(bench.memory[1]->accesses.empty());
}

TEST_CASE("a message to the own node crosses no network") {
  DmaBench bench;
  bench.set_up();
  bench.fabric->loses = [](const auto&) { return true; };
  const Time sent = bench.now();
  bench.send(0, 0, exanest::reg::kMessageToUser, {5});
  bench.run(10us);
  REQUIRE(bench.memory[0]->accesses.size() == 1);
  const Time pipeline = bench.config.clock.cycles(bench.config.message_pipeline);
  CHECK(bench.memory[0]->accesses[0].times.front() == sent + 2 * pipeline);
  REQUIRE(bench.steps.size() == 4);
  CHECK(bench.at(step::kMessagePosted, {}) == sent);
  CHECK(bench.at(step::kMessageInjected, {}) == sent + pipeline);
  CHECK(bench.at(step::kMessageArrived, {}) == sent + pipeline);
  CHECK(bench.at(step::kMessageDelivered, {}) == sent + 2 * pipeline);
}

TEST_CASE("a mailbox slot whose page is missing is written after a timeout") {
  DmaBench bench;
  bench.set_up();
  bench.memory[1]->missing = {DmaBench::kRing / sim::kPageBytes};
  const Time sent = bench.now();
  bench.send(0, 1, exanest::reg::kMessageToUser, {5});
  bench.run(10us);
  bench.memory[1]->missing.clear();
  bench.run(bench.config.block_timeout);
  const Time first = sent + travel(bench, 1);
  const Time failed = first + bench.memory[1]->service + bench.memory[1]->write_latency;
  REQUIRE(bench.memory[1]->accesses.size() == 2);
  CHECK(bench.memory[1]->accesses[0].times.front() == first);
  CHECK(bench.memory[1]->accesses[1].times.front() == failed + bench.config.block_timeout);
  CHECK(bench.memory[1]->word(DmaBench::kRing) == 5);
}

TEST_CASE("the R5's mailbox is bounded") {
  exanest::EngineConfig config;
  config.firmware_mailbox = 2;
  DmaBench bench(config);
  bench.set_up();
  for (int i = 0; i < 5; ++i) bench.send(0, 1, exanest::reg::kMessageToNic, {exanest::reg::kRetransmit, 1, 0});
  bench.run(100us);
  // One is being processed, two wait.
  CHECK(bench.counted(1, "dma.firmware_messages") == 3);
  CHECK(bench.counted(1, "dma.firmware_overflows") == 2);
}
