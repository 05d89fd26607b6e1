// SPDX-License-Identifier: Apache-2.0
// What cores do outside of themselves: device registers and memory.
#include <catch2/catch.hpp>

#include "tests/cpu/bench.hpp"
#include "tests/support/axi_mocks.hpp"

using namespace faultline;
using namespace faultline::test;
using sim::ByteRate;
using sim::TimeSequence;

namespace {

Task<void> read_and_write(CpuBench& b, Execution& thread, std::uint64_t address, std::uint64_t& read, Time& done) {
  read = co_await b.cpu.mmio_read(thread, Work::system, address);
  co_await b.cpu.mmio_write(thread, Work::system, address, read + 1);
  done = b.node.now();
}

Task<void> set_at(CpuBench& b, std::uint64_t address, std::uint64_t value, Time at) {
  co_await b.node.loop.until(at);
  b.registers.values[address] = value;
}

Task<void> move(CpuBench& b, Execution& who, std::uint64_t address, std::uint64_t bytes, ByteRate rate, Time& done) {
  co_await b.cpu.memory_bulk(who, Work::system, address, bytes, rate, true);
  done = b.node.now();
}

// 16 ns for 256 B.
soc::DdrConfig round_ddr() {
  soc::DdrConfig config;
  config.peak_bandwidth = ByteRate{16'000'000'000};
  config.efficiency = 1.0;
  return config;
}

}  // namespace

TEST_CASE("a register read is sampled at its end, and accesses take their time on the core") {
  CpuBench b;
  std::uint64_t read = 0;
  Time done{0};
  Execution& thread = b.cpu.new_thread("driver");
  b.tasks.start(set_at(b, 0x40, 1, kSwitch + 299ns));
  b.tasks.start(set_at(b, 0x40, 2, kSwitch + 301ns));
  b.tasks.start(read_and_write(b, thread, 0x40, read, done));
  sc_core::sc_start();
  CHECK(read == 1);
  CHECK(b.registers.values[0x40] == 2);
  CHECK(b.registers.accesses ==
        std::vector<std::pair<Time, std::uint64_t>>{{kSwitch + 300ns, 0x40}, {kSwitch + 360ns, 0x40}});
  CHECK(done == kSwitch + 360ns);
  CHECK(thread.time(Work::system) == kSwitch + 360ns);
  CHECK(b.node.payloads.in_use() == 0);
}

TEST_CASE("register accesses do not speed up with the cores' clock") {
  cpu::CpuConfig config;
  config.clock = sim::Frequency{2'400'000'000};
  CpuBench b(config);
  std::uint64_t read = 0;
  Time done{0};
  b.tasks.start(read_and_write(b, b.cpu.new_thread("driver"), 0, read, done));
  sc_core::sc_start();
  CHECK(done == kSwitch / 2 + 360ns);
}

TEST_CASE("a register access that nobody answers reads as all ones and is counted") {
  CpuBench b;
  std::uint64_t read = 0;
  Time done{0};
  b.tasks.start(read_and_write(b, b.cpu.new_thread("driver"), Registers::kNobody, read, done));
  sc_core::sc_start();
  CHECK(read == UINT64_MAX);
  CHECK(b.node.counted("cpu.mmio_errors") == 2);
}

TEST_CASE("zeroing on an idle memory takes the core's own rate, page by page") {
  CpuBench b;
  Time done{0};
  Execution& thread = b.cpu.new_thread("zero");
  const ByteRate rate{6'000'000'000};
  b.tasks.start(move(b, thread, 0x3f00, 256 + 4096 + 100, rate, done));
  sc_core::sc_start();
  const Time alone = rate.time_for(256) + rate.time_for(4096) + rate.time_for(100);
  CHECK(done == kSwitch + alone);
  CHECK(thread.time(Work::system) == kSwitch + alone);
  CHECK(b.node.counted("memory.cpu_bulk_bytes") == 256 + 4096 + 100);
}

TEST_CASE("a core's bulk traffic goes where it is sent: outside of the memory it moves nothing") {
  CpuBench b;
  Time done{0};
  b.tasks.start(move(b, b.cpu.new_thread("zero"), b.ddr_config.size, 4096, ByteRate{6'000'000'000}, done));
  sc_core::sc_start();
  CHECK(b.node.counted("memory.cpu_bulk_bytes") == 0);
  CHECK(b.node.counted("memory.address_errors") > 0);
}

// The memory of this project takes the same time for both; another one need not.
TEST_CASE("a core's bulk traffic says whether it reads or writes") {
  Node node;
  const cpu::CpuConfig config;
  const cpu::SchedRules rules;
  cpu::Cpu cpu("cpu", config, node.context, rules);
  Registers registers("registers", node.context);
  LatencyMemory memory("memory", 0ns, false, node.context);
  cpu.mmio.bind(registers.socket);
  cpu.memory.bind(memory.in);
  sim::TaskGroup tasks;
  const auto copy = [&](Execution& thread) -> Task<void> {
    co_await cpu.memory_bulk(thread, Work::system, 0, 4096, ByteRate{6'000'000'000}, false);
    co_await cpu.memory_bulk(thread, Work::system, 8192, 4096, ByteRate{6'000'000'000}, true);
  };
  tasks.start(copy(cpu.new_thread("copy")));
  sc_core::sc_start();
  CHECK(memory.commands == std::vector{tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND});
}

TEST_CASE("zeroing faster than memory goes at memory's rate") {
  CpuBench b({}, round_ddr());
  Time done{0};
  b.tasks.start(move(b, b.cpu.new_thread("zero"), 0, 8192, ByteRate{32'000'000'000}, done));
  sc_core::sc_start();
  CHECK(done == kSwitch + 32 * 16ns);
}

TEST_CASE("DMA delays zeroing and zeroing delays DMA") {
  CpuBench b({}, round_ddr());
  b.elaborate();
  Time done{0};
  // 64 cells keep the memory busy for 1024 ns from 3000 ns on; zeroing starts at 3500 ns.
  for (std::uint64_t page = 0; page < 4; ++page) {
    b.master.read(page * 4096, TimeSequence::regular(3000ns, 0ns, 16), 256);
  }
  b.tasks.start(move(b, b.cpu.new_thread("zero"), 0x10000, 4096, ByteRate{8'000'000'000}, done));
  const auto& late = b.master.read(0x20000, TimeSequence::single(3990ns), 256);
  sc_core::sc_start();
  // The core's cells arrive every 32 ns from 3500 ns on, the last at 3980 ns, and so leave back to back.
  CHECK(done == 4024ns + 16 * 16ns);
  CHECK(late.responses.front() == 4024ns + 17 * 16ns + b.ddr_config.latency);
}

TEST_CASE("an interrupt in the middle of zeroing delays its end by its own time") {
  CpuBench b;
  Time done{0};
  const ByteRate rate{8'000'000'000};
  b.tasks.start(move(b, b.cpu.new_thread("zero", 0), 0, 2 * 4096, rate, done));
  b.run(b.cpu.irq_context(), Work::irq, 5us, kSwitch + 100ns);
  sc_core::sc_start();
  CHECK(done == kSwitch + 2 * rate.time_for(4096) + 5us);
}

TEST_CASE("a page pre-empted in the middle keeps its instants at DDR, the next one begins when the core does") {
  CpuBench b({}, round_ddr());
  b.elaborate();
  Time done{0};
  const ByteRate rate{8'000'000'000};  // a cell each 32 ns, of which DDR takes 16
  b.tasks.start(move(b, b.cpu.new_thread("zero", 0), 0, 2 * 4096, rate, done));
  b.run(b.cpu.irq_context(), Work::irq, 5us, kSwitch + 100ns);
  const auto& first_page = b.master.read(0x10000, TimeSequence::single(kSwitch + 193ns), 256);
  const auto& between = b.master.read(0x10000, TimeSequence::single(kSwitch + 2us), 256);
  const auto& next_page = b.master.read(0x10000, TimeSequence::single(kSwitch + 512ns + 5us + 1ns), 256);
  sc_core::sc_start();
  const Time latency = b.ddr_config.latency;
  CHECK(first_page.responses.front() == kSwitch + 192ns + 2 * 16ns + latency);
  CHECK(between.responses.front() == kSwitch + 2us + 16ns + latency);
  CHECK(next_page.responses.front() == kSwitch + 512ns + 5us + 2 * 16ns + latency);
  CHECK(done == kSwitch + 2 * 512ns + 5us);
}

TEST_CASE("a DMA burst of the instant at which the core begins a page goes first") {
  CpuBench b({}, round_ddr());
  b.elaborate();
  Time done{0};
  const ByteRate rate{16'000'000'000};  // DDR's own, so that one cell of another delays the page
  b.tasks.start(move(b, b.cpu.new_thread("zero"), 0, 2 * 4096, rate, done));
  const auto& tied = b.master.read(0x10000, TimeSequence::single(kSwitch + 256ns), 256);
  sc_core::sc_start();
  CHECK(tied.responses.front() == kSwitch + 256ns + 16ns + b.ddr_config.latency);
  CHECK(done == kSwitch + 2 * 256ns + 16ns);
}
