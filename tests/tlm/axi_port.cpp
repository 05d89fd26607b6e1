// SPDX-License-Identifier: Apache-2.0
// An accelerator of somebody else's behind an AXI port: the port's times, to the picosecond, at the node's memory and
// at a memory of somebody else's.
#include "models/soc/axi_port.hpp"

#include <catch2/catch.hpp>

#include "models/soc/ddr.hpp"
#include "models/tlm/from_base.hpp"
#include "models/tlm/to_base.hpp"
#include "tests/support/node.hpp"
#include "tests/tlm/third_party_initiator.hpp"
#include "tests/tlm/third_party_memory.hpp"

using namespace faultline;
using namespace faultline::sim;
using third_party::Request;

namespace {

constexpr std::uint32_t kBursts = 32;
constexpr Time kStart = 1us;
constexpr Time kLatency = 90ns;

std::vector<Request> work() {
  std::vector<unsigned char> bytes(kBursts * kCellBytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 13 + i / 256);
  const sc_core::sc_time later = to_sc_time(1ms);
  return {{.start = to_sc_time(kStart), .write = true, .address = 0x4000, .bytes = bytes},
          {.start = later, .address = 0x4000, .bytes = std::vector<unsigned char>(bytes.size())}};
}

// When the last of the bursts is answered: each goes when the one eight before it has been.
template <typename Pass>
Time last_answer(Time start, unsigned outstanding, Pass pass) {
  std::vector<Time> back;
  for (std::uint32_t i = 0; i < kBursts; ++i) back.push_back(pass(i < outstanding ? start : back[i - outstanding]));
  return back.back();
}

struct Bench {
  test::Node node;
  soc::AxiPortConfig config;
  third_party::LooselyTimedInitiator accelerator{"accelerator", {work()}};
  adapters::FromBase<> adapter{"adapter", {3, config.outstanding_reads, config.outstanding_writes}, node.context};
  soc::AxiPort port{"port", config, node.context};

  Bench() {
    accelerator.socket.bind(adapter.in);
    adapter.reads.bind(port.reads);
    adapter.writes.bind(port.writes);
  }
  // `memory`: a function from a burst's arrival to its answer.
  template <typename Memory>
  void check(Memory memory) {
    sc_core::sc_start();
    const Time burst = config.burst_time(0, kCellBytes);
    SerialServer write_bus;
    const Time written = last_answer(kStart, config.outstanding_writes, [&](Time issue) {
      return memory(write_bus.serve(issue, burst) + config.write_request_latency) + config.write_response_latency;
    });
    SerialServer read_bus;
    const Time read = last_answer(1ms, config.outstanding_reads, [&](Time issue) {
      return read_bus.serve(memory(issue + config.read_request_latency), burst) + config.read_return_latency;
    });
    const std::vector<Request>& done = accelerator.programs[0];
    CHECK(done[0].ended == to_sc_time(written));
    CHECK(done[1].ended == to_sc_time(read));
    CHECK((done[0].bytes == done[1].bytes));
    CHECK(node.payloads.in_use() == 0);
  }
};

}  // namespace

TEST_CASE("an accelerator's bursts take an AXI port's time, to the node's memory and back") {
  Bench bench;
  const soc::DdrConfig config;
  soc::DdrController ddr("ddr", config, bench.node.context);
  bench.port.out.bind(ddr.port);
  SerialServer server;
  bench.check([&](Time arrival) { return server.serve(arrival, ddr.service(kCellBytes)) + config.latency; });
}

TEST_CASE("an accelerator's bursts take an AXI port's time, to a memory of somebody else's and back") {
  Bench bench;
  adapters::ToBase<> to_memory("to_memory", {adapters::ToBaseConfig::Calls::blocking}, bench.node.context);
  const auto latency = [](std::uint64_t) { return to_sc_time(kLatency); };
  third_party::LooselyTimedMemory memory("memory", 1 << 16, latency, true);
  bench.port.out.bind(to_memory.in);
  to_memory.out.bind(memory.socket);
  bench.check([](Time arrival) { return arrival + kLatency; });
}
