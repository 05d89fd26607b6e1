// SPDX-License-Identifier: Apache-2.0
// Interrupt handler, tasklet and netlink socket with a real SMMU.
#include "models/drivers/exanest/fault_service.hpp"
#include "models/drivers/exanest/steps.hpp"
#include "tests/support/child.hpp"
#include "tests/support/driver_bench.hpp"

using namespace faultline;
using namespace faultline::test;
namespace step = exanest::step;
using sim::Step;

namespace {

struct FaultBench : DriverBench {
  explicit FaultBench(const DriverConfig& wanted = {})
      : DriverBench(wanted),
        service(config.driver, node.context, cpu, interrupts, kLine, driver, log, kEngine),
        socket(service.open(process->id())) {
    smmu.observe_faults(log);
  }

  // A fault of a terminated access is recorded at `when`.
  Answer& fault_at(Time when) { return read(unmapped, when - (walk_end(Time{0}, 1))); }
  void push(std::uint64_t transfer) { engine.push(unmapped, process->id(), {transfer, 0, 0}); }
  static Task<void> push_at(FaultBench& b, Time when, std::uint64_t transfer) {
    co_await b.node.loop.until(when);
    b.push(transfer);
  }
  static Task<void> receive(FaultBench& b, sim::Vector<exanest::FaultMessage>& records) {
    records = co_await b.socket.receive(b.thread);
  }

  exanest::FaultLog log{node.context, vm};
  exanest::FaultService service;
  exanest::FaultSocket& socket;
  // Its tables exist and are in the walk cache, so that every fault takes one read.
  VirtualAddress unmapped = warm_tables();

  VirtualAddress warm_tables() {
    const VirtualAddress va = map_present(1);
    warm(va);
    return va + kPage;
  }
};

// A fault, and another that is recorded this long after the tasklet of the first has begun. Checks that each has its
// own handler and the first its tasklet.
struct TwoFaults {
  TwoFaults(FaultBench& b, Time later) {
    const Time raised = b.node.now() + 10us;
    const Time entered = raised + b.cpu_config.irq_to_handler;
    begun = entered + b.handler() + b.cpu_config.tasklet_delay;
    const Time again = begun + later;
    b.fault_at(raised);
    b.fault_at(again);
    b.tasks.start(FaultBench::push_at(b, raised + 1us, 5));
    b.tasks.start(FaultBench::push_at(b, again + 50ns, 6));
    b.run_until(raised + 200us);
    second = again + b.cpu_config.irq_to_handler;
    CHECK(b.at(step::kHandlerEntered, 5) == entered);
    CHECK(b.at(step::kHandlerDone, 5) == entered + b.handler());
    CHECK(b.at(step::kTaskletRun, 5) == begun);
    CHECK(b.at(step::kHandlerEntered, 6) == second);
    CHECK(b.at(step::kHandlerDone, 6) == second + b.handler());
  }
  Time begun;   // the tasklet
  Time second;  // the second fault's handler
};

}  // namespace

TEST_CASE("handler and tasklet of one fault, to the picosecond") {
  FaultBench b;
  const Time raised = b.node.now() + 10us;
  b.fault_at(raised);
  b.tasks.start(FaultBench::push_at(b, raised + 1us, 5));
  b.run_until(raised + 100us);
  const Time entered = raised + b.cpu_config.irq_to_handler;
  const Time begun = entered + b.handler() + b.cpu_config.tasklet_delay;
  CHECK(b.at(step::kHandlerEntered, 5) == entered);
  CHECK(b.at(step::kHandlerDone, 5) == entered + b.handler());
  CHECK(b.at(step::kTaskletRun, 5) == begun);
  CHECK(b.at(step::kMessageSent, 5) ==
        begun + 6 * b.cpu_config.mmio_read + b.cpu_config.mmio_write + b.config.driver.netlink_send);
}

TEST_CASE("records that are there when the tasklet begins have that beginning, however long it reads them") {
  FaultBench b;
  const Time raised = b.node.now() + 10us;
  b.fault_at(raised);
  for (const std::uint64_t transfer : {5, 6}) b.tasks.start(FaultBench::push_at(b, raised + 1us, transfer));
  b.run_until(raised + 100us);
  const Time entered = raised + b.cpu_config.irq_to_handler;
  for (const std::uint64_t transfer : {5, 6}) {
    CHECK(b.at(step::kHandlerEntered, transfer) == entered);
    CHECK(b.at(step::kTaskletRun, transfer) == entered + b.handler() + b.cpu_config.tasklet_delay);
  }
}

