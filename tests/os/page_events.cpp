// SPDX-License-Identifier: Apache-2.0
// What the kernel does to pages behind a program's back, as the program and a device see it.
#include "models/os/events/page_events.hpp"

#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::PageEvents;
using os::Range;

namespace {

constexpr std::uint64_t kPages = PresentPages::kPages;

struct Buffer : PresentPages {
  using PresentPages::PresentPages;
  bool descriptor_allows(bool write) const {
    const auto walked = b.walk(va);
    return walked && (walked->descriptor & 0x400) != 0 && (!write || writable());
  }
};

// Of the page's descriptor, in a table of 39 bits.
memory::Address descriptor_address(const memory::FrameStore& store, memory::Address table, VirtualAddress va) {
  for (const unsigned shift : {30u, 21u}) table = store.read_word(table + (va >> shift) % 512 * 8) & 0xfffffffff000;
  return table + (va >> 12) % 512 * 8;
}

}  // namespace

TEST_CASE("a migrated page has another frame and the same content, and the old frame is free and stale") {
  OsBench b;
  Buffer buffer(b);
  const auto used = b.used();
  const auto old = buffer.frame();
  const auto epoch = b.store.epoch();
  const auto moved =
      b.run(b.vm.page_events().migrate(b.thread, *b.process, buffer.first(), PageEvents::Mover::compaction));
  CHECK(moved.value == 1);
  CHECK(moved.took == b.flush() + b.config.migrate_page + b.copying(1));
  CHECK(buffer.frame() != old);
  CHECK(buffer.intact());
  CHECK(b.used() == used);
  CHECK_FALSE(b.vm.frames().is_allocated(old));
  CHECK(b.store.is_stale(old, epoch));
  CHECK(b.counted("os.pgmigrate_success") == 1);
  b.vm.audit();
}

TEST_CASE("compaction leaves pinned pages mapped, move_pages clears their entries before it notices, ten times") {
  OsBench b;
  Buffer buffer(b);
  buffer.pin();
  const auto frame = buffer.frame();
  const Range page = buffer.first();
  Listener listener(b, 0ns);
  CHECK(b.run(b.vm.page_events().migrate(b.thread, *b.process, page, PageEvents::Mover::compaction)).value == 0);
  CHECK(listener.flushes.empty());
  const auto tried = b.run(b.vm.page_events().migrate(b.thread, *b.process, page, PageEvents::Mover::move_pages));
  CHECK(tried.value == 0);
  CHECK(tried.took == 10 * (b.flush() + b.config.migrate_page));
  CHECK(listener.flushes.size() == 10);
  CHECK_FALSE(listener.present_at_start);
  CHECK(b.present(buffer.va));
  CHECK(buffer.frame() == frame);
  CHECK(b.counted("os.migrate_restored") == 10);
  CHECK(b.counted("os.pgmigrate_fail") == 1);
  b.vm.audit();
}

namespace {

Task<void> expect_back(OsBench& b, VirtualAddress va, Time when, bool stays) {
  co_await b.node.loop.until(when - Time{1});
  CHECK_FALSE(b.present(va));
  co_await b.node.loop.until(when + Time{1});
  CHECK(b.present(va) == stays);
}

// When a pinned page of the pool is back that is to be moved, pass by pass.
void check_pool_page(os::KernelVersion version, bool at_once) {
  OsConfig config = of_kernel(version);
  config.nr_hugepages = 2;
  OsBench b(config);
  const VirtualAddress va = b.map_present(kHugePage, {.hugetlb = true});
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, va, kPage, true)).value.ok());
  const auto before = b.walk(va)->descriptor;
  const Time start = b.node.now() + 1ms;
  Outcome<unsigned> moved;
  b.tasks.start(at_core(
      b, b.thread, start,
      b.vm.page_events().migrate(b.thread, *b.process, {va, va + kHugePage}, PageEvents::Mover::move_pages), moved));
  const Time pass = b.flush() + b.config.migrate_page;
  for (std::int64_t i = 0; i < 10; ++i) {
    // A pass that ends with the page in its place is followed by the next at once.
    b.tasks.start(expect_back(b, va, start + i * pass + (at_once ? b.flush() : pass), at_once || i == 9));
  }
  sc_core::sc_start();
  CHECK(moved.value == 0);
  CHECK(moved.at == start + 10 * pass);
  CHECK(b.walk(va)->descriptor == before);
  CHECK(b.counted("os.migrate_restored") == 10);
  CHECK(b.counted("os.pgmigrate_fail") == 1);
  b.vm.audit();
}

}  // namespace

TEST_CASE("5.15: a pinned page of the pool is away until it is found held, ten times", "[exclusive-pages]") {
  check_pool_page(os::KernelVersion::linux_5_15, false);
}
TEST_CASE("6.1: a pinned page of the pool is away until TLBs have forgotten it, ten times", "[exclusive-pages]") {
  check_pool_page(os::KernelVersion::linux_6_1, true);
}

