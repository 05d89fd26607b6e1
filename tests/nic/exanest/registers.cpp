// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/nic/exanest/steps.hpp"
#include "models/nic/path/tracks.hpp"
#include "tests/support/dma_bench.hpp"
#include "tests/support/levels.hpp"

using namespace faultline;
using namespace faultline::test;

TEST_CASE("a full channel refuses posts until a transfer of it has ended") {
  exanest::EngineConfig config;
  config.channel_queue = 2;
  DmaBench bench(config);
  bench.set_up();
  const DmaPost post{0x100000, 0x400000, 64};
  CHECK(bench.post(0, post) == 1);
  CHECK(bench.post(0, post) == 2);
  CHECK(bench.post(0, post) == 0);
  CHECK(bench.counted(0, "dma.refused_posts") == 1);
  DmaPost other = post;
  other.channel = 1;
  CHECK(bench.post(0, other) == 3);
  bench.run(100us);
  CHECK(bench.all(exanest::step::kNotified).size() == 3);
  CHECK(bench.post(0, post) == 4);
}

TEST_CASE("the receive unit tells how many trains it has") {
  DmaBench bench;
  bench.set_up();
  const Levels levels(bench.trace, exanest::track::kReceiveQueue, 1);
  bench.post(0, {0x100000, 0x400000, 64});
  bench.run(100us);
  CHECK(levels.told == std::vector<std::uint64_t>{1, 0});
}

TEST_CASE("channels take turns, and the one behind the first begins") {
  DmaBench bench;
  bench.set_up();
  DmaPost post{0x100000, 0x400000, 64};
  const std::uint64_t of_first = bench.post(0, post);
  post.channel = 1;
  const std::uint64_t of_second = bench.post(0, post);
  bench.run(100us);
  std::vector<std::uint64_t> started;
  for (const auto& step : bench.all(exanest::step::kTransferStarted)) started.push_back(step.key.transfer);
  CHECK(started == std::vector<std::uint64_t>{of_second, of_first});
}

TEST_CASE("a transfer without a notification address ends without a word, and its place in the channel is free") {
  exanest::EngineConfig config;
  config.channel_queue = 1;
  DmaBench bench(config);
  bench.set_up();
  DmaPost post{0x100000, 0x400000, 64};
  post.notify = false;
  CHECK(bench.post(0, post) == 1);
  bench.run(100us);
  CHECK(bench.counted(0, "dma.notifications") == 0);
  CHECK(bench.counted(0, "dma.notifications_lost") == 0);
  CHECK(bench.post(0, post) == 2);
}

TEST_CASE("malformed descriptors and channels without an owner are refused") {
  DmaBench bench;
  bench.set_up();
  const DmaPost good{0x100000, 0x400000, 64};
  DmaPost bad = good;
  bad.length = 0;
  CHECK(bench.post(0, bad) == 0);
  bad.length = (std::uint64_t{4} << 30) + 1;
  CHECK(bench.post(0, bad) == 0);
  bad = good;
  bad.command = 9;
  CHECK(bench.post(0, bad) == 0);
  bad = good;
  bad.source = UINT64_MAX - 3;
  CHECK(bench.post(0, bad) == 0);
  bad = good;
  bad.channel = 5;
  CHECK(bench.post(0, bad) == 0);
  CHECK(bench.post(0, good) == 1);
}

