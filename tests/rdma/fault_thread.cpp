// SPDX-License-Identifier: Apache-2.0
// The fault thread, from the kernel's message to the request that goes to the firmware or the SMMU.
#include "models/rdma/fault_thread.hpp"

#include "models/smmu/registers.hpp"
#include "tests/rdma/bench.hpp"
#include "tests/support/child.hpp"

using namespace faultline;
using namespace faultline::test;
using os::FaultRecord;
using rdma::Resolve;
using sim::BlockKey;
using sim::Step;

namespace {

constexpr sim::NodeId kPeer = 6;
constexpr Time kMessage = 20us;  // when the kernel delivers

struct FaultBench : RdmaBench {
  explicit FaultBench(Resolve resolve, unsigned ahead = 4, unsigned a_call = 512)
      : FaultBench(strategy(resolve, ahead, a_call)) {}
  explicit FaultBench(const rdma::Strategy& wanted, const RdmaConfig& parts = {})
      : RdmaBench(parts), fault_thread(wanted, node.context, cpu, vm, faults, library) {}

  static rdma::Strategy strategy(Resolve resolve, unsigned ahead, unsigned a_call) {
    rdma::Strategy wanted;
    wanted.resolve = resolve;
    wanted.touch_ahead_pages = ahead;
    wanted.call_pages = a_call;
    return wanted;
  }
  void deliver(sim::Vector<FaultRecord> records, Time when = kMessage, std::uint32_t pdid = 1) {
    tasks.start(deliver_at(*this, std::move(records), when, pdid));
  }
  static Task<void> deliver_at(FaultBench& b, sim::Vector<FaultRecord> records, Time when, std::uint32_t pdid) {
    co_await b.node.loop.until(when);
    b.faults.open(pdid).deliver(std::move(records));
  }
  // Attaches the process to the SMMU; its bank.
  unsigned attach() {
    os::Process* first = vm.create_process("in bank 0");
    REQUIRE(driver.attach(*first, first->page_table().root(), true) == Error::none);
    REQUIRE(driver.attach(process, process.page_table().root(), true) == Error::none);
    registers.taken();
    return 1;
  }
  // One message, to the end of all that it causes.
  void handle(sim::Vector<FaultRecord> records) {
    deliver(std::move(records));
    settle();
  }

  std::int64_t count(std::string_view name) const { return static_cast<std::int64_t>(counted(name)); }

  // The thread, woken by the message, has parsed it.
  Time woken() const { return kMessage + config.cpu.context_switch + config.kernel.netlink_receive; }
  Time parsed() const { return woken() + config.library.parse_fault; }
  Time retry() const { return config.library.post_retry + 4 * config.cpu.mmio_write; }
  Time abort() const { return config.library.post_retry + 3 * config.cpu.mmio_write; }
  // One get_user_pages call.
  Time call(unsigned pages, unsigned cold) const {
    return config.os.syscall + pages * config.os.gup_per_page + cold * cold_page();
  }
  Accesses resend_of(Time from, const BlockKey& key) const {
    return message(from, {5, key.transfer, key.block | std::uint64_t{key.attempt} << 32});
  }
  // The register accesses of answers that begin at `from`.
  Accesses retry_of(Time from, const BlockKey& key) const {
    return message(from, {1, key.transfer, key.block | std::uint64_t{key.attempt} << 32});
  }
  Accesses abort_of(Time from, const BlockKey& key) const { return message(from, {4, key.transfer}); }
  Accesses message(Time from, const std::vector<std::uint64_t>& words) const {
    Time at = from + config.library.post_retry;
    Accesses expected;
    for (std::size_t i = 0; i < words.size(); ++i) {
      at += config.cpu.mmio_write;
      expected.push_back({at, kRegisters + reg::kMessageWord0 + 8 * i, words[i]});
    }
    const std::uint64_t send = kPeer | words.size() << 48 | reg::kMessageToFirmware << 56;
    expected.push_back({at + config.cpu.mmio_write, kRegisters + reg::kMessageSend, send});
    return expected;
  }

