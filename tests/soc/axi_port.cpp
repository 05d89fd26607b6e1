// SPDX-License-Identifier: Apache-2.0
#include "models/soc/axi_port.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "tests/support/axi_mocks.hpp"
#include "tests/support/repeater.hpp"

using namespace faultline;
using namespace faultline::sim;
using soc::AxiPort;
using soc::AxiPortConfig;
using test::AxiResponse;
using test::Burst;

namespace {

constexpr Time kMemory = 104ns;  // DDR and a TLB hit

struct Bench {
  EventLoop loop;
  PayloadPool pool;
  Statistics statistics;
  Trace trace;
  Context context;
  AxiPortConfig config;
  AxiPort port;
  test::AxiInitiator reader;
  test::AxiInitiator writer;
  test::LatencyMemory memory;
  test::Wiring wiring;

  explicit Bench(const std::string& name, const AxiPortConfig& config_ = {}, std::uint32_t cells_per_train = 16,
                 bool late = false, bool repeats = false)
      : loop((name + "_loop").c_str()),
        context{0, loop, pool, statistics, trace, 1, cells_per_train},
        config(config_),
        port((name + "_port").c_str(), config, context),
        reader((name + "_reader").c_str(), tlm::TLM_READ_COMMAND, config.outstanding_reads, context),
        writer((name + "_writer").c_str(), tlm::TLM_WRITE_COMMAND, config.outstanding_writes, context),
        memory((name + "_memory").c_str(), kMemory, late, context),
        wiring(name, repeats) {
    wiring.bind(reader.out, port.reads);
    wiring.bind(writer.out, port.writes);
    wiring.bind(port.out, memory.in);
  }
  // Runs until nothing is left and returns the responses of one direction.
  std::vector<AxiResponse> run(test::AxiInitiator& initiator, const std::vector<Burst>& bursts) {
    initiator.responses.clear();
    for (const Burst& burst : bursts) initiator.post(burst);
    sc_core::sc_start();
    REQUIRE(pool.in_use() == 0);
    return initiator.responses;
  }
};

// The same arithmetic, one cell after the other.
std::vector<AxiResponse> expected(const AxiPortConfig& config, bool write, const std::vector<Burst>& bursts) {
  std::vector<AxiResponse> all;
  Time bus{0};
  Time last{0};
  const std::size_t window = write ? config.outstanding_writes : config.outstanding_reads;
  for (const Burst& burst : bursts) {
    for (std::uint32_t i = 0; i < burst.ready.size(); ++i) {
      const std::uint64_t address = burst.address + std::uint64_t{i} * burst.cell_bytes;
      const std::uint64_t beats = (address % 16 + burst.cell_bytes + 15) / 16;
      const Time data = config.pl_clock.cycles(static_cast<std::int64_t>(beats));
      Time at = std::max(burst.ready.at(i), last);
      if (all.size() >= window) at = std::max(at, all[all.size() - window].at);
      last = at;
      if (write) {
        bus = std::max(at, bus) + data;
        at = bus + config.write_request_latency + kMemory + config.write_response_latency;
      } else {
        bus = std::max(at + config.read_request_latency + kMemory, bus) + data;
        at = bus + config.read_return_latency;
      }
      all.push_back({address, at, tlm::TLM_OK_RESPONSE});
    }
  }
  return all;
}

Burst page(Time at, std::uint64_t address = 0x10000) {
  return {address, kCellBytes, TimeSequence::regular(at, Time{0}, 16)};
}

std::vector<Burst> any_bursts(Time base) {
  std::vector<Burst> bursts;
  Time at = base;
  const int count = *rc::gen::inRange(1, 8);
  for (int i = 0; i < count; ++i) {
    const bool whole = *rc::gen::arbitrary<bool>();
    const auto bytes = whole ? kCellBytes : *rc::gen::inRange<std::uint32_t>(1, kCellBytes + 1);
    const auto cells = *rc::gen::inRange<std::uint32_t>(1, 17);
    const auto offset = *rc::gen::inRange<std::uint64_t>(0, kPageBytes - cells * bytes + 1);
    at += Time{*rc::gen::inRange(0, 3'000'000)};
    const Time gap{*rc::gen::inRange(0, 300'000)};
    bursts.push_back(
        {static_cast<std::uint64_t>(i) * kPageBytes + offset, bytes, TimeSequence::regular(at, gap, cells)});
    at = bursts.back().ready.back();
  }
  return bursts;
}

}  // namespace

TEST_CASE("an idle read takes request, memory, its beats and return") {
  Bench b("bench");
  const auto responses = b.run(b.reader, {{0x1000, 256, TimeSequence::single(1us)}});
  const Time beats = b.config.pl_clock.cycles(16);
  REQUIRE(responses.size() == 1);
  CHECK(responses[0].at == 1us + b.config.read_request_latency + kMemory + beats + b.config.read_return_latency);
  CHECK(b.memory.requests.at(0).front() == 1us + b.config.read_request_latency);
  CHECK(b.statistics.value("axi.bytes_read") == 256);
}

TEST_CASE("an idle write takes its beats, request, memory and response") {
  Bench b("bench");
  const auto responses = b.run(b.writer, {{0x1000, 256, TimeSequence::single(1us)}});
  const Time at_memory = 1us + b.config.pl_clock.cycles(16) + b.config.write_request_latency;
  REQUIRE(responses.size() == 1);
  CHECK(b.memory.requests.at(0).front() == at_memory);
  CHECK(responses[0].at == at_memory + kMemory + b.config.write_response_latency);
  CHECK(b.statistics.value("axi.bytes_written") == 256);
}

TEST_CASE("the defaults bring the first beat of an idle read after 300 ns and a write's answer after 250 ns") {
  const AxiPortConfig config;
  CHECK(config.read_request_latency + kMemory + config.read_return_latency == 300ns);
  CHECK(config.write_request_latency + kMemory + config.write_response_latency == 250ns);
}

TEST_CASE("with a window wide enough the data beats bound the rate") {
  AxiPortConfig config;
  config.outstanding_reads = config.outstanding_writes = 16;
  Bench b("bench", config);
  const Time beats = config.pl_clock.cycles(16);
  for (const bool write : {false, true}) {
    const Time at = write ? 500us : 50us;
    const auto responses = b.run(write ? b.writer : b.reader, {page(at), page(at, 0x20000), page(at, 0x30000)});
    REQUIRE(responses.size() == 48);
    for (std::size_t i = 1; i < 48; ++i) CHECK(responses[i].at - responses[i - 1].at == beats);
  }
}

TEST_CASE("with a narrow window the round trip bounds the rate") {
  AxiPortConfig config;
  config.outstanding_reads = 2;
  Bench b("bench", config);
  const auto responses = b.run(b.reader, {page(50us)});
  const Time beats = config.pl_clock.cycles(16);
  const Time round_trip = config.read_request_latency + kMemory + beats + config.read_return_latency;
  REQUIRE(responses.size() == 16);
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(responses[i].at == 50us + round_trip * static_cast<int>(i / 2 + 1) + beats * static_cast<int>(i % 2));
  }
}

TEST_CASE("reads and writes do not share a data bus") {
  Bench b("bench");
  b.writer.post(page(1us));
  const auto reads = b.run(b.reader, {page(1us)});
  CHECK(reads == expected(b.config, false, {page(1us)}));
  CHECK(b.writer.responses == expected(b.config, true, {page(1us)}));
}

TEST_CASE("read data take the bus in the order in which they come, whichever were announced first") {
  Bench b("bench");
  b.memory.slow_pages[0x10] = 5us;
  const Burst slow{0x10000, 256, TimeSequence::regular(1us, 500ns, 4)};
  const Burst fast{0x20000, 256, TimeSequence::regular(3us, 3us, 3)};
  auto responses = b.run(b.reader, {slow, fast});
  std::sort(responses.begin(), responses.end(), [](const auto& x, const auto& y) { return x.at < y.at; });
  const Time way = b.config.read_request_latency + kMemory;
  const Time beats = b.config.pl_clock.cycles(16);
  const Time rest = way + beats + b.config.read_return_latency;
  REQUIRE(responses.size() == 7);
  CHECK(responses[0].at == 3us + rest);
  CHECK(responses[1].at == 6us + rest);
  CHECK(responses[1].address == 0x10000);
  CHECK(responses[2].at == 6us + beats + rest);  // of the instant of one that was announced before
  CHECK(responses[2].address == 0x20100);
  for (std::size_t i = 1; i < 4; ++i) CHECK(responses[2 + i].at == 6us + i * 500ns + rest);
  CHECK(responses[6].at == 9us + rest);
}

TEST_CASE("a burst takes a beat for each 16 aligned bytes that it touches") {
  const AxiPortConfig config;
  CHECK(config.burst_time(0x1000, 256) == config.pl_clock.cycles(16));
  CHECK(config.burst_time(0x1008, 256) == config.pl_clock.cycles(17));
  CHECK(config.burst_time(0x100f, 1) == config.pl_clock.cycles(1));
  CHECK(config.burst_time(0x100f, 2) == config.pl_clock.cycles(2));
  CHECK(config.burst_time(0x1000, 1) == config.pl_clock.cycles(1));
}

TEST_CASE("an error response keeps its status and has the instants of any other") {
  Bench b("bench");
  b.memory.bad_pages.insert(0x20);
  const std::vector<Burst> bursts{page(1us), page(1us, 0x20000), page(1us, 0x30000)};
  for (const Burst& burst : bursts) b.writer.post(burst);
  const auto reads = b.run(b.reader, bursts);
  for (const bool write : {false, true}) {
    auto wanted = expected(b.config, write, bursts);
    for (std::size_t i = 16; i < 32; ++i) wanted[i].status = tlm::TLM_ADDRESS_ERROR_RESPONSE;
    CHECK((write ? b.writer.responses : reads) == wanted);
  }
  CHECK(b.statistics.value("axi.error_responses") == 2 * 16);
}

TEST_CASE("trains of any length and single cells meet the same instants at the port") {
  AxiPortConfig narrow;
  narrow.outstanding_reads = narrow.outstanding_writes = 3;
  Bench cell("cell", {}, 1), train("train", {}, 16), odd("odd", {}, 7, true);
  Bench narrow_cell("narrow_cell", narrow, 1, true), narrow_train("narrow_train", narrow, 16);
  Bench twice("twice", narrow, 16, false, true), late_twice("late_twice", {}, 7, true, true);
  const std::vector<Bench*> benches{&cell, &train, &odd, &narrow_cell, &narrow_train, &twice, &late_twice};
  REQUIRE(rc::check([&] {
    const auto bursts = any_bursts(from_sc_time(sc_core::sc_time_stamp()) + 100us);
    const bool write = *rc::gen::arbitrary<bool>();
    for (Bench* b : benches) {
      test::AxiInitiator& initiator = write ? b->writer : b->reader;
      initiator.responses.clear();
      for (const Burst& burst : bursts) initiator.post(burst);
    }
    sc_core::sc_start();
    for (Bench* b : benches) {
      const auto& responses = (write ? b->writer : b->reader).responses;
      RC_ASSERT(responses == expected(b->config, write, bursts));
      RC_ASSERT(b->pool.in_use() == 0U);
    }
  }));
  CHECK(twice.wiring.repeated() > 1000);
}
