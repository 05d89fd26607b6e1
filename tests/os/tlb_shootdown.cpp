// SPDX-License-Identifier: Apache-2.0
// Cores that make each other forget translations by interrupts (os.tlb_shootdown = interrupt): who is interrupted, and
// what each of them pays.
#include "tests/os/mapped_file.hpp"

using namespace faultline;
using namespace faultline::test;
using cpu::Work;
using os::KernelVersion;

namespace {

OsConfig by_interrupt(KernelVersion version = KernelVersion::linux_6_1) {
  OsConfig config = of_kernel(version);
  config.tlb_shootdown = os::TlbShootdown::interrupt;
  config.swap_bytes = 64 * kMiB;
  return config;
}

// A process whose first thread, on core 1, changes the table, while others have cores 0, 2 and 3.
struct Shootdown {
  explicit Shootdown(const OsConfig& config = by_interrupt()) : b(config) { b.thread.use(b.process->id()); }

  // A thread of the address space that will be busy on the core for so long, from when the operation is prepared.
  cpu::Execution& occupy(unsigned core, cpu::AddressSpaceId space, Time how_long = 50ms) {
    cpu::Execution& thread = b.cpu.new_thread("busy", core).use(space);
    busy.emplace_back(&thread, how_long);
    return thread;
  }
  cpu::Execution& of_process(unsigned core, Time how_long = 50ms) { return occupy(core, b.process->id(), how_long); }

  // From when the process's thread has its core, and the others have theirs.
  Time unmap(std::uint64_t pages) {
    const VirtualAddress va = b.map_present(pages * kPage);
    return after_start(b.vm.munmap(b.thread, *b.process, va, pages * kPage)) - b.config.munmap_fixed;
  }
  template <typename T>
  Time after_start(Task<T> operation) {
    for (const auto& [thread, how_long] : std::exchange(busy, {})) b.tasks.start(occupies(*this, *thread, how_long));
    Time took{-1};
    b.tasks.start(later(*this, std::move(operation), took));
    sc_core::sc_start();
    REQUIRE(took >= 0ns);
    return took;
  }
  template <typename T>
  static Task<void> later(Shootdown& s, Task<T> operation, Time& took) {
    co_await s.b.cpu.run(s.b.thread, Work::user, 100us);
    const Time begin = s.b.node.now();
    co_await operation;
    took = s.b.node.now() - begin;
  }

  static Task<void> occupies(Shootdown& s, cpu::Execution& thread, Time how_long) {
    const Time begin = s.b.node.now();
    co_await s.b.cpu.run(thread, Work::user, how_long);
    s.ended.push_back(s.b.node.now() - begin);
  }

  Time irq_time(unsigned core) const { return b.cpu.charged(core, Work::irq); }
  // What the core that flushes pays for its own TLB, and what an interrupted core pays.
  Time own(std::int64_t operations) const { return operations * b.config.cpu_tlbi; }
  Time handler(std::int64_t operations) const { return b.cpu_config.ipi_to_handler + own(operations); }
  // What the core that flushes waits for: its own TLB, and `others` cores at once.
  Time shootdown(std::int64_t others, std::int64_t operations) const {
    return own(operations) + others * b.cpu_config.ipi_send + handler(operations) + b.cpu_config.poll_latency;
  }

  OsBench b;
  std::vector<std::pair<cpu::Execution*, Time>> busy;
  std::vector<Time> ended;  // how long after its start each of them has ended
};

}  // namespace

TEST_CASE("a process alone on its core interrupts nobody") {
  Shootdown s;
  CHECK(s.unmap(3) == s.own(3));
  CHECK(s.b.counted("cpu.calls") == 0);
}

namespace {

void interrupts(const std::vector<unsigned>& others) {
  Shootdown s;
  for (const unsigned core : others) s.of_process(core);
  CHECK(s.unmap(3) == s.shootdown(static_cast<std::int64_t>(others.size()), 3));
  CHECK(s.b.counted("cpu.calls") == others.size());
  for (unsigned core = 0; core < 4; ++core) {
    const bool interrupted = std::find(others.begin(), others.end(), core) != others.end();
    CHECK(s.irq_time(core) == (interrupted ? s.handler(3) : 0ns));
  }
}

}  // namespace

TEST_CASE("a core that runs the process is interrupted, and the one that flushes waits for it") { interrupts({2}); }
TEST_CASE("all cores that run the process are interrupted at once") { interrupts({0, 2, 3}); }

TEST_CASE("cores that run other processes are left alone") {
  Shootdown s;
  s.occupy(2, s.b.vm.create_process("other")->id());
  s.occupy(3, cpu::kUnmanagedSpace);
  CHECK(s.unmap(3) == s.own(3));
  CHECK(s.irq_time(2) + s.irq_time(3) == 0ns);
}

TEST_CASE("33 pages are 33 operations on every core") {
  Shootdown s;
  s.of_process(2);
  CHECK(s.unmap(33) == s.shootdown(1, 33));
}
TEST_CASE("34 pages are one operation on every core") {
  Shootdown s;
  s.of_process(2);
  CHECK(s.unmap(34) == s.shootdown(1, 1));
}

TEST_CASE("up to 4.19 a core that idles is interrupted once, and forgets the process", "[lazy-cores-spared]") {
  Shootdown s(by_interrupt(KernelVersion::linux_4_19));
  s.of_process(2, 10us);  // has left the core when the first shootdown comes
  CHECK(s.unmap(3) == s.shootdown(1, 3));
  CHECK(s.unmap(3) == s.own(3));
  CHECK(s.b.counted("cpu.calls") == 1);
}

