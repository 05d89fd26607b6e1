// SPDX-License-Identifier: Apache-2.0
// The fault thread, from the kernel's message to the request that goes to the firmware or the SMMU.
#include "models/drivers/exanest/steps.hpp"
#include "tests/drivers/exanest/fault_thread_bench.hpp"
#include "tests/support/child.hpp"

using namespace faultline;
using namespace faultline::test;
namespace step = exanest::step;

TEST_CASE("touch-a-page makes the page present and asks for the block again") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t buffer = b.map(4);
  b.handle({fault(buffer + kPage)});
  const Time resolved = b.parsed() + b.cold_page();
  CHECK(b.at(step::kLibraryWoken) == std::vector{b.woken()});
  CHECK(b.at(step::kResolveBegin) == std::vector{b.parsed()});
  CHECK(b.at(step::kResolveEnd) == std::vector{resolved});
  CHECK(b.at(step::kRetryRequested) == std::vector{resolved + b.retry()});
  for (const sim::StepRecord& record : b.steps) CHECK(record.key == PartKey{40, 0, 2});
  CHECK(b.registers.taken() == b.retry_of(resolved, {40, 0, 2}));
  CHECK(b.pages(buffer, 4) == "-d--");
  CHECK(b.counted("library.pages_resolved") == 1);
  CHECK(b.counted("library.faults_refused") == 0);
}

TEST_CASE("a fault of a read leaves the page clean") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t buffer = b.map(1);
  b.handle({fault(buffer, 0, false)});
  CHECK(b.pages(buffer, 1) == "c");
}

TEST_CASE("a page that has come meanwhile costs one load") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t buffer = b.map(1);
  REQUIRE(b.vm.make_present(b.process, buffer, kPage) == Error::none);
  b.handle({fault(buffer)});
  CHECK(b.registers.taken() == b.retry_of(b.parsed() + b.config.os.resident_touch, {40, 0, 2}));
}

TEST_CASE("without memory for the page touch-a-page aborts the transfer") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t buffer = b.map(2);
  b.leave_free(0);
  b.handle({fault(buffer)});
  CHECK(b.registers.taken() == b.abort_of(b.parsed() + b.config.os.anon_minor_fault, {40, 0, 2}));
  CHECK(b.counted("library.faults_refused") == 1);
}

TEST_CASE("a fault where nothing is mapped aborts the transfer, by touch-a-page") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t nowhere = b.map(1) + kPage;
  b.handle({fault(nowhere, 0, false)});
  CHECK(b.registers.taken() == b.abort_of(b.parsed() + b.config.os.fault_no_alloc, {40, 0, 2}));
  CHECK(b.at(step::kResolveEnd) == std::vector{b.parsed() + b.config.os.fault_no_alloc});
  CHECK(b.at(step::kRetryRequested).empty());
  CHECK(b.counted("library.faults_refused") == 1);
  CHECK(b.counted("library.pages_resolved") == 0);
}

namespace {

rdma::Strategy on_private_table() {
  rdma::Strategy strategy = FaultBench::strategy(Resolve::touch_a_page, 1, 512);
  strategy.translate = "private";
  return strategy;
}

}  // namespace

TEST_CASE("on a private table a fault ends its transfer, whatever the process has there") {
  FaultBench b(on_private_table());
  b.handle({fault(b.map(1))});
  CHECK(b.registers.taken() == b.abort_of(b.parsed(), {40, 0, 2}));
  CHECK(b.counted("library.held_off") == 0);
}

TEST_CASE("on a private table an access that was only held off is made again, and nothing is counted") {
  FaultBench b(on_private_table());
  FaultMessage record = fault(b.map(1));
  record.held_off = true;
  b.handle({record});
  CHECK(b.registers.taken() == b.resend_of(b.parsed(), {40, 0, 2}));
  CHECK(b.counted("library.held_off") == 1);
  CHECK(b.counted("library.faults_refused") == 0);
}

TEST_CASE("where faults are resolved the page of an access that was held off is made present, too") {
  FaultBench b(Resolve::touch_a_page);
  FaultMessage record = fault(b.map(1));
  record.held_off = true;
  b.handle({record});
  CHECK(b.registers.taken() == b.resend_of(b.parsed() + b.cold_page(), {40, 0, 2}));
  CHECK(b.counted("library.pages_resolved") == 1);
}

