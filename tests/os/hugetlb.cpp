// SPDX-License-Identifier: Apache-2.0
// The pool of huge pages: what it reserves and gives back, what its faults cost, what fork does when it is empty, and
// that nothing else in the kernel works on its pages.
#include "models/os/reclaim/reclaim.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

OsConfig with_pool(std::uint64_t pages) {
  OsConfig config;
  config.nr_hugepages = pages;
  config.khugepaged = false;
  config.rlimit_memlock = os::kUnlimited;
  return config;
}
constexpr os::MmapOptions kHugetlb{.hugetlb = true};

struct Pool {
  std::uint64_t total, free, reserved;
  bool operator==(const Pool&) const = default;
};
Pool pool(const OsBench& b) {
  b.vm.audit();
  const os::MemInfo info = b.vm.meminfo();
  return {info.huge_pages_total, info.huge_pages_free, info.huge_pages_rsvd};
}

Timed<Error> touch(OsBench& b, Process& process, VirtualAddress va, bool write) {
  return b.run(b.vm.touch(b.thread, process, va, write));
}
Timed<Error> touch(OsBench& b, VirtualAddress va, bool write) { return touch(b, *b.process, va, write); }

Process& fork_of(OsBench& b, Process& parent) {
  const auto child = b.run(b.vm.fork(b.thread, parent));
  REQUIRE(child.value.ok());
  return *child.value.value;
}

bool holds(const OsBench& b, const Process& process, VirtualAddress va, std::uint64_t seed) {
  return b.vm.read(process, va, kHugePage) == sim::Content::pattern(seed, 0, kHugePage);
}

memory::Address frame_of(const Process& process, VirtualAddress va) { return process.space().entry(va)->frame; }

}  // namespace

TEST_CASE("hugetlb: the pool is taken from memory at boot") {
  const OsBench b(with_pool(8));
  CHECK(pool(b) == Pool{8, 8, 0});
  CHECK(b.used() == 8 * 512 + b.process->page_table().tables());
}

TEST_CASE("hugetlb: the pool has as many pages as there is memory for") {
  OsConfig config = with_pool(1000);
  config.user_memory = 21 * kMiB;
  OsBench b(config);
  CHECK(pool(b).total == 10);
}

TEST_CASE("hugetlb: a mapping reserves its pages, or fails, and gives back what it has not used") {
  OsBench b(with_pool(4));
  const VirtualAddress va = b.map(3 * kHugePage, kHugetlb);
  CHECK(va % kHugePage == 0);
  CHECK(pool(b) == Pool{4, 4, 3});
  CHECK(b.run(b.vm.mmap(b.thread, *b.process, 2 * kHugePage, kHugetlb)).value.error == Error::no_huge_page);
  CHECK(pool(b) == Pool{4, 4, 3});
  const VirtualAddress last = b.map(kPage, kHugetlb);  // rounded up
  CHECK(pool(b) == Pool{4, 4, 4});
  REQUIRE(touch(b, va, true).value == Error::none);
  CHECK(pool(b) == Pool{4, 3, 3});
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, va, 3 * kHugePage)).value == Error::none);
  CHECK(pool(b) == Pool{4, 4, 1});
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, last, kHugePage)).value == Error::none);
  CHECK(pool(b) == Pool{4, 4, 0});
}

TEST_CASE("hugetlb: a fault costs the trap, the pool and the clearing of 2 MiB, and maps a block") {
  OsBench b(with_pool(2));
  const VirtualAddress va = b.map(2 * kHugePage, kHugetlb);
  const Time cold = b.config.fault_no_alloc + b.config.hugetlb_fault + b.zeroing(512);
  CHECK(touch(b, va + 5 * kPage, true).took == cold);
  REQUIRE(b.walk(va));
  CHECK(b.walk(va)->level == 2);
  CHECK((b.walk(va)->descriptor & 0x80) == 0);
  CHECK(touch(b, va + 100 * kPage, true).took == b.config.resident_touch);
  CHECK(b.counted("os.hugetlb_fault_alloc") == 1);
  // There is no zero page: a read brings a page of its own, which the first write finds write-protected.
  CHECK(touch(b, va + kHugePage, false).took == cold);
  CHECK((b.walk(va + kHugePage)->descriptor & 0x80) != 0);
  CHECK(pool(b) == Pool{2, 0, 0});
  REQUIRE(touch(b, va + kHugePage, true).value == Error::none);
  CHECK((b.walk(va + kHugePage)->descriptor & 0x80) == 0);
  CHECK(b.counted("os.hugetlb_fault_alloc") == 2);
}