TEST_CASE("since 5.4 a core that idles is not interrupted", "[lazy-cores-spared]") {
  Shootdown s(by_interrupt(KernelVersion::linux_5_4));
  s.of_process(2, 10us);
  CHECK(s.unmap(3) == s.own(3));
  CHECK(s.b.counted("cpu.calls") == 0);
}

namespace {

// A kernel thread has the core, which keeps the process's address space loaded.
std::uint64_t interrupts_of_kernel_thread(KernelVersion version) {
  Shootdown s(by_interrupt(version));
  s.of_process(2, 10us);
  s.occupy(2, 0);
  s.unmap(3);
  return s.b.counted("cpu.calls");
}

}  // namespace

TEST_CASE("up to 4.19 a core that runs a kernel thread is interrupted", "[lazy-cores-spared]") {
  CHECK(interrupts_of_kernel_thread(KernelVersion::linux_4_19) == 1);
}
TEST_CASE("since 5.4 a core that runs a kernel thread is not interrupted", "[lazy-cores-spared]") {
  CHECK(interrupts_of_kernel_thread(KernelVersion::linux_5_4) == 0);
}

TEST_CASE("the interrupt goes before the thread that runs, which loses the time") {
  Shootdown s;
  const cpu::Execution& other = s.of_process(2, 1ms);
  const VirtualAddress va = s.b.map_present(3 * kPage);
  s.after_start(s.b.vm.munmap(s.b.thread, *s.b.process, va, 3 * kPage));
  CHECK(other.time(Work::user) == 1ms);
  CHECK(s.irq_time(2) == s.handler(3));
  CHECK(s.ended[0] == s.b.cpu_config.context_switch + 1ms + s.handler(3));
}

TEST_CASE("two cores that interrupt each other both go on") {
  Shootdown s;
  cpu::Execution& other = s.b.cpu.new_thread("other", 2).use(s.b.process->id());
  const VirtualAddress here = s.b.map_present(3 * kPage);
  const VirtualAddress there = s.b.map_present(3 * kPage);
  // madvise holds the lock of the mappings only shared, so that both are at it together.
  Outcome<Error> first;
  Outcome<Error> second;
  s.b.tasks.start(s.b.cpu.run(s.b.cpu.new_thread("busy", 3).use(s.b.process->id()), Work::user, 50ms));
  s.b.tasks.start(at_core(s.b, s.b.thread, 1ms,
                          s.b.vm.madvise(s.b.thread, *s.b.process, here, 3 * kPage, os::Advice::dont_need), first));
  s.b.tasks.start(
      at_core(s.b, other, 1ms, s.b.vm.madvise(other, *s.b.process, there, 3 * kPage, os::Advice::dont_need), second));
  sc_core::sc_start();
  CHECK(first.value == Error::none);
  CHECK(second.value == Error::none);
  // Each spins behind the other's interrupt, and core 3 takes the two one after the other.
  const Time alone = 1ms + s.b.config.syscall + s.shootdown(2, 3);
  CHECK(std::min(first.at, second.at) > alone);
  CHECK(std::max(first.at, second.at) <= alone + s.handler(3));
}

TEST_CASE("a page whose access flag is cleared is flushed on no core") {
  Shootdown s(by_interrupt(KernelVersion::linux_4_19));
  s.of_process(2);
  const VirtualAddress va = s.b.map_present(5 * kPage);
  CHECK(s.after_start(s.b.vm.page_events().age(s.b.thread, *s.b.process, {va, va + 5 * kPage})) == 0ns);
  CHECK(s.b.counted("cpu.calls") == 0);
}

namespace {

void page_out(KernelVersion version) {
  Shootdown s(by_interrupt(version));
  MappedFile f(s.b, 5, /*shared=*/true);
  for (unsigned i = 0; i < 5; ++i) f.touch(i, false);
  s.of_process(2);
  const Time took = s.after_start(s.b.vm.reclaim().page_out(s.b.thread, *s.b.process, f.range(0, 4)));
  CHECK(took == 4 * s.b.config.reclaim_page + s.shootdown(1, 1));
  CHECK(s.b.counted("cpu.calls") == 1);
}

}  // namespace

TEST_CASE("4.9: reclaim interrupts once for the pages that it unmaps together") { page_out(KernelVersion::linux_4_9); }
TEST_CASE("6.12: reclaim interrupts once for the pages that it unmaps together") {
  page_out(KernelVersion::linux_6_12);
}

TEST_CASE("devices are told of a flush whatever cores do") {
  Shootdown s;
  Listener listener(s.b, 0ns);
  CHECK(s.unmap(3) == s.own(3));
  REQUIRE(listener.flushes.size() == 1);
  CHECK(listener.flushes[0].operations() == 3);
}

TEST_CASE("no core has a new process loaded that has the number of one that has gone") {
  Shootdown s(by_interrupt(KernelVersion::linux_4_9));
  const auto child = s.b.run(s.b.vm.fork(s.b.thread, *s.b.process)).value;
  REQUIRE(child.ok());
  const auto id = child.value->id();
  s.b.tasks.start(s.b.cpu.run(s.b.cpu.new_thread("busy", 2).use(id), Work::user, 10us));
  sc_core::sc_start();
  CHECK(s.b.cpu.cores_with(id).count() == 1);
  s.b.end(*child.value);
  Process* next = s.b.vm.create_process("next");
  REQUIRE(next->id() == id);
  CHECK(s.b.cpu.cores_with(id).none());
}