TEST_CASE("records of one page in one message resolve once and are answered each") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t buffer = b.map(2);
  b.handle({fault(buffer, 7), fault(buffer + kPage, 8), fault(buffer, 9)});
  const Time first = b.parsed() + b.cold_page();
  const Time second = first + b.retry() + b.cold_page();
  const Time third = second + b.retry();
  CHECK(b.registers.taken() ==
        b.retry_of(first, {40, 7, 2}) + b.retry_of(second, {40, 8, 2}) + b.retry_of(third, {40, 9, 2}));
  CHECK(b.at(step::kLibraryWoken) == std::vector(3, b.woken()));
  CHECK(b.at(step::kResolveEnd) == std::vector{first, second, third});
  CHECK(b.counted("library.pages_resolved") == 2);
  CHECK(b.counted("library.faults_merged") == 1);
}

TEST_CASE("records of one page that is not mapped are refused once and each aborts its transfer") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t nowhere = b.map(1) + kPage;
  FaultMessage other = fault(nowhere);
  other.key.transfer = 41;
  b.handle({fault(nowhere), other});
  const Time first = b.parsed() + b.config.os.fault_no_alloc;
  CHECK(b.registers.taken() == b.abort_of(first, {40, 0, 2}) + b.abort_of(first + b.abort(), {41, 0, 2}));
  CHECK(b.counted("library.faults_refused") == 1);
  CHECK(b.counted("library.faults_merged") == 1);
}

TEST_CASE("a message that comes while one is handled is next, without a wake-up") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t buffer = b.map(2);
  b.deliver({fault(buffer, 7)});
  b.deliver({fault(buffer, 8)}, b.parsed());
  b.settle();
  const Time first = b.parsed() + b.cold_page();
  const Time again = first + b.retry() + b.config.driver.netlink_receive;
  const Time second = again + b.config.library.parse_fault + b.config.os.resident_touch;
  CHECK(b.at(step::kLibraryWoken) == std::vector{b.woken(), again});
  CHECK(b.registers.taken() == b.retry_of(first, {40, 7, 2}) + b.retry_of(second, {40, 8, 2}));
  CHECK(b.counted("library.faults_merged") == 0);
}

TEST_CASE("faults of another process are not this thread's") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t buffer = b.map(1);
  REQUIRE(b.process.id() == 1);
  b.deliver({fault(buffer)}, kMessage, 2);
  b.settle();
  CHECK(b.registers.taken().empty());
  CHECK(b.pages(buffer, 1) == "-");
}

TEST_CASE("a stalled access goes on when its page is present") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t buffer = b.map(1);
  const unsigned bank = b.attach();
  b.handle({stalled(buffer, bank)});
  CHECK(b.registers.taken() == Accesses{resumed(b, b.parsed() + b.cold_page(), bank, smmu::reg::resume::kRetry)});
  CHECK(b.pages(buffer, 1) == "d");
  REQUIRE(b.steps.size() == 4);
  CHECK(b.steps[0].step == exanest::step::kLibraryWoken);
  CHECK(b.steps[1].step == exanest::step::kResolveBegin);
  CHECK(b.steps[2].step == exanest::step::kResolveEnd);
  CHECK(b.steps[3].step == exanest::step::kStallResumed);
  for (const auto& step : b.steps) CHECK(step.key == PartKey{});  // the block is not known
}

TEST_CASE("a stalled access without a mapping is terminated, and the engine's record of it looked for") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t nowhere = b.map(1) + kPage;
  const unsigned bank = b.attach();
  b.handle({stalled(nowhere, bank)});
  const Access resume = resumed(b, b.parsed() + b.config.os.fault_no_alloc, bank, smmu::reg::resume::kTerminate);
  const Time looked = resume.at + b.config.cpu.tasklet_delay + b.config.cpu.mmio_read;
  CHECK(b.registers.taken() == Accesses{resume, {looked, kPrivileged + reg::kFaultCount, 0, false}});
  CHECK(b.counted("library.faults_refused") == 1);
}