TEST_CASE("hugetlb: two threads that fault on one page take one page") {
  OsBench b(with_pool(1));
  const VirtualAddress va = b.map(kHugePage, kHugetlb);
  cpu::Execution& other = b.cpu.new_thread("other");
  Outcome<Error> first;
  Outcome<Error> second;
  b.tasks.start(at(b, 1us, b.vm.touch(b.thread, *b.process, va, true), first));
  b.tasks.start(at(b, 2us, b.vm.touch(other, *b.process, va + kPage, true), second));
  sc_core::sc_start();
  CHECK(first.value == Error::none);
  CHECK(second.value == Error::none);
  CHECK(second.at >= first.at);
  CHECK(pool(b) == Pool{1, 0, 0});
  CHECK(b.counted("os.hugetlb_refused") == 0);
}

TEST_CASE("hugetlb: what one process has reserved another one does not get") {
  OsBench b(with_pool(2));
  const VirtualAddress va = b.map(2 * kHugePage, kHugetlb);
  REQUIRE(touch(b, va, true).value == Error::none);
  REQUIRE(b.vm.fill(*b.process, va, kHugePage, 1) == kHugePage);
  Process& child = fork_of(b, *b.process);
  CHECK(pool(b) == Pool{2, 1, 1});
  // The child shares the first page, and has no right to a second one.
  CHECK(touch(b, child, va, false).value == Error::none);
  CHECK(touch(b, child, va, true).value == Error::no_huge_page);
  CHECK(touch(b, child, va + kHugePage, false).value == Error::no_huge_page);
  CHECK(touch(b, va + kHugePage, true).value == Error::none);
  CHECK(pool(b) == Pool{2, 0, 0});
}

TEST_CASE("hugetlb: copy-on-write copies 2 MiB where the pool has a page to spare") {
  OsBench b(with_pool(2));
  const VirtualAddress va = b.map(kHugePage, kHugetlb);
  REQUIRE(b.vm.make_present(*b.process, va, kHugePage) == Error::none);
  REQUIRE(b.vm.fill(*b.process, va, kHugePage, 1) == kHugePage);
  Process& child = fork_of(b, *b.process);
  const memory::Address shared = frame_of(*b.process, va);
  CHECK(frame_of(child, va) == shared);
  const Time flush = b.flush();
  CHECK(touch(b, va, true).took == b.config.fault_no_alloc + b.config.hugetlb_fault + b.copying(512) + flush);
  CHECK(frame_of(*b.process, va) != shared);
  CHECK(frame_of(child, va) == shared);
  REQUIRE(b.vm.fill(*b.process, va, kHugePage, 2) == kHugePage);
  CHECK(holds(b, child, va, 1));
  CHECK(holds(b, *b.process, va, 2));
  // Who is left alone with it writes it again.
  CHECK(touch(b, child, va, true).took == b.config.fault_no_alloc + flush);
  b.end(child);
  CHECK(pool(b) == Pool{2, 1, 0});
}

TEST_CASE("hugetlb: what is written without time copies the page, and gives the shared one back when nobody has it") {
  OsBench b(with_pool(2));
  const VirtualAddress va = b.map(kHugePage, kHugetlb);
  REQUIRE(b.vm.make_present(*b.process, va, kHugePage) == Error::none);
  REQUIRE(b.vm.fill(*b.process, va, kHugePage, 1) == kHugePage);
  Process& child = fork_of(b, *b.process);
  REQUIRE(b.vm.make_present(*b.process, va, kHugePage) == Error::none);
  CHECK(frame_of(*b.process, va) != frame_of(child, va));
  CHECK(pool(b) == Pool{2, 0, 0});
  b.end(child);
  CHECK(pool(b) == Pool{2, 1, 0});
}

TEST_CASE("hugetlb: two threads that read one page at the same time do not make it writable") {
  OsBench b(with_pool(2));
  const VirtualAddress va = b.map(kHugePage, kHugetlb);
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<Error> first, second;
  b.tasks.start(at(b, 0ns, b.vm.touch(b.thread, *b.process, va, false), first));
  b.tasks.start(at(b, 0ns, b.vm.touch(other, *b.process, va, false), second));
  sc_core::sc_start();
  CHECK(first.value == Error::none);
  CHECK(second.value == Error::none);
  CHECK_FALSE(b.process->space().entry(va)->writable);
  b.vm.audit();
}