TEST_CASE("a fault while the tasklet reads the FIFO has its own handler and leaves the first fault's alone") {
  FaultBench b;
  // After the tasklet's first look at the FIFO, while it reads the record.
  const TwoFaults faults(b, 2 * b.cpu_config.mmio_read + 1ns);
  CHECK(b.at(step::kTaskletRun, 6) == faults.second + b.handler());  // it goes on with it at once
  CHECK(b.at(step::kMessageSent, 5) == b.at(step::kMessageSent, 6));
  CHECK(b.at(step::kMessageSent, 5) == faults.begun + b.cpu_config.irq_to_handler + b.handler() +
                                           11 * b.cpu_config.mmio_read + 2 * b.cpu_config.mmio_write +
                                           b.config.driver.netlink_send);
  CHECK(b.counted("driver.netlink_messages") == 1);
}

TEST_CASE("a fault while the tasklet sends its message comes with the tasklet's next run") {
  FaultBench b;
  const TwoFaults faults(b, 2us);
  CHECK(b.at(step::kTaskletRun, 6) == b.at(step::kMessageSent, 5) + b.cpu_config.tasklet_delay);
  CHECK(b.counted("driver.netlink_messages") == 2);
}

TEST_CASE("a record that the tasklet finds before its interrupt has no handler to wait for") {
  FaultBench b;
  const Time raised = b.node.now() + 10us;
  const Time begun = raised + b.cpu_config.irq_to_handler + b.handler() + b.cpu_config.tasklet_delay;
  b.fault_at(raised);
  b.tasks.start(FaultBench::push_at(b, raised + 1us, 5));
  b.tasks.start(FaultBench::push_at(b, begun + 2 * b.cpu_config.mmio_read, 6));
  b.run_until(raised + 200us);
  const Time found = begun + 6 * b.cpu_config.mmio_read + b.cpu_config.mmio_write;
  for (const Step step : std::initializer_list<Step>{step::kHandlerEntered, step::kHandlerDone, step::kTaskletRun})
    CHECK(b.at(step, 6) == found);
}

namespace {

// A fault, and records of its page and of another one.
sim::Vector<exanest::FaultMessage> beside_a_fault(bool hupcf) {
  DriverConfig config;
  config.smmu_driver.hupcf = hupcf;
  FaultBench b(config);
  const Time raised = b.node.now() + 10us;
  b.fault_at(raised);
  b.engine.push(b.unmapped, b.process->id(), {5, 0, 0});
  b.engine.push(b.unmapped + 8 * kPage, b.process->id(), {6, 0, 0});
  sim::Vector<exanest::FaultMessage> records;
  b.tasks.start(FaultBench::receive(b, records));
  b.run_until(raised + 200us);
  REQUIRE(records.size() == 2);
  return records;
}

}  // namespace

TEST_CASE("with HUPCF = 0 a record whose page FAR has not named may be of an access that was only held off") {
  const auto records = beside_a_fault(false);
  CHECK_FALSE(records[0].held_off);
  CHECK(records[1].held_off);
}

TEST_CASE("with HUPCF = 1 every record is of a fault") {
  for (const exanest::FaultMessage& record : beside_a_fault(true)) CHECK_FALSE(record.held_off);
}

TEST_CASE("what FAR named before the tasklet's run before is forgotten") {
  DriverConfig config;
  config.smmu_driver.hupcf = false;
  FaultBench b(config);
  sim::Vector<exanest::FaultMessage> records;
  // Of two runs of the tasklet the first is for the page of both records, the second is for another.
  for (unsigned run = 0; run < 2; ++run) {
    const Time raised = b.node.now() + 10us;
    if (run == 0) {
      b.fault_at(raised);
    } else {
      b.read(b.unmapped + kPage, raised - b.walk_end(Time{0}, 1));
    }
    b.tasks.start(FaultBench::push_at(b, raised + 1us, run));
    b.run_until(raised + 200us);
  }
  b.tasks.start(FaultBench::receive(b, records));
  b.run_until(b.node.now() + 100us);
  REQUIRE(records.size() == 2);
  CHECK_FALSE(records[0].held_off);
  CHECK(records[1].held_off);
}