TEST_CASE("a page that may be read but not written answers its reader and refuses its writer, in either order") {
  for (const bool write_first : {false, true}) {
    const Facts f = facts_from_child([=] {
      FaultBench b(Resolve::touch_a_page);
      os::MmapOptions read_only;
      read_only.writable = false;
      const auto mapped = b.run(b.vm.mmap(b.thread, b.process, kPage, read_only)).value;
      exanest::FaultMessage read = fault(mapped.value, 7);
      read.write = false;
      exanest::FaultMessage write = fault(mapped.value, 8);
      write.write = true;
      b.registers.taken();
      b.handle(write_first ? sim::Vector<FaultMessage>{write, read} : sim::Vector<FaultMessage>{read, write});
      Facts facts;
      for (const Access& access : b.registers.taken()) {
        if (access.address == kRegisters + reg::kMessageWord0) {
          facts[access.value == reg::kRetransmit ? "retries" : "aborts"] += 1;
        }
      }
      return facts;
    });
    INFO("write first " << write_first);
    CHECK(f == Facts{{"retries", 1}, {"aborts", 1}});
  }
}

TEST_CASE("the thread of an interrupt runs on any core before 4.19, since then where the interrupt is taken",
          "[irq-thread-stays]") {
  for (const auto version : {cpu::KernelVersion::linux_4_14, cpu::KernelVersion::linux_4_19}) {
    const Facts f = facts_from_child([version] {
      RdmaConfig parts;
      parts.cpu.kernel.version = version;
      parts.cpu.interrupt_core = 3;  // threads begin on core 0, the next one
      parts.library.fault_thread = exanest::FaultThreadClass::interrupt_thread;
      FaultBench b(FaultBench::strategy(Resolve::touch_a_page, 4, 512), parts);
      b.handle({fault(b.map(1))});
      return Facts{{"interrupt core", b.cpu.charged(3, cpu::Work::user) > Time{0}},
                   {"next core", b.cpu.charged(0, cpu::Work::user) > Time{0}}};
    });
    const bool stays = version == cpu::KernelVersion::linux_4_19;
    CHECK(f == Facts{{"interrupt core", stays}, {"next core", !stays}});
  }
}

namespace {

// An interrupt handler on core 3 delivers a message while a program polls on each of the `busy` cores, from the last
// one on. By 1 ms: has the fault thread answered, and has it changed cores?
Facts woken_beside_polling(exanest::FaultThreadClass kind, unsigned busy) {
  return facts_from_child([=] {
    RdmaConfig parts;
    parts.cpu.interrupt_core = 3;  // threads begin on core 0, the next one
    parts.library.fault_thread = kind;
    FaultBench b(FaultBench::strategy(Resolve::touch_a_page, 4, 512), parts);
    const std::uint64_t page = b.map(1);
    b.registers.taken();
    for (unsigned core = 4 - busy; core < 4; ++core) {
      b.tasks.start(b.cpu.run(b.cpu.new_thread("polls", core), cpu::Work::user, 10ms));
    }
    b.tasks.start([](FaultBench& bench, FaultMessage record) -> Task<void> {
      co_await bench.node.loop.until(kMessage);
      co_await bench.cpu.run(bench.cpu.irq_context(), cpu::Work::irq, 1us);
      bench.faults.open(1).deliver({record});
    }(b, fault(page)));
    sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
    return Facts{{"answered", !b.registers.taken().empty()}, {"moved", b.count("cpu.migrations")}};
  });
}

}  // namespace

// A process's wake-up is one with WF_SYNC, by which the thread that was interrupted does not count.
TEST_CASE(
    "a bound kworker waits for the interrupt's core, an unbound one for its own, and only a process moves there") {
  using enum exanest::FaultThreadClass;
  CHECK(woken_beside_polling(kworker_bound, 1) == Facts{{"answered", 0}, {"moved", 0}});
  CHECK(woken_beside_polling(kworker_unbound, 1) == Facts{{"answered", 1}, {"moved", 0}});
  CHECK(woken_beside_polling(process, 1) == Facts{{"answered", 1}, {"moved", 0}});
  CHECK(woken_beside_polling(kworker_bound, 4) == Facts{{"answered", 0}, {"moved", 0}});
  CHECK(woken_beside_polling(kworker_unbound, 4) == Facts{{"answered", 0}, {"moved", 0}});
  CHECK(woken_beside_polling(process, 4) == Facts{{"answered", 0}, {"moved", 1}});
}