TEST_CASE("hugetlb: where the pool is empty the owner takes the page from its child, which is refused afterwards") {
  OsBench b(with_pool(1));
  const VirtualAddress va = b.map(kHugePage, kHugetlb);
  REQUIRE(b.vm.make_present(*b.process, va, kHugePage) == Error::none);
  REQUIRE(b.vm.fill(*b.process, va, kHugePage, 1) == kHugePage);
  Process& child = fork_of(b, *b.process);
  CHECK(touch(b, child, va, true).value == Error::no_huge_page);  // it may not take it from the owner
  CHECK(holds(b, child, va, 1));
  const memory::Address shared = frame_of(*b.process, va);
  CHECK(touch(b, va, true).value == Error::none);
  CHECK(frame_of(*b.process, va) == shared);
  CHECK(holds(b, *b.process, va, 1));
  CHECK(child.space().entry(va) == nullptr);
  CHECK(b.counted("os.hugetlb_unmapped") == 1);
  b.run(b.vm.munmap(b.thread, *b.process, va, kHugePage));
  CHECK(pool(b) == Pool{1, 1, 0});
  CHECK(touch(b, child, va, false).value == Error::no_huge_page);  // although the pool has one again
}

namespace {

// While the first child's page is taken from it, the second one drops its own.
struct DropsMeanwhile : Listener {
  DropsMeanwhile(OsBench& bench, VirtualAddress at) : Listener(bench, 0ns), va(at) {}
  Task<void> invalidate(cpu::Execution& exec, const Process& process, const os::TlbFlush& flush) override {
    if (&process == first) REQUIRE(b.vm.discard(*second, va, kHugePage) == Error::none);
    return Listener::invalidate(exec, process, flush);
  }
  VirtualAddress va;
  Process* first = nullptr;
  Process* second = nullptr;
};

}  // namespace

TEST_CASE("hugetlb: a child that has dropped the shared page in time loses nothing to the owner") {
  OsBench b(with_pool(1));
  const VirtualAddress va = b.map(kHugePage, kHugetlb);
  REQUIRE(b.vm.make_present(*b.process, va, kHugePage) == Error::none);
  DropsMeanwhile meanwhile(b, va);
  Process& first = fork_of(b, *b.process);
  Process& second = fork_of(b, *b.process);
  meanwhile.first = &first;
  meanwhile.second = &second;
  CHECK(touch(b, va, true).value == Error::none);
  CHECK(b.counted("os.hugetlb_unmapped") == 1);
  CHECK(first.space().find(va)->lost_pages);
  CHECK_FALSE(second.space().find(va)->lost_pages);
  CHECK(pool(b) == Pool{1, 0, 0});
}

TEST_CASE("hugetlb: a pinned page is copied for the child, out of what nobody has reserved", "[hugetlb-fork-copies]") {
  OsBench b(with_pool(2));
  const VirtualAddress va = b.map(kHugePage, kHugetlb);
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, kHugePage, true));
  REQUIRE(pin.value.ok());
  REQUIRE(b.vm.fill(*b.process, va, kHugePage, 1) == kHugePage);
  const memory::Address pinned = frame_of(*b.process, va);
  Process& child = fork_of(b, *b.process);
  CHECK(frame_of(child, va) != pinned);
  CHECK(holds(b, child, va, 1));
  CHECK(touch(b, va, true).took == b.config.resident_touch);  // never write-protected
  CHECK(pool(b) == Pool{2, 0, 0});
  CHECK(b.run(b.vm.fork(b.thread, *b.process)).value.error == Error::no_memory);
  b.end(child);
  CHECK(pool(b) == Pool{2, 1, 0});
  // A pin keeps the page from the pool when the mapping has gone.
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, va, kHugePage)).value == Error::none);
  CHECK(pool(b) == Pool{2, 1, 0});
  REQUIRE(b.run(b.vm.unpin(b.thread, pin.value.value)).value == Error::none);
  CHECK(pool(b) == Pool{2, 2, 0});
}

TEST_CASE("hugetlb: kernels before 5.12 share a pinned page of the pool with a child, although they copy small ones",
          "[hugetlb-fork-copies]") {
  OsConfig config = with_pool(2);
  config.kernel.version = os::KernelVersion::linux_5_10;
  OsBench b(config);
  const VirtualAddress va = b.map(kHugePage, kHugetlb);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, va, kHugePage, true)).value.ok());
  const memory::Address pinned = frame_of(*b.process, va);
  Process& child = fork_of(b, *b.process);
  CHECK(frame_of(child, va) == pinned);
  REQUIRE(touch(b, va, true).value == Error::none);
  CHECK(frame_of(*b.process, va) != pinned);  // what the device has is the child's now
  b.vm.audit();
}