namespace {

void compact_locked(bool allowed) {
  OsConfig config;
  config.compact_unevictable_allowed = allowed;
  OsBench b(config);
  Buffer buffer(b);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, buffer.va, kPages * kPage)).value == Error::none);
  CHECK(b.run(b.vm.page_events().migrate(b.thread, *b.process, buffer.range(), PageEvents::Mover::compaction)).value ==
        (allowed ? kPages : 0));
}

}  // namespace

TEST_CASE("compaction moves locked pages where vm.compact_unevictable_allowed says so") { compact_locked(true); }
TEST_CASE("compaction leaves locked pages where it must not move them") { compact_locked(false); }

TEST_CASE("a page that parent and child share is moved for both") {
  OsBench b;
  Buffer buffer(b);
  const auto child = b.run(b.vm.fork(b.thread, *b.process)).value;
  REQUIRE(child.ok());
  CHECK(b.run(b.vm.page_events().migrate(b.thread, *b.process, buffer.range(), PageEvents::Mover::move_pages)).value ==
        kPages);
  CHECK(child.value->space().entry(buffer.va)->frame == buffer.frame());
  CHECK(b.vm.read(*child.value, buffer.va, kPage) == sim::Content::pattern(7, 0, kPage));
  b.vm.audit();
}

TEST_CASE("a program that touches a page on the move waits until it has come to rest") {
  OsBench b;
  Buffer buffer(b);
  const Time start = b.node.now() + 1ms;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<unsigned> moved;
  Outcome<Error> touched;
  b.tasks.start(at_core(b, b.thread, start,
                        b.vm.page_events().migrate(b.thread, *b.process, buffer.first(), PageEvents::Mover::move_pages),
                        moved));
  const Time away = start + b.config.migrate_page / 2;
  b.tasks.start(at(b, away + 500ns, b.vm.touch(other, *b.process, buffer.va, true), touched));
  sc_core::sc_start();
  CHECK(touched.value == Error::none);
  CHECK(touched.at > start + b.flush() + b.config.migrate_page + b.copying(1));
  CHECK(b.counted("os.pgmigrate_success") == 1);
}

TEST_CASE("a page that is to be moved is there until half of the work on it is done") {
  OsBench b;
  Buffer buffer(b);
  Listener listener(b, 0ns);
  const Time begin = b.node.now();
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<unsigned> moved;
  Outcome<Error> touched;
  b.tasks.start(at(b, begin,
                   b.vm.page_events().migrate(b.thread, *b.process, buffer.first(), PageEvents::Mover::move_pages),
                   moved));
  const Time early = begin + b.config.migrate_page / 2 - 1us;
  b.tasks.start(at(b, early, b.vm.touch(other, *b.process, buffer.va, true), touched));
  sc_core::sc_start();
  CHECK(touched.at == early + kSwitch + b.config.resident_touch);
  CHECK(listener.told_at == begin + b.config.migrate_page / 2 + b.config.cpu_tlbi);
  CHECK(moved.at == begin + b.config.migrate_page + b.flush() + b.copying(1));
}

TEST_CASE("munmap of a page on the move frees it when the mover has let go of it, once") {
  OsBench b;
  const auto used = b.used();
  Buffer buffer(b);
  const Time start = b.node.now() + 1ms;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<unsigned> moved;
  Outcome<Error> unmapped;
  b.tasks.start(at(b, start,
                   b.vm.page_events().migrate(b.thread, *b.process, buffer.range(), PageEvents::Mover::move_pages),
                   moved));
  b.tasks.start(at(b, start + b.config.migrate_page / 2 - b.config.munmap_fixed,
                   b.vm.munmap(other, *b.process, buffer.va, PresentPages::kBytes), unmapped));
  sc_core::sc_start();
  CHECK(unmapped.value == Error::none);
  CHECK(moved.at >= start);
  CHECK(b.used() == used);
  b.vm.audit();
}

namespace {

void merge(bool pinned) {
  OsBench b;
  Buffer buffer(b);
  if (pinned) buffer.pin();
  const auto frame = buffer.frame();
  Listener listener(b, 0ns);
  CHECK(b.run(b.vm.page_events().merge_equal(b.thread, *b.process, buffer.range())).value == (pinned ? 0 : kPages));
  CHECK_FALSE(listener.present_at_start);
  CHECK(listener.flushes.size() == (pinned ? kPages : 2 * kPages));
  CHECK(buffer.intact());
  CHECK(buffer.descriptor_allows(false));
  CHECK(buffer.descriptor_allows(true) == pinned);
  CHECK((buffer.frame() == frame) == pinned);
  const auto merged = buffer.frame();
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, buffer.va, true)).value == Error::none);
  CHECK((buffer.frame() == merged) == pinned);
  CHECK(buffer.descriptor_allows(true));
  CHECK(buffer.intact());
  b.vm.audit();
}

}  // namespace

TEST_CASE("KSM merges a page, whose next write gets a copy") { merge(false); }
TEST_CASE("KSM unmaps a pinned page for a moment only") { merge(true); }

