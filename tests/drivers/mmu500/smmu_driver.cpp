// SPDX-License-Identifier: Apache-2.0
// What unmapping costs with a real SMMU, and that no device uses a frame any more when it is freed.
#include "tests/support/driver_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr unsigned kLimit = 4;

DriverConfig with(mmu500::TlbMaintenance maintenance) {
  DriverConfig config;
  config.smmu_driver.tlb_maintenance = maintenance;
  config.os.tlbi_page_limit = kLimit;
  return config;
}

// The driver reads TLBSTATUS until the sync is over.
Time polled(const DriverBench& b, Time sync) {
  const Time read = b.cpu_config.mmio_read;
  return read * ((sync + read - Time{1}) / read);
}

Task<void> sample(DriverBench& b, Time when, std::uint64_t& used) {
  co_await b.node.loop.until(when);
  used = b.vm.frames().used_pages();
}

// Unmaps a page under a stream of accesses, of which the last to find a translation comes 1 ps before `gone`. Checks
// that all those are answered from memory, that the frame is freed at `end` and not earlier, and that it is not in use
// any more by then.
void check_drained(DriverBench& b, VirtualAddress va, Time begin, Time gone, Time end) {
  std::vector<Time> sent;
  std::vector<const Answer*> answers;
  const Time interval = 100ns;
  for (Time at = gone - Time{1} - 60 * interval; at < end + 5us; at += interval) {
    sent.push_back(at);
    answers.push_back(&b.read(va, at));
  }
  const auto before = b.vm.frames().used_pages();
  std::uint64_t used = 0;
  b.tasks.start(sample(b, end - Time{1}, used));
  Timed<Error> unmapped;
  b.tasks.start(measure(b.node, b.cpu, b.thread, b.vm.munmap(b.thread, *b.process, va, kPage), unmapped));
  b.run_until(end + 50us);
  CHECK(unmapped.value == Error::none);
  CHECK(unmapped.took == end - begin);
  CHECK(used == before);
  CHECK(b.vm.frames().used_pages() == before - 3);  // the page and two tables
  for (std::size_t i = 0; i < sent.size(); ++i) {
    INFO(i);
    REQUIRE((answers[i]->status == tlm::TLM_OK_RESPONSE) == (sent[i] < gone));
    if (sent[i] < gone) REQUIRE(answers[i]->at[0] <= end);
  }
}

// Operations on a range of so many pages.
unsigned operations(unsigned pages) { return pages < kLimit ? pages : 1; }

// Pages that are pinned into a private table.
struct Pinned {
  Pinned(DriverBench& b, unsigned pages)
      : va(b.map_present(pages)),
        pin(b.run(b.vm.pin_user_pages(b.thread, *b.process, va, pages * kPage, true)).value.value),
        table(*b.vm.create_private_table(*b.process).value) {
    REQUIRE(b.run(b.vm.map_pinned(b.thread, table, pin)).value == Error::none);
  }
  VirtualAddress va;
  os::PinId pin;
  os::PrivateTable& table;
};

// The CPU's operations, and a DSB as long as the SMMU needs.
void check_broadcasts(Time latency) {
  DriverConfig config = with(mmu500::TlbMaintenance::dvm);
  config.smmu.dvm_invalidate_latency = latency;
  DriverBench b(config);
  const os::OsConfig& os = b.config.os;
  REQUIRE(os.cpu_dsb == 350ns);
  std::uint64_t done = 0;
  for (const unsigned pages : {1u, kLimit - 1, kLimit, kLimit + 1}) {
    INFO(pages);
    const Time broadcasts = operations(pages) * os.cpu_tlbi + std::max(os.cpu_dsb, latency);
    const Pinned pinned(b, pages);
    CHECK(b.run(b.vm.unmap_pinned(b.thread, pinned.table, pinned.pin)).took ==
          pages * os.private_map_per_page + broadcasts);
    CHECK(b.counted("smmu.tlb_invalidations") == (done += operations(pages)));
    CHECK(b.run(b.vm.munmap(b.thread, *b.process, pinned.va, pages * kPage)).took == os.munmap_fixed + broadcasts);
    CHECK(b.counted("smmu.tlb_invalidations") == (done += operations(pages)));
  }
  CHECK(b.counted("smmu.tlb_syncs") == 0);
}

}  // namespace