TEST_CASE("a PDID that does not fit an AXI ID is refused wherever software can say one") {
  DmaBench bench;
  bench.set_up();
  constexpr std::uint32_t kAlias = 64 + DmaBench::pdid_of(1);  // of node 1's process, were it cut to six bits
  DmaPost post{0x100000, 0x400000, 64};
  post.peer_pdid = kAlias;
  CHECK(bench.post(0, post) == 0);
  post.peer_pdid = 64;
  CHECK(bench.post(0, post) == 0);
  CHECK(bench.counted(0, "dma.refused_posts") == 2);
  post.peer_pdid = 63;
  CHECK(bench.post(0, post) == 1);

  const auto read_request = [&](std::uint64_t initiator_pdid, std::uint64_t data_pdid) {
    bench.send(0, 1, exanest::reg::kMessageToNic,
               {exanest::reg::kReadRequest, 1000, 0x100000, 0x400000, 64, initiator_pdid << 32 | data_pdid << 48});
    bench.run(50us);
  };
  read_request(kAlias, DmaBench::pdid_of(1));
  read_request(DmaBench::pdid_of(0), kAlias);
  CHECK(bench.counted(1, "dma.refused_reads") == 2);
  CHECK(bench.counted(1, "dma.blocks_sent") == 0);

  bench.mmio[0]->write(exanest::reg::kMessageSend,
                       std::uint64_t{1} | std::uint64_t{kAlias} << 32 | std::uint64_t{1} << 48);
  bench.run(50us);
  CHECK(bench.counted(1, "dma.messages_dropped") == 1);
  CHECK(bench.counted(1, "dma.messages_received") == 0);

  // The channel keeps its owner.
  CHECK_FALSE(bench.mmio[0]->write(bench.privileged() + exanest::reg::kChannelPdid, kAlias));
  CHECK_FALSE(bench.mmio[0]->write(bench.privileged() + exanest::reg::kChannelPdid, exanest::reg::kPdids));
  post.peer_pdid = DmaBench::pdid_of(1);
  CHECK(bench.post(0, post) == 2);
  bench.run(50us);
  for (const auto& a : bench.memory[0]->accesses) CHECK(a.master_id == exanest::hpc0_master_id(DmaBench::pdid_of(0)));
  REQUIRE(bench.memory[1]->accesses.size() == 2);
  CHECK(bench.memory[1]->accesses[0].master_id == 0b1000'111111);
  CHECK(bench.memory[1]->accesses[1].master_id == 0b1000'001011);
}

TEST_CASE("data cells of a PDID that does not fit an AXI ID are dropped and counted, and leave the buffer") {
  exanest::EngineConfig config;
  config.receive_buffer = 16;
  DmaBench bench(config);
  bench.set_up();
  bench.memory[0]->fill(0x100000, 4096, 1);
  bench.fabric->alters = [](network::PacketHeader& h) { h.pdid += 64; };
  bench.post(0, {0x100000, 0x400000, 4096});
  bench.run(500us);
  CHECK(bench.memory[1]->accesses.empty());
  CHECK(bench.counted(1, "dma.foreign_cells") == 16);
  CHECK(bench.counted(1, "dma.dropped_bytes") == 4096);
  CHECK(bench.counted(1, "dma.acknowledgements_sent") == 0);
  // The copy needs every slot of the buffer.
  bench.fabric->alters = [](auto&) {};
  REQUIRE(bench.run_to_notification(0));
  CHECK(bench.counted(0, "dma.timeouts") == 1);
  CHECK(bench.memory[1]->read(0x400000, 4096) == bench.memory[0]->read(0x100000, 4096));
  CHECK(bench.payloads.in_use() <= DmaBench::kKeptPayloads);
}

TEST_CASE("accesses that meet no register get an error response") {
  DmaBench bench;
  bench.set_up();
  std::uint64_t value = 0;
  MmioMaster& m = *bench.mmio[0];
  CHECK_FALSE(m.access(tlm::TLM_READ_COMMAND, exanest::reg::kSource, value));
  CHECK_FALSE(m.access(tlm::TLM_WRITE_COMMAND, exanest::reg::kStatus, value));
  CHECK_FALSE(m.access(tlm::TLM_WRITE_COMMAND, 0xb0, value));
  CHECK_FALSE(m.access(tlm::TLM_READ_COMMAND, bench.engine[0]->register_bytes(), value));
  CHECK_FALSE(m.access(tlm::TLM_WRITE_COMMAND, bench.engine[0]->register_bytes(), value));
  CHECK_FALSE(m.access(tlm::TLM_READ_COMMAND, exanest::reg::kStatus, value, 4));
  CHECK_FALSE(m.access(tlm::TLM_READ_COMMAND, exanest::reg::kStatus + 4, value));
  CHECK(m.access(tlm::TLM_READ_COMMAND, exanest::reg::kStatus, value));
  bench.privileged_write(0, exanest::reg::kChannelSelect, 1000);
  CHECK_FALSE(m.access(tlm::TLM_WRITE_COMMAND, bench.privileged() + exanest::reg::kChannelPdid, value));
}

TEST_CASE("every parameter of the engine is declared once") {
  exanest::EngineConfig config;
  sim::ParameterTable table;
  config.declare(table);
  CHECK(table.find("exanest.block_bytes") != nullptr);
  CHECK(table.find("exanest.rapf_loss") != nullptr);
  // Copied from the AXI port's by whoever wires the engine.
  CHECK(table.find("dma.clock") == nullptr);
  for (const auto& p : table.all()) {
    CHECK_FALSE(p.doc.meaning.empty());
    if (p.doc.standing != sim::Standing::setting) CHECK_FALSE(p.doc.source.empty());
    CHECK_NOTHROW(p.set(p.get().find_first_not_of("0123456789") == std::string::npos
                            ? sim::ParameterValue(static_cast<std::int64_t>(std::stoll(p.get())))
                        : p.get() == "true" || p.get() == "false" ? sim::ParameterValue(p.get() == "true")
                                                                  : sim::ParameterValue(p.get())));
  }
}