namespace {

// A pinned buffer from which rights are taken.
struct Pinned {
  Pinned() { buffer.pin(); }
  // The right to write, and what else a store sets, comes with an invalidation: a TLB may hold that there is none.
  void check_touch_undoes_it() {
    CHECK_FALSE(buffer.descriptor_allows(true));
    const auto touched = b.run(b.vm.touch(b.thread, *b.process, buffer.va, true));
    CHECK(touched.value == Error::none);
    CHECK(touched.took == b.config.fault_no_alloc + b.flush());
    CHECK(buffer.descriptor_allows(true));
    CHECK(buffer.frame() == frame);
    CHECK(b.counted("os.zeroed_bytes") == 0);
  }

  OsBench b;
  Buffer buffer{b};
  Listener listener{b, 0ns};
  const memory::Address frame = buffer.frame();
};

}  // namespace

TEST_CASE("ageing does not look at pins, and a touch undoes it") {
  Pinned p;
  CHECK(p.b.run(p.b.vm.page_events().age(p.b.thread, *p.b.process, p.buffer.range())).value == kPages);
  CHECK(p.listener.flushes.size() == kPages);  // page by page
  CHECK_FALSE(p.buffer.descriptor_allows(false));
  p.check_touch_undoes_it();
}

TEST_CASE("write protection does not look at pins, and a touch undoes it") {
  Pinned p;
  CHECK(p.b.run(p.b.vm.page_events().write_protect(p.b.thread, *p.b.process, p.buffer.range())).value == kPages);
  CHECK(p.listener.flushes.size() == 1);  // the range
  CHECK(p.buffer.descriptor_allows(false));
  p.check_touch_undoes_it();
}

TEST_CASE("after a NUMA hint a page is there again at the next access") {
  OsBench b;
  Buffer buffer(b);
  CHECK(b.run(b.vm.page_events().numa_hint(b.thread, *b.process, buffer.range())).value == kPages);
  CHECK_FALSE(b.present(buffer.va));
  CHECK(b.run(b.vm.touch(b.thread, *b.process, buffer.va, true)).value == Error::none);
  CHECK(b.present(buffer.va));
  CHECK(buffer.intact());
  b.vm.audit();
}

TEST_CASE("NUMA hints leave pinned pages alone") {
  OsBench b;
  Buffer buffer(b);
  buffer.pin();
  CHECK(b.run(b.vm.page_events().numa_hint(b.thread, *b.process, buffer.range())).value == 0);
  CHECK(b.present(buffer.va));
  CHECK(buffer.intact());
  b.vm.audit();
}

TEST_CASE("memory that has failed is an error for whoever touches it, and munmap removes it") {
  OsBench b;
  Buffer buffer(b);
  CHECK(b.run(b.vm.page_events().poison(b.thread, *b.process, buffer.first())).value == 1);
  CHECK_FALSE(b.present(buffer.va));
  CHECK(b.run(b.vm.touch(b.thread, *b.process, buffer.va, false)).value == Error::poisoned);
  CHECK(b.run(b.vm.touch(b.thread, *b.process, buffer.va + kPage, true)).value == Error::none);
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, buffer.va, kPages * kPage)).value == Error::none);
  b.vm.audit();
}

TEST_CASE("truncation unmaps pinned pages, and what is translated by an older table is stale from then on") {
  OsBench b;
  Buffer buffer(b);
  const auto pin = buffer.pin();
  os::PrivateTable& table = *b.vm.create_private_table(*b.process).value;
  REQUIRE(b.run(b.vm.map_pinned(b.thread, table, pin)).value == Error::none);
  const auto frame = buffer.frame();
  const auto entry = descriptor_address(b.store, table.root(), buffer.va);
  CHECK_FALSE(b.store.is_stale(frame, b.store.epoch_of(entry)));
  CHECK(b.run(b.vm.page_events().truncate(b.thread, *b.process, buffer.range())).value == kPages);
  CHECK_FALSE(b.present(buffer.va));
  CHECK(b.vm.frames().is_allocated(frame));
  // Whenever it is walked.
  CHECK(b.store.is_stale(frame, b.store.epoch_of(entry)));
  CHECK_FALSE(b.store.is_stale(frame, b.store.epoch()));
  REQUIRE(b.run(b.vm.unmap_pinned(b.thread, table, pin)).value == Error::none);
  REQUIRE(b.run(b.vm.unpin(b.thread, pin)).value == Error::none);
  CHECK_FALSE(b.vm.frames().is_allocated(frame));
  b.vm.audit();
}

TEST_CASE("a huge page that is to move is split, and all of its pages move") {
  OsConfig config;
  config.thp = os::ThpMode::always;
  config.khugepaged = false;
  OsBench b(config);
  const VirtualAddress va = b.map_present(kHugePage, {.alignment = kHugePage});
  REQUIRE(b.process->space().is_huge(va));
  const Range range{va, va + kHugePage};
  CHECK(b.run(b.vm.page_events().migrate(b.thread, *b.process, range, PageEvents::Mover::move_pages)).value ==
        os::kPagesPerHuge);
  CHECK_FALSE(b.process->space().is_huge(va));
  b.vm.audit();
}