TEST_CASE("unmapping by registers: a write a page, or one from the limit on, then a sync") {
  DriverBench b(with(mmu500::TlbMaintenance::mmio));
  const os::OsConfig& os = b.config.os;
  std::uint64_t done = 0;
  std::uint64_t syncs = 0;
  for (const unsigned pages : {1u, kLimit - 1, kLimit, kLimit + 1}) {
    INFO(pages);
    const Time by_registers = (operations(pages) + 1) * b.cpu_config.mmio_write + polled(b, b.config.smmu.tlb_sync);
    const Pinned pinned(b, pages);
    // Nobody walks the private table here: the bank has the process's own.
    CHECK(b.run(b.vm.unmap_pinned(b.thread, pinned.table, pinned.pin)).took == pages * os.private_map_per_page);
    CHECK(b.counted("smmu.tlb_invalidations") == done);
    CHECK(b.run(b.vm.munmap(b.thread, *b.process, pinned.va, pages * kPage)).took ==
          os.munmap_fixed + operations(pages) * os.cpu_tlbi + os.cpu_dsb + by_registers);
    CHECK(b.counted("smmu.tlb_invalidations") == (done += operations(pages)));
    CHECK(b.counted("smmu.tlb_syncs") == ++syncs);
  }
}

TEST_CASE("by registers the SMMU hears of changes of the table that it walks, and of no other") {
  DriverBench b(with(mmu500::TlbMaintenance::mmio));
  const os::OsConfig& os = b.config.os;
  constexpr unsigned kPages = 3;
  const Time by_registers = (kPages + 1) * b.cpu_config.mmio_write + polled(b, b.config.smmu.tlb_sync);
  os::Process& process = *b.vm.create_process("private");
  os::PrivateTable& table = *b.vm.create_private_table(process).value;
  REQUIRE(b.driver.attach(process, stream_of(process), table.root(), false) == Error::none);
  const VirtualAddress va = b.vm.map(process, kPages * kPage).value;
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, process, va, kPages * kPage, true)).value.value;
  REQUIRE(b.run(b.vm.map_pinned(b.thread, table, pin)).value == Error::none);
  // No core walks the private table, so that the CPU's own TLB is not concerned.
  CHECK(b.run(b.vm.unmap_pinned(b.thread, table, pin)).took == kPages * os.private_map_per_page + by_registers);
  CHECK(b.counted("smmu.tlb_invalidations") == kPages);
  CHECK(b.run(b.vm.munmap(b.thread, process, va, kPages * kPage)).took ==
        os.munmap_fixed + kPages * os.cpu_tlbi + os.cpu_dsb);
  CHECK(b.counted("smmu.tlb_invalidations") == kPages);
}