TEST_CASE("hugetlb: mlock populates, locks nothing and cuts nothing") {
  OsBench b(with_pool(2));
  const VirtualAddress va = b.map(2 * kHugePage, kHugetlb);
  CHECK(b.run(b.vm.mlock(b.thread, *b.process, va + kPage, kHugePage)).value == Error::none);
  CHECK(pool(b) == Pool{2, 0, 0});
  CHECK(b.vm.locked_bytes() == 0);
  CHECK(b.process->space().vmas().size() == 1);
  CHECK((b.walk(va)->descriptor & 0x80) == 0);  // for writing
  CHECK(b.run(b.vm.munlock(b.thread, *b.process, va, 2 * kHugePage)).value == Error::none);
}

TEST_CASE("hugetlb: no call cuts a huge page") {
  OsBench b(with_pool(3));
  const VirtualAddress va = b.map(3 * kHugePage, kHugetlb);
  REQUIRE(b.vm.make_present(*b.process, va, 3 * kHugePage) == Error::none);
  const auto advised = [&](os::Advice advice, VirtualAddress at, std::uint64_t bytes) {
    return b.run(b.vm.madvise(b.thread, *b.process, at, bytes, advice)).value;
  };
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, kPage)).value == Error::invalid);
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va + kPage, kHugePage - kPage)).value == Error::invalid);
  CHECK(b.run(b.vm.mprotect(b.thread, *b.process, va, kPage, os::Protection::read)).value == Error::invalid);
  CHECK(advised(os::Advice::dont_fork, va, kPage) == Error::invalid);
  CHECK(advised(os::Advice::dont_need, va + kPage, kHugePage) == Error::invalid);
  for (const auto advice :
       {os::Advice::hugepage, os::Advice::no_hugepage, os::Advice::collapse, os::Advice::free, os::Advice::page_out}) {
    CHECK(advised(advice, va, kHugePage) == Error::invalid);
  }
  CHECK(pool(b) == Pool{3, 0, 0});
  // What the end cuts stays.
  CHECK(advised(os::Advice::dont_need, va, kHugePage + kPage) == Error::none);
  CHECK(b.process->space().entry(va) == nullptr);
  CHECK(b.process->space().is_huge(va + kHugePage));
  CHECK(b.run(b.vm.mprotect(b.thread, *b.process, va + kHugePage, kHugePage, os::Protection::none)).value ==
        Error::none);
  CHECK_FALSE(b.present(va + kHugePage));
  CHECK(b.present(va + 2 * kHugePage));
  b.vm.audit();
  CHECK(b.run(b.vm.mprotect(b.thread, *b.process, va + kHugePage, kHugePage, os::Protection::read_write)).value ==
        Error::none);
  CHECK(touch(b, va + kHugePage, true).value == Error::none);
}

TEST_CASE("hugetlb: a mapping moves with its pages and its reservations") {
  OsBench b(with_pool(2));
  const VirtualAddress va = b.map(2 * kHugePage, kHugetlb);
  REQUIRE(touch(b, va, true).value == Error::none);
  REQUIRE(b.vm.fill(*b.process, va, kHugePage, 1) == kHugePage);
  const auto moved = b.run(b.vm.mremap(b.thread, *b.process, va, 2 * kHugePage));
  REQUIRE(moved.value.ok());
  CHECK(holds(b, *b.process, moved.value.value, 1));
  CHECK(pool(b) == Pool{2, 1, 1});
  CHECK(touch(b, moved.value.value + kHugePage, true).value == Error::none);
  CHECK(pool(b) == Pool{2, 0, 0});
  CHECK(b.run(b.vm.mremap(b.thread, *b.process, moved.value.value + kPage, kHugePage)).value.error == Error::invalid);
  // A length that ends within a page is that page's.
  const auto again = b.run(b.vm.mremap(b.thread, *b.process, moved.value.value, kHugePage + kPage)).value;
  REQUIRE(again.ok());
  CHECK(b.process->space().is_huge(again.value));
  CHECK(b.process->space().is_huge(again.value + kHugePage));
  b.vm.audit();
}

namespace {

// A page that was used is moved, and dropped in its new place.
void check_kernel(os::KernelVersion version, bool moves, bool drops, Pool after) {
  OsConfig config = with_pool(2);
  config.kernel.version = version;
  OsBench b(config);
  const VirtualAddress va = b.map(kHugePage, kHugetlb);
  REQUIRE(touch(b, va, true).value == Error::none);
  CHECK(b.run(b.vm.mremap(b.thread, *b.process, va, kHugePage)).value.ok() == moves);
  const VirtualAddress there = b.process->space().vmas().begin()->first;
  CHECK((b.run(b.vm.madvise(b.thread, *b.process, there, kHugePage, os::Advice::dont_need)).value == Error::none) ==
        drops);
  CHECK(pool(b) == after);
}

}  // namespace

