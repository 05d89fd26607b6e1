// SPDX-License-Identifier: Apache-2.0
#include "models/soc/ddr.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <vector>

#include "tests/soc/ddr_bench.hpp"
#include "tests/support/parameter_source.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace std::chrono_literals;
using sim::Content;
using sim::Time;
using sim::TimeSequence;
using soc::DdrConfig;
using soc::DdrController;

namespace {

// Watches a frame and writes down when it is told.
struct Watcher {
  Watcher(Bench& bench, std::uint64_t frame) : written(bench.node.loop) {
    bench.ddr.watch(frame, written);
    tasks.start(note(*this, bench.node));
  }
  static sim::Task<void> note(Watcher& self, const test::Node& node) {
    while (true) {
      co_await self.written;
      self.told.push_back(node.now());
    }
  }
  sim::Signal written;
  std::vector<Time> told;
  sim::TaskGroup tasks;
};

}  // namespace

TEST_CASE("DDR: the effective bandwidth is peak times efficiency") {
  CHECK(DdrConfig{}.effective_bandwidth() == sim::ByteRate{14'400'000'000});
  // In whole parts per million, whatever a double makes of them.
  DdrConfig tenths;
  for (int tenth = 1; tenth <= 10; ++tenth) {
    tenths.efficiency = 0.1 * tenth;
    CHECK(tenths.effective_bandwidth() == sim::ByteRate{1'920'000'000L * tenth});
  }
  tenths.peak_bandwidth = sim::ByteRate{200'000'000'000};
  tenths.efficiency = 0.333'333'4;
  CHECK(tenths.effective_bandwidth() == sim::ByteRate{66'666'600'000});
  Bench bench;
  CHECK(bench.ddr.service(256) == kCell);
}

TEST_CASE("DDR: one read takes its service and the latency") {
  Bench bench;
  bench.ddr.frames().write(0x1100, Content::pattern(5, 0, 256));
  const auto& answer = bench.first.read(0x1100, TimeSequence::single(50ns), 256);
  sc_core::sc_start();
  CHECK(answer.announced == 50ns);
  CHECK(answer.responses == TimeSequence::single(50ns + kCell + kLatency));
  CHECK(answer.status == tlm::TLM_OK_RESPONSE);
  CHECK(answer.content == Content::pattern(5, 0, 256));
  CHECK(bench.node.counted("memory.read_bytes") == 256);
}

TEST_CASE("DDR: an 8-byte descriptor read is short") {
  Bench bench;
  bench.ddr.frames().write_word(0x2008, 0x1234);
  const auto& answer = bench.first.read(0x2008, TimeSequence::single(50ns), 8);
  sc_core::sc_start();
  CHECK(answer.responses == TimeSequence::single(50ns + Time{500} + kLatency));
  CHECK(answer.content.word(0) == 0x1234);
}

TEST_CASE("DDR: a back-to-back train leaves at the effective rate") {
  Bench bench;
  const Content page = Content::pattern(6, 0, kPage);
  const auto& answer = bench.first.write(kPage, TimeSequence::regular(10ns, 0ns, 16), 256, page);
  sc_core::sc_start();
  CHECK(answer.responses == TimeSequence::regular(10ns + kCell + kLatency, kCell, 16));
  CHECK(bench.ddr.frames().read(kPage, kPage) == page);
  CHECK(bench.node.counted("memory.written_bytes") == kPage);
}

TEST_CASE("DDR: two initiators share one server in order of arrival, then of binding") {
  Bench bench;
  const auto& late = bench.first.read(0, TimeSequence::regular(20ns, 0ns, 4), 256);
  const auto& tied = bench.second.read(kPage, TimeSequence::regular(20ns, 0ns, 2), 256);
  const auto& early = bench.second.read(kPage, TimeSequence::single(Time{19'999}), 256);
  sc_core::sc_start();
  const Time begin = Time{19'999} + kLatency;
  CHECK(early.responses == TimeSequence::single(begin + kCell));
  CHECK(late.responses == TimeSequence::regular(begin + 2 * kCell, kCell, 4));
  CHECK(tied.responses == TimeSequence::regular(begin + 6 * kCell, kCell, 2));
}

TEST_CASE("DDR: trains and single cells give the same instants") {
  Bench bench;
  TimeSequence arrivals = TimeSequence::regular(100ns, 3ns, 6);
  arrivals.append(TimeSequence::regular(150ns, 24ns, 10));
  const auto& train = bench.first.read(0, arrivals, 256);
  std::vector<const test::MemoryMaster::Answer*> singles;
  for (std::uint32_t i = 0; i < 16; ++i) {
    singles.push_back(&bench.first.read(256 * i, TimeSequence::single(1us + arrivals.at(i)), 256));
  }
  sc_core::sc_start();
  TimeSequence responses;
  for (const auto* single : singles) responses.append(single->responses);
  CHECK(responses == train.responses.shifted(1us));
  CHECK(train.responses.at(5) == 100ns + 6 * kCell + kLatency);
  CHECK(train.responses.at(15) == 150ns + 9 * 24ns + kCell + kLatency);
}

TEST_CASE("DDR: another initiator's cell goes between those of a sparse train") {
  Bench bench;
  const auto& sparse = bench.first.read(0, TimeSequence::regular(0ns, 50ns, 16), 256);
  const auto& walk = bench.second.read(kPage, TimeSequence::single(120ns), 8);
  sc_core::sc_start();
  CHECK(sparse.responses == TimeSequence::regular(kCell + kLatency, 50ns, 16));
  CHECK(walk.responses == TimeSequence::single(120ns + Time{500} + kLatency));
}

TEST_CASE("DDR: a cell that comes between those of a train delays them, which is told") {
  Bench bench;
  // 17 ns apart: gaps of 1 ns, so that all cells behind the other initiator's begin late.
  const auto& dense = bench.first.read(0, TimeSequence::regular(0ns, 17ns, 16), 256);
  const auto& between = bench.second.read(kPage, TimeSequence::single(18ns), 256);
  sc_core::sc_start();
  CHECK(between.responses == TimeSequence::single(17ns + 2 * kCell + kLatency));
  TimeSequence expected = TimeSequence::regular(kCell + kLatency, 17ns, 2);
  expected.append(TimeSequence::regular(17ns + 3 * kCell + kLatency, kCell, 14));
  CHECK(dense.responses == expected);
}

TEST_CASE("DDR: bulk traffic of the CPU delays DMA and is answered without latency") {
  Bench bench;
  const auto& bulk = bench.second.bulk(0, TimeSequence::regular(0ns, 8ns, 16), 256);
  const auto& dma = bench.first.read(kPage, TimeSequence::single(128ns), 256);
  sc_core::sc_start();
  CHECK(dma.responses == TimeSequence::single(17 * kCell + kLatency));
  CHECK(bulk.responses == TimeSequence::regular(kCell, kCell, 16));
  CHECK(bench.node.counted("memory.cpu_bulk_bytes") == kPage);
  CHECK(bench.node.counted("memory.read_bytes") == 256);
}

TEST_CASE("DDR: who watches a frame is told when the last cell of a device's write has been moved") {
  Bench bench;
  Watcher watcher(bench, 2 * kPage);
  bench.first.write(2 * kPage + 8, TimeSequence::single(50ns), 8, Content::literal(1, 8));
  bench.second.write(2 * kPage, TimeSequence::regular(1us, 0ns, 16), 256, Content::pattern(1, 0, kPage));
  bench.first.write(2 * kPage, TimeSequence::regular(2us, 20ns, 16), 256, Content::pattern(2, 0, kPage));
  sc_core::sc_start();
  CHECK(watcher.told == std::vector<Time>{50ns + Time{500}, 1us + 16 * kCell, 2us + 15 * 20ns + kCell});
}

TEST_CASE("DDR: who watches a frame is told once of a write that a read of the same instant puts off") {
  Bench bench;
  Watcher watcher(bench, 2 * kPage);
  bench.second.write(2 * kPage + 8, TimeSequence::single(1us), 8, Content::literal(1, 8));
  bench.second.read(kPage, TimeSequence::single(1us), 256);
  bench.first.read(0, TimeSequence::single(1us), 256);
  sc_core::sc_start();
  CHECK(watcher.told == std::vector<Time>{1us + 2 * kCell + Time{500}});
}

TEST_CASE("DDR: who watches a frame is not told of other frames, of reads, or of what lies outside") {
  Bench bench;
  Watcher watcher(bench, 2 * kPage);
  Watcher beyond(bench, bench.config.size);
  const TimeSequence cell = TimeSequence::single(1us);
  bench.first.write(kPage, TimeSequence::regular(1us, 0ns, 16), 256, Content::pattern(1, 0, kPage));
  bench.first.write(3 * kPage, cell, 256, Content::pattern(1, 0, 256));
  bench.first.read(2 * kPage, cell, 256);
  bench.second.bulk(2 * kPage, cell, 256);
  const auto& outside = bench.first.write(bench.config.size, cell, 256, Content::pattern(1, 0, 256));
  sc_core::sc_start();
  CHECK(outside.status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(watcher.told.empty());
  CHECK(beyond.told.empty());
}

TEST_CASE("DDR: an address outside of the memory is an error response at the same instants") {
  Bench bench;
  const std::uint64_t end = bench.config.size;
  const auto& outside = bench.first.write(end, TimeSequence::regular(5ns, 0ns, 2), 256, Content::pattern(1, 0, 512));
  const auto& inside = bench.first.read(end - 256, TimeSequence::single(1us), 256);
  std::uint64_t value = 7;
  CHECK(bench.first.word(tlm::TLM_READ_COMMAND, end - 4, value) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  sc_core::sc_start();
  CHECK(outside.status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(outside.responses == TimeSequence::regular(5ns + kCell + kLatency, kCell, 2));
  CHECK(inside.status == tlm::TLM_OK_RESPONSE);
  CHECK(bench.node.counted("memory.address_errors") == 2);
  CHECK(value == 7);
}

TEST_CASE("DDR: accesses through an old translation are counted cell by cell") {
  Bench bench;
  auto& frames = bench.ddr.frames();
  frames.mapping_changed(0);
  const std::uint64_t walked = frames.epoch();
  const auto sixteen = [](Time at) { return TimeSequence::regular(at, 0ns, 16); };
  bench.first.read(0, sixteen(0ns), 256, walked);
  sc_core::sc_start();
  CHECK(bench.node.counted("memory.stale_accesses") == 0);
  frames.mapping_changed(0);
  bench.first.read(0, sixteen(2us), 256, walked);
  bench.first.read(0, sixteen(3us), 256);  // not translated
  bench.first.read(kPage, sixteen(4us), 256, walked);
  sc_core::sc_start();
  CHECK(bench.node.counted("memory.stale_accesses") == 16);
}

TEST_CASE("DDR: bytes are read and written without time, in any number") {
  Bench bench;
  std::uint64_t value = 0x8877665544332211;
  CHECK(bench.first.word(tlm::TLM_WRITE_COMMAND, 0x10, value) == tlm::TLM_OK_RESPONSE);
  CHECK(bench.ddr.frames().read_word(0x10) == value);
  std::uint64_t part = 0;
  CHECK(bench.second.word(tlm::TLM_READ_COMMAND, 0x13, part, 4) == tlm::TLM_OK_RESPONSE);
  CHECK(part == 0x77665544);
  std::uint64_t two = 0xbeef;
  CHECK(bench.second.word(tlm::TLM_WRITE_COMMAND, 0x17, two, 2) == tlm::TLM_OK_RESPONSE);
  CHECK(bench.ddr.frames().read_word(0x10) == 0xef77665544332211);
  CHECK(bench.ddr.frames().read_word(0x18) == 0xbe);
  std::vector<unsigned char> bytes(3 * kPage + 5), back(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
  CHECK(bench.first.bytes(tlm::TLM_WRITE_COMMAND, kPage - 3, bytes) == tlm::TLM_OK_RESPONSE);
  CHECK(bench.second.bytes(tlm::TLM_READ_COMMAND, kPage - 3, back) == tlm::TLM_OK_RESPONSE);
  CHECK(back == bytes);
  CHECK(bench.ddr.frames().read(kPage + 5, 1).byte(0) == bytes[8]);
  CHECK(bench.first.bytes(tlm::TLM_READ_COMMAND, bench.config.size - 8, back) == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(bench.node.now() == 0ns);
}

TEST_CASE("DDR: a debugger reads and writes bytes, as many as there are, and nothing counts them") {
  Bench bench;
  std::vector<unsigned char> bytes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, back(bytes.size());
  CHECK(bench.first.debug(tlm::TLM_WRITE_COMMAND, 0x1003, bytes) == bytes.size());
  CHECK(bench.second.debug(tlm::TLM_READ_COMMAND, 0x1003, back) == back.size());
  CHECK(back == bytes);
  CHECK(bench.first.debug(tlm::TLM_READ_COMMAND, bench.config.size - 4, back) == 4);
  CHECK(bench.first.debug(tlm::TLM_READ_COMMAND, bench.config.size, back) == 0);
  CHECK(bench.node.counted("memory.address_errors") == 0);
}

TEST_CASE("DDR: byte enables and a streaming width below the length are refused") {
  Bench bench;
  tlm::tlm_generic_payload payload;
  std::array<unsigned char, 16> data{};
  std::array<unsigned char, 16> enables{};
  const auto answer = [&] {
    sc_core::sc_time delay;
    bench.first.socket->b_transport(payload, delay);
    return payload.get_response_status();
  };
  payload.set_write();
  payload.set_data_ptr(data.data());
  payload.set_data_length(16);
  payload.set_streaming_width(16);
  CHECK(answer() == tlm::TLM_OK_RESPONSE);
  payload.set_streaming_width(8);
  CHECK(answer() == tlm::TLM_BURST_ERROR_RESPONSE);
  payload.set_streaming_width(16);
  payload.set_byte_enable_ptr(enables.data());
  CHECK(answer() == tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
  payload.set_byte_enable_ptr(nullptr);
  payload.set_data_length(0);
  CHECK(answer() == tlm::TLM_BURST_ERROR_RESPONSE);
}

TEST_CASE("DDR: every parameter is declared with a default in range") {
  DdrConfig config;
  sim::ParameterTable table;
  config.declare(table);
  CHECK(table.all().size() == 4);
  CHECK(table.find("ddr.latency") != nullptr);
  for (const auto& parameter : table.all()) {
    INFO(parameter.name);
    CHECK_NOTHROW(parameter.set(parameter.initial));
    CHECK(parameter.get() == parameter.initial);
    CHECK(test::says_where_it_is_from(parameter));
  }
  CHECK_THROWS(table.find("ddr.size")->set(std::string("512 KiB")));
  CHECK_THROWS(table.find("ddr.efficiency")->set(1.01));
}