TEST_CASE("unmapping by broadcast with the SMMU done before the CPUs") { check_broadcasts(Time{349'999}); }
TEST_CASE("unmapping by broadcast with the SMMU done with the CPUs") { check_broadcasts(350ns); }
TEST_CASE("unmapping by broadcast with the SMMU done after the CPUs") { check_broadcasts(Time{350'001}); }

TEST_CASE("the core is busy while it waits for the SMMU") {
  DriverConfig config = with(mmu500::TlbMaintenance::dvm);
  config.smmu.dvm_invalidate_latency = 50us;
  DriverBench b(config);
  const VirtualAddress va = b.map_present(1);
  const Time before = b.thread.time(cpu::Work::system);
  const auto unmapped = b.run(b.vm.munmap(b.thread, *b.process, va, kPage));
  CHECK(unmapped.took == b.config.os.munmap_fixed + b.config.os.cpu_tlbi + 50us);
  CHECK(b.thread.time(cpu::Work::system) - before == kSwitch + unmapped.took);
}

TEST_CASE("by broadcast a frame is freed when the SMMU has dropped it and the last access is answered") {
  DriverConfig config = with(mmu500::TlbMaintenance::dvm);
  config.smmu.dvm_invalidate_latency = 5us;
  config.memory_latency = 3us;
  DriverBench b(config);
  const VirtualAddress va = b.map_present(1);
  b.warm(va);
  const Time begin = b.node.now() + kSwitch;
  const Time gone = begin + b.config.os.munmap_fixed + b.config.os.cpu_tlbi + 5us;
  check_drained(b, va, begin, gone, gone - Time{1} + b.hit() + 3us);
}

TEST_CASE("by registers a frame is freed when the sync has waited for the last access") {
  DriverConfig config = with(mmu500::TlbMaintenance::mmio);
  config.memory_latency = 3us;
  DriverBench b(config);
  const VirtualAddress va = b.map_present(1);
  b.warm(va);
  const Time begin = b.node.now() + kSwitch;
  const Time gone =
      begin + b.config.os.munmap_fixed + b.config.os.cpu_tlbi + b.config.os.cpu_dsb + b.cpu_config.mmio_write;
  const Time sync = gone + b.cpu_config.mmio_write;
  check_drained(b, va, begin, gone, sync + polled(b, gone - Time{1} + b.hit() + 3us - sync));
}

TEST_CASE("two cores' broadcasts do not wait for each other's accesses") {
  DriverConfig config = with(mmu500::TlbMaintenance::dvm);
  config.smmu.dvm_invalidate_latency = 5us;
  config.memory_latency = 3us;
  DriverBench b(config);
  const VirtualAddress first = b.map_present(1);
  const VirtualAddress second = b.map_present(1);
  b.warm(first);
  b.warm(second);
  Process& other_process = *b.vm.create_process("other");  // has a lock of its own
  const auto alone = b.vm.map(other_process, kPage);
  REQUIRE(b.vm.make_present(other_process, alone.value, kPage) == Error::none);
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  const Time begin = b.node.now() + kSwitch;
  const Time gone = begin + b.config.os.munmap_fixed + b.config.os.cpu_tlbi + 5us;
  // It leaves when the first sync has come and the second has not.
  const Time late = gone + 500ns;
  b.read(second, late);
  Timed<Error> one, two;
  b.tasks.start(measure(b.node, b.cpu, b.thread, b.vm.munmap(b.thread, *b.process, first, kPage), one));
  sc_core::sc_start(sim::to_sc_time(1us));
  b.tasks.start(measure(b.node, b.cpu, other, b.vm.munmap(other, other_process, alone.value, kPage), two));
  sc_core::sc_start();
  CHECK(one.took == b.config.os.munmap_fixed + b.config.os.cpu_tlbi + 5us);
  CHECK(two.took == late + b.hit() + 3us - (begin + 1us));
}

TEST_CASE("what an experiment discards leaves its neighbours' translations alone") {
  DriverConfig config = with(mmu500::TlbMaintenance::mmio);
  DriverBench b(config);
  constexpr unsigned kPages = 3 + kLimit;
  const VirtualAddress va = b.map_present(kPages);
  for (unsigned n = 0; n < kPages; ++n) b.warm(va + n * kPage);
  // More pages than what software would invalidate one by one.
  REQUIRE(b.vm.discard(*b.process, va + kPage, (kLimit + 1) * kPage) == Error::none);
  const Time at = b.node.now() + 1us;
  std::vector<const Answer*> answers;
  for (unsigned n = 0; n < kPages; ++n) answers.push_back(&b.read(va + n * kPage, at + n * 10us));
  const std::uint64_t walks = b.counted("smmu.walks");
  b.run_until(at + 100us);
  for (unsigned n = 0; n < kPages; ++n) {
    INFO(n);
    const bool kept = n == 0 || n == kPages - 1;
    CHECK((answers[n]->status == tlm::TLM_OK_RESPONSE) == kept);
    if (kept) CHECK(answers[n]->at[0] == at + n * 10us + b.hit() + b.config.memory_latency);
  }
  CHECK(b.counted("smmu.walks") == walks + kLimit + 1);
}

TEST_CASE("a process that is detached is refused from then on, what is under way is waited for, and its bank is free") {
  DriverConfig config;
  config.smmu.context_banks = 1;
  config.memory_latency = 2us;
  DriverBench b(config);
  const VirtualAddress va = b.map_present(1);
  b.warm(va);
  Process* next = b.vm.create_process("next");
  CHECK(b.driver.attach(*next, stream_of(*next), next->page_table().root(), false) == Error::again);
  const Time begin = b.node.now();
  std::vector<const Answer*> answers;
  for (Time at = begin; at < begin + 20us; at += 100ns) answers.push_back(&b.read(va, at));
  const auto detach = [](DriverBench& bench) -> Task<Error> {
    co_await bench.driver.detach(bench.thread, *bench.process);
    co_return Error::none;
  };
  Outcome<Error> detached;
  const auto noted = [](DriverBench& bench, Task<Error> operation, Outcome<Error>& outcome) -> Task<void> {
    outcome.value = co_await operation;
    outcome.at = bench.node.now();
  };
  b.tasks.start(noted(b, detach(b), detached));
  b.run_until(begin + 50us);
  REQUIRE(detached.at > begin);
  CHECK(detached.at < begin + 10us);
  unsigned translated = 0;
  for (const Answer* answer : answers) {
    if (answer->status != tlm::TLM_OK_RESPONSE) break;
    ++translated;
    CHECK(answer->at[0] <= detached.at);
  }
  CHECK(translated > 0);
  CHECK(translated < answers.size());
  for (std::size_t i = translated; i < answers.size(); ++i) CHECK(answers[i]->status != tlm::TLM_OK_RESPONSE);
  CHECK(b.driver.attach(*next, stream_of(*next), next->page_table().root(), false) == Error::none);
}

namespace {

// Two pages that the SMMU knows are moved by 6.6, which unmaps both before it copies the first.
struct MovedTogether {
  explicit MovedTogether(const DriverConfig& config) : b(config), va(b.map_present(2)) {
    b.warm(va);
    b.warm(va + kPage);
    begin = b.node.now() + kSwitch;
  }
  static DriverConfig by(mmu500::TlbMaintenance maintenance) {
    DriverConfig config = with(maintenance);
    config.os.tlbi_page_limit = 0;
    config.os.kernel.version = os::KernelVersion::linux_6_6;
    config.smmu.dvm_invalidate_latency = 5us;
    return config;
  }
  Time unmap() const { return b.config.os.migrate_page / 2 + b.config.os.cpu_tlbi; }
  Time copies() const {
    const Time half = sim::ByteRate{b.config.os.copy_bandwidth.bytes_per_second * 2}.time_for(kPage);
    return 2 * (2 * half + b.config.os.migrate_page / 2);
  }
  Time move() {
    Timed<unsigned> moved;
    b.tasks.start(measure(
        b.node, b.cpu, b.thread,
        b.vm.page_events().migrate(b.thread, *b.process, {va, va + 2 * kPage}, os::PageEvents::Mover::move_pages),
        moved));
    b.run_until(begin + 1ms);
    CHECK(moved.value == 2);
    return moved.took;
  }

  DriverBench b;
  VirtualAddress va;
  Time begin{0};
};

}  // namespace

TEST_CASE("6.6, by broadcast: the SMMU hears of each page when it is unmapped, and is waited for once",
          "[batched-unmapping]") {
  MovedTogether m(MovedTogether::by(mmu500::TlbMaintenance::dvm));
  const Time first_gone = m.begin + m.unmap() + 5us;
  const Answer& last_use = m.b.read(m.va, first_gone - Time{1});
  const Answer& too_late = m.b.read(m.va, first_gone + Time{1});
  const Answer& other_page = m.b.read(m.va + kPage, first_gone + Time{1});  // which goes 3 us later
  CHECK(m.move() == 2 * m.unmap() + 5us + m.copies());
  CHECK(last_use.status == tlm::TLM_OK_RESPONSE);
  CHECK(too_late.status != tlm::TLM_OK_RESPONSE);
  CHECK(other_page.status == tlm::TLM_OK_RESPONSE);
}

TEST_CASE("6.6, by registers: the SMMU forgets each page before the next is unmapped, and only the CPUs are batched",
          "[batched-unmapping]") {
  MovedTogether m(MovedTogether::by(mmu500::TlbMaintenance::mmio));
  const Time by_registers = 2 * m.b.cpu_config.mmio_write + polled(m.b, m.b.config.smmu.tlb_sync);
  CHECK(m.move() == 2 * (m.unmap() + by_registers) + m.b.config.os.cpu_dsb + m.copies());
  CHECK(m.b.counted("smmu.tlb_syncs") == 2);
}
