// SPDX-License-Identifier: Apache-2.0
// Tables that mirror a process's own: filled by faults, emptied before the process's table changes.
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::uint64_t kPages = 4;

struct Mirrored {
  explicit Mirrored(OsBench& bench)
      : b(bench), va(b.map(kPages * kPage)), table(*b.vm.create_mirrored_table(*b.process).value) {}
  Timed<os::Result<std::uint64_t>> fault(bool write = true) {
    return b.run(b.vm.mirror_pages(b.thread, table, va, kPages * kPage, write));
  }
  std::optional<os::Mapping> walk(unsigned page = 0) const { return table.table().walk(va + page * kPage); }

  OsBench& b;
  VirtualAddress va;
  os::MirroredTable& table;
};

}  // namespace

TEST_CASE("a device's fault makes pages present in the process and in the mirror") {
  OsBench b;
  Mirrored m(b);
  const auto filled = m.fault();
  CHECK(filled.value.value == kPages);
  CHECK(filled.took ==
        b.config.syscall + kPages * (b.cold_page() + b.config.gup_per_page) + kPages * b.config.private_map_per_page);
  REQUIRE(m.walk());
  CHECK(m.walk()->frame == b.walk(m.va)->physical);
  CHECK(m.walk()->writable);
  CHECK(b.counted("os.mirror_retries") == 0);
}

TEST_CASE("the mirror forgets a range before the process's table changes, and its device's TLB with it") {
  OsBench b;
  Mirrored m(b);
  m.fault();
  Listener listener(b, 0ns);
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, m.va, kPage)).value == Error::none);
  CHECK_FALSE(m.walk(0));
  CHECK(m.walk(1));
  REQUIRE(listener.flushes.size() == 2);
  CHECK(listener.flushes[0].table == m.table.root());
  CHECK(listener.flushes[0].leaves.size() == 1);
  CHECK(listener.flushes[1].table == b.process->page_table().root());
  CHECK(b.counted("os.mirror_invalidations") == 1);
}

TEST_CASE("what was only read is mirrored without the right to write, which a write fault adds") {
  OsBench b;
  Mirrored m(b);
  REQUIRE(m.fault(false).value.value == kPages);
  CHECK_FALSE(m.walk()->writable);
  REQUIRE(m.fault(true).value.value == kPages);
  CHECK(m.walk()->writable);
  CHECK(m.walk()->frame == b.walk(m.va)->physical);
}

TEST_CASE("a table that changes while it is read is read again") {
  OsBench b;
  Mirrored m(b);
  m.fault();
  const Time start = b.node.now() + 1ms;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  const auto before = b.walk(m.va)->physical;
  Outcome<os::Result<std::uint64_t>> mirrored;
  Outcome<unsigned> moved;
  b.tasks.start(
      at_core(b, b.thread, start, b.vm.mirror_pages(b.thread, m.table, m.va, kPages * kPage, true), mirrored));
  // The pages are moved while the driver writes its descriptors, or between that and its look at them.
  b.tasks.start(at(
      b, start + b.config.syscall - 3us - kSwitch - b.config.migrate_page / 2,
      b.vm.page_events().migrate(other, *b.process, {m.va, m.va + kPages * kPage}, os::PageEvents::Mover::move_pages),
      moved));
  sc_core::sc_start();
  CHECK(mirrored.value.value == kPages);
  CHECK(moved.value > 0);
  CHECK(b.counted("os.mirror_retries") > 0);
  CHECK(b.walk(m.va)->physical != before);
  for (unsigned page = 0; page < kPages; ++page) {
    const auto mapping = m.walk(page);
    if (mapping) CHECK(mapping->frame == b.walk(m.va + page * kPage)->physical);
  }
}

TEST_CASE("huge pages are mirrored whole, and dropped whole") {
  OsConfig config;
  config.thp = os::ThpMode::always;
  config.khugepaged = false;
  OsBench b(config);
  const VirtualAddress va = b.map(kHugePage, {.alignment = kHugePage});
  os::MirroredTable& table = *b.vm.create_mirrored_table(*b.process).value;
  REQUIRE(b.run(b.vm.mirror_pages(b.thread, table, va + 5 * kPage, kPage, true)).value.ok());
  REQUIRE(table.table().walk(va));
  CHECK(table.table().walk(va)->size == os::PageSize::huge);
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, va + kPage, kPage)).value == Error::none);
  CHECK_FALSE(table.table().walk(va));
  CHECK(b.present(va));
}

TEST_CASE("the mirror forgets what is taken from the process in no time, and its device's TLB with it") {
  OsBench b;
  Mirrored m(b);
  m.fault();
  const Listener listener(b, 0ns);
  REQUIRE(b.vm.discard(*b.process, m.va, kPage) == Error::none);
  CHECK_FALSE(m.walk(0));
  CHECK(m.walk(1));
  CHECK(listener.dropped == sim::Vector<VirtualAddress>{m.va});
}

// A store that takes no time copies the page, while the driver writes the descriptors of what it has looked up.
TEST_CASE("a table that changes in no time while it is read is read again, and the mirror leads to the new page") {
  OsBench b;
  Mirrored m(b);
  m.fault();
  REQUIRE(b.vm.fill(*b.process, m.va, kPage, 7) == kPage);
  Process& child = *b.run(b.vm.fork(b.thread, *b.process)).value.value;
  const Time took = m.fault(false).took;
  const Time start = b.node.now() + 1ms;
  const auto before = b.walk(m.va)->physical;
  Outcome<os::Result<std::uint64_t>> mirrored;
  b.tasks.start(
      at_core(b, b.thread, start, b.vm.mirror_pages(b.thread, m.table, m.va, kPages * kPage, false), mirrored));
  b.tasks.start([](OsBench& bench, VirtualAddress va, Time when) -> Task<void> {
    co_await bench.node.loop.until(when);
    CHECK(bench.vm.fill(*bench.process, va, kPage, 9) == kPage);
  }(b, m.va, start + took - b.config.private_map_per_page));
  sc_core::sc_start();
  CHECK(mirrored.value.value == kPages);
  CHECK(b.counted("os.mirror_retries") == 1);
  REQUIRE(m.walk());
  CHECK(m.walk()->frame != before);
  CHECK(m.walk()->frame == b.walk(m.va)->physical);
  CHECK(b.store.read(m.walk()->frame, kPage) == sim::Content::pattern(9, 0, kPage));
  CHECK(b.vm.read(child, m.va, kPage) == sim::Content::pattern(7, 0, kPage));
}

TEST_CASE("a page of the pool that the end of a dropped range cuts stays in the process and in the mirror") {
  OsConfig config;
  config.nr_hugepages = 2;
  config.kernel.version = os::KernelVersion::linux_6_1;
  OsBench b(config);
  const VirtualAddress va = b.map(2 * kHugePage, {.hugetlb = true});
  os::MirroredTable& table = *b.vm.create_mirrored_table(*b.process).value;
  REQUIRE(b.run(b.vm.mirror_pages(b.thread, table, va, 2 * kHugePage, true)).value.ok());
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, va, kHugePage + kPage, os::Advice::dont_need)).value == Error::none);
  CHECK_FALSE(b.present(va));
  CHECK(b.present(va + kHugePage));
  CHECK_FALSE(table.table().walk(va));
  CHECK(table.table().walk(va + kHugePage));
  CHECK(b.counted("os.mirror_invalidations") == 1);
}