  rdma::FaultThread fault_thread;
};

FaultRecord fault(std::uint64_t page, std::uint32_t block = 0, bool write = true) {
  FaultRecord record;
  record.page = page;
  record.write = write;
  record.peer = kPeer;
  record.key = {40, block, 2};
  return record;
}

FaultRecord stalled(std::uint64_t page, unsigned bank) {
  FaultRecord record;
  record.page = page;
  record.write = true;
  record.stalled = true;
  record.bank = bank;
  return record;
}

Accesses operator+(Accesses first, const Accesses& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

Access resumed(const FaultBench& b, Time from, unsigned bank, std::uint64_t how) {
  return {from + b.config.kernel.resume_call + b.config.cpu.mmio_write,
          kSmmu + smmu::reg::context_bank(bank) + smmu::reg::cb::kRESUME, how};
}

}  // namespace

TEST_CASE("touch-a-page makes the page present and asks for the block again") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t buffer = b.map(4);
  b.handle({fault(buffer + kPage)});
  const Time resolved = b.parsed() + b.cold_page();
  CHECK(b.at(Step::library_woken) == std::vector{b.woken()});
  CHECK(b.at(Step::resolve_begin) == std::vector{b.parsed()});
  CHECK(b.at(Step::resolve_end) == std::vector{resolved});
  CHECK(b.at(Step::retry_requested) == std::vector{resolved + b.retry()});
  for (const sim::StepRecord& record : b.steps) CHECK(record.key == BlockKey{40, 0, 2});
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

TEST_CASE("touch-ahead makes as many pages present as it is told to") {
  FaultBench b(Resolve::touch_ahead, 3);
  const std::uint64_t buffer = b.map(6);
  REQUIRE(b.vm.make_present(b.process, buffer + 2 * kPage, kPage) == Error::none);
  b.handle({fault(buffer + kPage)});
  const Time resolved = b.parsed() + b.call(3, 2);
  CHECK(b.at(Step::resolve_begin) == std::vector{b.parsed()});
  CHECK(b.at(Step::resolve_end) == std::vector{resolved});
  CHECK(b.registers.taken() == b.retry_of(resolved, {40, 0, 2}));
  CHECK(b.pages(buffer, 6) == "-ddd--");
}

TEST_CASE("touch-ahead ends where the mapping ends") {
  FaultBench b(Resolve::touch_ahead, 4);
  const std::uint64_t buffer = b.map(3);
  b.handle({fault(buffer + kPage)});
  CHECK(b.registers.taken() == b.retry_of(b.parsed() + b.call(2, 2), {40, 0, 2}));
  CHECK(b.pages(buffer, 3) == "-dd");
}

TEST_CASE("touch-ahead that runs out of memory behind the faulting page has resolved that") {
  FaultBench b(Resolve::touch_ahead, 4);
  const std::uint64_t buffer = b.map(5);
  REQUIRE(b.vm.make_present(b.process, buffer, kPage) == Error::none);
  b.leave_free(2);
  b.handle({fault(buffer + kPage)});
  CHECK(b.registers.taken() == b.retry_of(b.parsed() + b.call(2, 2) + b.config.os.anon_minor_fault, {40, 0, 2}));
  CHECK(b.pages(buffer, 5) == "cdd--");
  CHECK(b.counted("library.pages_resolved") == 1);
}

TEST_CASE("without memory for the faulting page touch-ahead aborts the transfer") {
  FaultBench b(Resolve::touch_ahead, 4);
  const std::uint64_t buffer = b.map(2);
  b.leave_free(0);
  b.handle({fault(buffer)});
  CHECK(b.registers.taken() == b.abort_of(b.parsed() + b.config.os.syscall + b.config.os.anon_minor_fault, {40, 0, 2}));
  CHECK(b.counted("library.faults_refused") == 1);
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
  CHECK(b.at(Step::resolve_end) == std::vector{b.parsed() + b.config.os.fault_no_alloc});
  CHECK(b.at(Step::retry_requested).empty());
  CHECK(b.counted("library.faults_refused") == 1);
  CHECK(b.counted("library.pages_resolved") == 0);
}

TEST_CASE("a fault where nothing is mapped aborts the transfer, by touch-ahead") {
  FaultBench b(Resolve::touch_ahead);
  const std::uint64_t nowhere = b.map(1) + kPage;
  b.handle({fault(nowhere, 0, false)});
  CHECK(b.registers.taken() == b.abort_of(b.parsed() + b.config.os.syscall + b.config.os.fault_no_alloc, {40, 0, 2}));
  CHECK(b.at(Step::retry_requested).empty());
}

namespace {

rdma::Strategy on_private_table() {
  rdma::Strategy strategy = FaultBench::strategy(Resolve::touch_a_page, 1, 512);
  strategy.translate = rdma::Translate::private_;
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
  FaultRecord record = fault(b.map(1));
  record.held_off = true;
  b.handle({record});
  CHECK(b.registers.taken() == b.resend_of(b.parsed(), {40, 0, 2}));
  CHECK(b.counted("library.held_off") == 1);
  CHECK(b.counted("library.faults_refused") == 0);
}

TEST_CASE("where faults are resolved the page of an access that was held off is made present, too") {
  FaultBench b(Resolve::touch_a_page);
  FaultRecord record = fault(b.map(1));
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
  CHECK(b.at(Step::library_woken) == std::vector(3, b.woken()));
  CHECK(b.at(Step::resolve_end) == std::vector{first, second, third});
  CHECK(b.counted("library.pages_resolved") == 2);
  CHECK(b.counted("library.faults_merged") == 1);
}

TEST_CASE("records of one page that is not mapped are refused once and each aborts its transfer") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t nowhere = b.map(1) + kPage;
  FaultRecord other = fault(nowhere);
  other.key.transfer = 41;
  b.handle({fault(nowhere), other});
  const Time first = b.parsed() + b.config.os.fault_no_alloc;
  CHECK(b.registers.taken() == b.abort_of(first, {40, 0, 2}) + b.abort_of(first + b.abort(), {41, 0, 2}));
  CHECK(b.counted("library.faults_refused") == 1);
  CHECK(b.counted("library.faults_merged") == 1);
}

TEST_CASE("a page that touch-ahead has brought along is asked for again, at the cost of finding it") {
  FaultBench b(Resolve::touch_ahead, 2);
  const std::uint64_t buffer = b.map(8);
  b.handle({fault(buffer, 7), fault(buffer + kPage, 8)});
  const Time first = b.parsed() + b.call(2, 2);
  const Time second = first + b.retry() + b.call(2, 1);
  CHECK(b.registers.taken() == b.retry_of(first, {40, 7, 2}) + b.retry_of(second, {40, 8, 2}));
  CHECK(b.pages(buffer, 8) == "ddd-----");
}

TEST_CASE("a message that comes while one is handled is next, without a wake-up") {
  FaultBench b(Resolve::touch_a_page);
  const std::uint64_t buffer = b.map(2);
  b.deliver({fault(buffer, 7)});
  b.deliver({fault(buffer, 8)}, b.parsed());
  b.settle();
  const Time first = b.parsed() + b.cold_page();
  const Time again = first + b.retry() + b.config.kernel.netlink_receive;
  const Time second = again + b.config.library.parse_fault + b.config.os.resident_touch;
  CHECK(b.at(Step::library_woken) == std::vector{b.woken(), again});
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
  REQUIRE(b.steps.size() == 1);
  CHECK(b.steps[0].step == sim::Step::stall_resumed);
  CHECK(b.steps[0].key == BlockKey{});  // the block is not known
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
      os::FaultRecord read = fault(mapped.value, 7);
      read.write = false;
      os::FaultRecord write = fault(mapped.value, 8);
      write.write = true;
      b.registers.taken();
      b.handle(write_first ? sim::Vector<FaultRecord>{write, read} : sim::Vector<FaultRecord>{read, write});
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

TEST_CASE("with several calls the fault is answered after the first, and the others follow") {
  FaultBench b(Resolve::touch_ahead, 10, 4);
  const std::uint64_t buffer = b.map(12);
  b.handle({fault(buffer + kPage)});
  const Time resolved = b.parsed() + b.call(4, 4);
  CHECK(b.at(Step::resolve_end) == std::vector{resolved});
  CHECK(b.registers.taken() == b.retry_of(resolved, {40, 0, 2}));
  CHECK(b.pages(buffer, 12) == "-dddddddddd-");
  CHECK(b.counted("library.calls_ahead") == 2);
  // Each look for further faults is a system call.
  const Time user = b.config.library.parse_fault + b.retry();
  const Time system =
      b.config.kernel.netlink_receive + b.call(4, 4) + 2 * b.config.os.syscall + b.call(4, 4) + b.call(2, 2);
  CHECK(b.node.now() == b.woken() - b.config.kernel.netlink_receive + user + system);
}

TEST_CASE("one call that covers all pages is answered when it is done, whatever more it might cover") {
  for (const unsigned a_call : {10U, 512U}) {
    const Facts f = facts_from_child([=] {
      FaultBench b(Resolve::touch_ahead, 10, a_call);
      const std::uint64_t buffer = b.map(12);
      b.handle({fault(buffer)});
      return Facts{{"in time", b.registers.taken() == b.retry_of(b.parsed() + b.call(10, 10), {40, 0, 2})},
                   {"calls", b.count("library.calls_ahead")}};
    });
    CHECK(f == Facts{{"in time", 1}, {"calls", 0}});
  }
}

TEST_CASE("a fault that comes during a call is answered before the calls that are left") {
  FaultBench b(Resolve::touch_ahead, 12, 4);
  const std::uint64_t buffer = b.map(24);
  const Time answered = b.parsed() + b.call(4, 4) + b.retry();
  const Time second_call = answered + b.config.os.syscall;
  b.deliver({fault(buffer, 7)});
  // Of the pages that the last call is to bring.
  b.deliver({fault(buffer + 8 * kPage, 9)}, second_call + Time{1});
  b.settle();
  const Time woken = second_call + b.call(4, 4) + b.config.kernel.netlink_receive;
  const Time resolved = woken + b.config.library.parse_fault + b.call(4, 4);
  CHECK(b.at(Step::library_woken) == std::vector{b.woken(), woken});
  CHECK(b.registers.taken() == b.retry_of(b.parsed() + b.call(4, 4), {40, 7, 2}) + b.retry_of(resolved, {40, 9, 2}));
  // What both asked for is brought once: pages 12 to 19 are left, in two calls.
  CHECK(b.pages(buffer, 24) == "dddddddddddddddddddd----");
  CHECK(b.counted("library.calls_ahead") == 1 + 2);
}

TEST_CASE("a fault that comes as the socket is looked at waits for one call and no longer") {
  FaultBench b(Resolve::touch_ahead, 12, 4);
  const std::uint64_t buffer = b.map(24);
  const Time answered = b.parsed() + b.call(4, 4) + b.retry();
  b.deliver({fault(buffer, 7)});
  b.deliver({fault(buffer, 8)}, answered - Time{1});
  b.settle();
  const Time woken = answered + b.config.kernel.netlink_receive;
  CHECK(b.at(Step::library_woken) == std::vector{b.woken(), woken});
  CHECK(b.registers.taken() == b.retry_of(b.parsed() + b.call(4, 4), {40, 7, 2}) +
                                   b.retry_of(woken + b.config.library.parse_fault + b.call(4, 0), {40, 8, 2}));
  CHECK(b.counted("library.calls_ahead") == 2);
}

TEST_CASE("the calls that are left end where the mapping or the memory ends") {
  for (const bool memory : {false, true}) {
    const Facts f = facts_from_child([=] {
      FaultBench b(Resolve::touch_ahead, 64, 4);
      const std::uint64_t buffer = b.map(memory ? 64 : 6);
      REQUIRE(b.vm.make_present(b.process, buffer, kPage) == Error::none);
      if (memory) b.leave_free(5);
      b.handle({fault(buffer)});
      return Facts{{"present", b.pages(buffer, 6) == "dddddd"},
                   {"calls", b.count("library.calls_ahead")},
                   {"refused", b.count("library.faults_refused")},
                   {"answered", std::ssize(b.at(Step::retry_requested))}};
    });
    INFO("memory " << memory);
    CHECK(f == Facts{{"present", 1}, {"calls", 1}, {"refused", 0}, {"answered", 1}});
  }
}

TEST_CASE("the thread of an interrupt runs on any core before 4.19, since then where the interrupt is taken") {
  for (const auto version : {cpu::KernelVersion::linux_4_14, cpu::KernelVersion::linux_4_19}) {
    const Facts f = facts_from_child([version] {
      RdmaConfig parts;
      parts.cpu.kernel.version = version;
      parts.cpu.interrupt_core = 3;  // threads begin on core 0, the next one
      parts.library.fault_thread = rdma::FaultThreadClass::interrupt_thread;
      FaultBench b(FaultBench::strategy(Resolve::touch_a_page, 4, 512), parts);
      b.handle({fault(b.map(1))});
      return Facts{{"interrupt core", b.cpu.charged(3, cpu::Work::user) > Time{0}},
                   {"next core", b.cpu.charged(0, cpu::Work::user) > Time{0}}};
    });
    const bool stays = version == cpu::KernelVersion::linux_4_19;
    CHECK(f == Facts{{"interrupt core", stays}, {"next core", !stays}});
  }
}