TEST_CASE("hugetlb: before 5.16 no mapping moves, and before 5.18 none drops pages",
          "[hugetlb-mremap][hugetlb-dont-need]") {
  check_kernel(os::KernelVersion::linux_5_15, false, false, {2, 1, 0});
}
TEST_CASE("hugetlb: before 6.9 a page that was dropped is anybody's", "[hugetlb-rereserves]") {
  check_kernel(os::KernelVersion::linux_6_1, true, true, {2, 2, 0});
}
TEST_CASE("hugetlb: since 6.9 a page that was dropped is reserved again", "[hugetlb-rereserves]") {
  check_kernel(os::KernelVersion::linux_6_12, true, true, {2, 2, 1});
}

TEST_CASE("hugetlb: nothing that works on pages behind a program's back works on the pool's") {
  OsConfig config = with_pool(1);
  config.swap_bytes = 16 * kMiB;
  OsBench b(config);
  const VirtualAddress va = b.map(kHugePage, kHugetlb);
  REQUIRE(b.vm.make_present(*b.process, va, kHugePage) == Error::none);
  const os::Range range{va, va + kHugePage};
  const auto before = b.walk(va)->descriptor;
  os::PageEvents& events = b.vm.page_events();
  CHECK(b.run(events.migrate(b.thread, *b.process, range, os::PageEvents::Mover::compaction)).value == 0);
  CHECK(b.run(events.merge_equal(b.thread, *b.process, range)).value == 0);
  CHECK(b.run(events.age(b.thread, *b.process, range)).value == 0);
  CHECK(b.run(events.write_protect(b.thread, *b.process, range)).value == 0);
  CHECK(b.run(events.numa_hint(b.thread, *b.process, range)).value == 0);
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, range)).value == 0);
  CHECK(b.walk(va)->descriptor == before);
  b.vm.audit();
}

TEST_CASE("hugetlb: move_pages moves a huge page whole, and gives it back when it is pinned") {
  OsBench b(with_pool(2));
  const VirtualAddress va = b.map(kHugePage, kHugetlb);
  REQUIRE(b.vm.make_present(*b.process, va, kHugePage) == Error::none);
  REQUIRE(b.vm.fill(*b.process, va, kHugePage, 1) == kHugePage);
  const memory::Address before = frame_of(*b.process, va);
  const auto move = [&] {
    return b.run(
        b.vm.page_events().migrate(b.thread, *b.process, {va, va + kHugePage}, os::PageEvents::Mover::move_pages));
  };
  const auto moved = move();
  CHECK(moved.value == 512);
  CHECK(moved.took == b.flush() + b.config.migrate_page + b.copying(512));
  CHECK(frame_of(*b.process, va) != before);
  CHECK(holds(b, *b.process, va, 1));
  CHECK(pool(b) == Pool{2, 1, 0});
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, va + kPage, kPage, true)).value.ok());
  CHECK(move().value == 0);
  CHECK(b.counted("os.migrate_restored") == b.config.migrate_passes);
  CHECK(b.present(va));
  CHECK(pool(b) == Pool{2, 1, 0});
}

TEST_CASE("hugetlb: who is killed when memory runs out is not who has pages of the pool") {
  OsConfig config = with_pool(8);
  config.user_memory = 32 * kMiB;
  config.min_free_bytes = kMiB;
  config.swap_bytes = kMiB;
  OsBench b(config);
  const VirtualAddress va = b.map(8 * kHugePage, kHugetlb);
  REQUIRE(b.vm.make_present(*b.process, va, 8 * kHugePage) == Error::none);
  Process& large = *b.vm.create_process("large");
  Process& asking = *b.vm.create_process("asking");
  b.vm.set_oom_score_adj(asking, Process::kNeverKilled);
  const auto fill = [&](Process& process) {
    const VirtualAddress at = b.vm.map(process, 9 * kMiB).value;
    return b.run(b.vm.touch_range(b.thread, process, at, 9 * kMiB, true)).value;
  };
  REQUIRE(fill(large) == Error::none);
  CHECK(fill(asking) == Error::none);
  CHECK(large.was_killed());
  CHECK_FALSE(b.process->was_killed());
  CHECK(pool(b) == Pool{8, 0, 0});
}