TEST_CASE("a full socket refuses messages and counts their records") {
  DriverConfig config;
  config.driver.netlink_socket_records = 2;
  FaultBench b(config);
  const auto fault = [&b](std::uint64_t transfer, unsigned records) {
    const Time raised = b.node.now() + 10us;
    b.fault_at(raised);
    for (unsigned i = 0; i < records; ++i) b.tasks.start(FaultBench::push_at(b, raised + 1us, transfer + i));
    b.run_until(raised + 100us);
  };
  fault(1, 1);
  fault(2, 2);  // one record waits, so there is room
  CHECK(b.counted("driver.undelivered_records") == 0);
  fault(4, 3);
  CHECK(b.counted("driver.undelivered_records") == 3);
  CHECK(b.counted("driver.fault_records") == 3);
  CHECK(b.counted("driver.netlink_messages") == 3);
  CHECK(b.at(step::kMessageSent, 4) == Time{-1});
  sim::Vector<exanest::FaultMessage> records;
  b.tasks.start(FaultBench::receive(b, records));
  b.run_until(b.node.now() + 100us);
  REQUIRE(records.size() == 3);
  CHECK(records[2].key.transfer == 3);
  fault(7, 1);
  CHECK(b.counted("driver.undelivered_records") == 3);
  CHECK(b.counted("driver.fault_records") == 4);
}

namespace {

DriverConfig stalling(bool holds_interrupt) {
  DriverConfig config;
  config.stall_on_fault = true;
  config.smmu.stall_holds_interrupt = holds_interrupt;
  return config;
}

// A stalled access: interrupted once however long it is looked at, then resolved and resumed.
void check_stall(bool holds_interrupt) {
  FaultBench b(stalling(holds_interrupt));
  const VirtualAddress va = b.vm.map(*b.process, 2 * kPage).value;
  const Time mask = holds_interrupt ? b.cpu_config.mmio_write : Time{0};
  for (unsigned n = 0; n < 2; ++n) {
    INFO(n);
    const Answer& answer = b.read(va + n * kPage, b.node.now() + 1us);
    b.run_until(b.node.now() + 1ms);
    CHECK(b.counted("driver.fault_interrupts") == n + 1);
    CHECK(b.counted("cpu.interrupts") == n + 1);
    CHECK(b.counted("driver.fault_records") == n + 1);
    CHECK(answer.status == tlm::TLM_INCOMPLETE_RESPONSE);
    REQUIRE(b.vm.make_present(*b.process, va + n * kPage, kPage) == Error::none);
    const Time irq = b.cpu.irq_context().time(cpu::Work::irq);
    CHECK(irq == (n + 1) * (b.cpu_config.irq_to_handler + b.handler() + mask));
    const auto resumed = [](exanest::FaultService& service, cpu::Execution& thread) -> Task<bool> {
      co_await service.resume(thread, 0, true);
      co_return true;
    };
    CHECK(b.run(resumed(b.service, b.thread)).took == b.config.driver.resume_call + b.cpu_config.mmio_write + mask);
    CHECK(answer.status == tlm::TLM_OK_RESPONSE);
  }
  CHECK(b.counted("cpu.interrupts") == 2);
}

}  // namespace

TEST_CASE("a stalled access interrupts once") { check_stall(false); }
TEST_CASE("a stalled access interrupts once though it holds the line") { check_stall(true); }

TEST_CASE("a fault of a masked bank interrupts when the bank is resumed") {
  FaultBench b(stalling(true));
  const VirtualAddress va = b.vm.map(*b.process, 2 * kPage).value;
  const Answer& first = b.read(va, b.node.now() + 1us);
  b.run_until(b.node.now() + 1ms);
  const Answer& second = b.read(va + kPage, b.node.now() + 1us);
  b.run_until(b.node.now() + 1ms);
  CHECK(b.counted("driver.fault_interrupts") == 1);
  sim::Vector<exanest::FaultMessage> records;
  b.tasks.start(FaultBench::receive(b, records));
  b.run_until(b.node.now() + 1ms);
  REQUIRE(records.size() == 1);
  CHECK(records[0].page == va);
  REQUIRE(b.vm.make_present(*b.process, va, kPage) == Error::none);
  b.tasks.start(b.service.resume(b.thread, 0, true));
  b.run_until(b.node.now() + 1ms);
  CHECK(first.status == tlm::TLM_OK_RESPONSE);
  CHECK(second.status == tlm::TLM_INCOMPLETE_RESPONSE);
  CHECK(b.counted("driver.fault_interrupts") == 2);
  b.tasks.start(FaultBench::receive(b, records));
  b.run_until(b.node.now() + 1ms);
  CHECK(records.at(0).page == va + kPage);
  REQUIRE(b.vm.make_present(*b.process, va + kPage, kPage) == Error::none);
  b.tasks.start(b.service.resume(b.thread, 0, true));
  b.run_until(b.node.now() + 1ms);
  CHECK(second.status == tlm::TLM_OK_RESPONSE);
  CHECK(b.counted("cpu.interrupts") == 2);
}

TEST_CASE("whenever stalled accesses are tried again while the handler runs, and fault again, a message tells of it") {
  FaultBench b(stalling(false));
  constexpr unsigned kInstants = 128;
  const VirtualAddress begin = b.vm.map(*b.process, 2 * kInstants * kPage).value;
  cpu::Execution& elsewhere = b.cpu.new_thread("elsewhere", b.cpu.config().interrupt_core + 1);
  const auto resume_at = [&b, &elsewhere](Time when) -> Task<void> {
    co_await b.node.loop.until(when);
    co_await b.service.resume(elsewhere, 0, true);
  };
  for (unsigned n = 0; n < kInstants; ++n) {
    INFO(n);
    const Time at = b.node.now() + 1us;
    const std::uint64_t told = b.counted("driver.fault_records");
    // Two, so that MULTI stands before the handler comes.
    const VirtualAddress va = begin + 2 * n * kPage;
    const Answer& first = b.read(va, at);
    const Answer& second = b.read(va + kPage, at);
    // At any time before the handler and in it: a thread has to get its core first.
    b.tasks.start(resume_at(at + (b.cpu_config.irq_to_handler + b.handler()) * n / kInstants));
    b.run_until(at + 1ms);
    CHECK(b.counted("smmu.stalls") == 4 * (n + 1));
    CHECK(b.counted("driver.fault_records") > told);
    sim::Vector<exanest::FaultMessage> records;
    b.tasks.start(FaultBench::receive(b, records));
    b.run_until(b.node.now() + 1ms);
    REQUIRE(b.vm.make_present(*b.process, va, 2 * kPage) == Error::none);
    b.tasks.start(b.service.resume(b.thread, 0, true));
    b.run_until(b.node.now() + 1ms);
    CHECK(first.status == tlm::TLM_OK_RESPONSE);
    CHECK(second.status == tlm::TLM_OK_RESPONSE);
  }
}

TEST_CASE("a stalled access that no message can tell of is terminated") {
  DriverConfig config = stalling(false);
  config.driver.netlink_socket_records = 1;
  FaultBench b(config);
  const VirtualAddress va = b.vm.map(*b.process, 2 * kPage).value;
  const Answer& told = b.read(va, b.node.now() + 1us);
  b.run_until(b.node.now() + 1ms);
  CHECK(told.status == tlm::TLM_INCOMPLETE_RESPONSE);
  // RESUME acts on the whole bank, so the first access goes, too.
  const Answer& lost = b.read(va + kPage, b.node.now() + 1us);
  b.run_until(b.node.now() + 1ms);
  CHECK(b.counted("driver.undelivered_records") == 1);
  CHECK(lost.status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
  CHECK(told.status == tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

// Each core has a thread that polls. A socket wakes with WF_SYNC, by which the one that was interrupted does not count.
TEST_CASE("with no core idle a socket's reader goes to the interrupt's core, a kernel thread stays where it is") {
  for (const cpu::Waking how : {cpu::Waking::sync, cpu::Waking::plain}) {
    const Facts f = facts_from_child([how] {
      FaultBench b;
      cpu::Execution& reader = b.cpu.new_thread("reader");
      const unsigned home = reader.core();
      REQUIRE(home != b.cpu.config().interrupt_core);
      for (unsigned core = 0; core < b.cpu.config().cores; ++core) {
        b.tasks.start(b.cpu.run(b.cpu.new_thread("polls", core), cpu::Work::user, 10ms));
      }
      const Time raised = b.node.now() + 10us;
      b.fault_at(raised);
      b.tasks.start(FaultBench::push_at(b, raised + 1us, 5));
      b.tasks.start([](FaultBench& bench, cpu::Execution& thread, cpu::Waking kind) -> Task<void> {
        if (kind == cpu::Waking::sync) {
          co_await bench.socket.receive(thread);
        } else {
          co_await bench.socket.receive(thread, kind);
        }
      }(b, reader, how));
      b.run_until(raised + 200us);
      return Facts{{"sent", b.counted("driver.netlink_messages") == 1},
                   {"at home", reader.core() == home},
                   {"interrupt core", reader.core() == b.cpu.config().interrupt_core}};
    });
    const bool joins = how == cpu::Waking::sync;
    CHECK(f == Facts{{"sent", 1}, {"at home", !joins}, {"interrupt core", joins}});
  }
}
