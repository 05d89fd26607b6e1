// SPDX-License-Identifier: Apache-2.0
// How many TLB invalidations a change of a table takes, and how often the core waits for them.
#include "models/os/events/khugepaged.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::KernelVersion;
using os::PageEvents;
using os::Protection;
using os::Range;

namespace {

OsConfig blocks_flushed_by(KernelVersion version = KernelVersion::linux_6_1) {
  OsConfig config = of_kernel(version);
  config.thp = os::ThpMode::always;
  return config;
}

// Eight pages, of which the third, the fourth and the seventh are present.
VirtualAddress pages_with_holes(OsBench& b) {
  const VirtualAddress va = b.map(8 * kPage);
  REQUIRE(b.vm.make_present(*b.process, va + 2 * kPage, 2 * kPage) == Error::none);
  REQUIRE(b.vm.make_present(*b.process, va + 6 * kPage, kPage) == Error::none);
  return va;
}

}  // namespace

TEST_CASE("munmap: one invalidation for each page from the first that was there to the last, and one wait") {
  OsBench b;
  Listener listener(b, 0ns);
  const VirtualAddress va = pages_with_holes(b);
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, 8 * kPage)).took == b.config.munmap_fixed + b.flush(5));
  REQUIRE(listener.flushes.size() == 1);
  std::vector<VirtualAddress> operations;
  listener.flushes[0].for_each_operation([&](VirtualAddress at) { operations.push_back(at - va); });
  CHECK(operations == std::vector<VirtualAddress>{2 * kPage, 3 * kPage, 4 * kPage, 5 * kPage, 6 * kPage});
}

TEST_CASE("mprotect up to 5.15: one invalidation for each page of the range, and one wait", "[mprotect-gathers]") {
  OsBench b(of_kernel(KernelVersion::linux_5_15));
  const VirtualAddress va = pages_with_holes(b);
  const auto changed = b.run(b.vm.mprotect(b.thread, *b.process, va, 8 * kPage, Protection::read));
  CHECK(changed.took == b.config.mprotect_fixed + 3 * b.config.mprotect_per_page + b.flush(8));
  // Nothing has changed, nothing is invalidated.
  const auto again = b.run(b.vm.mprotect(b.thread, *b.process, va, 8 * kPage, Protection::read));
  CHECK(again.took == b.config.mprotect_fixed + 3 * b.config.mprotect_per_page);
}

TEST_CASE("mprotect since 6.1: as munmap", "[mprotect-gathers]") {
  OsBench b(of_kernel(KernelVersion::linux_6_1));
  const VirtualAddress va = pages_with_holes(b);
  const auto changed = b.run(b.vm.mprotect(b.thread, *b.process, va, 8 * kPage, Protection::read));
  CHECK(changed.took == b.config.mprotect_fixed + 3 * b.config.mprotect_per_page + b.flush(5));
}

TEST_CASE("mremap: the whole range") {
  OsBench b;
  const VirtualAddress va = pages_with_holes(b);
  CHECK(b.run(b.vm.mremap(b.thread, *b.process, va, 8 * kPage)).took ==
        b.config.mremap_fixed + 3 * b.config.mremap_per_page + b.flush(8));
}

TEST_CASE("MADV_DONTNEED and MADV_FREE: as munmap") {
  OsBench b;
  const VirtualAddress va = pages_with_holes(b);
  for (const os::Advice advice : {os::Advice::free, os::Advice::dont_need}) {
    CHECK(b.run(b.vm.madvise(b.thread, *b.process, va, 8 * kPage, advice)).took == b.config.syscall + b.flush(5));
  }
}

TEST_CASE("migration: one invalidation and a wait for each page") {
  OsBench b;
  const VirtualAddress va = b.map_present(5 * kPage);
  const auto moved =
      b.run(b.vm.page_events().migrate(b.thread, *b.process, {va, va + 5 * kPage}, PageEvents::Mover::compaction));
  CHECK(moved.value == 5);
  CHECK(moved.took == 5 * (b.flush() + b.config.migrate_page + b.copying(1)));
}

TEST_CASE("memory failure: one invalidation and a wait for each page, too") {
  OsBench b;
  const VirtualAddress va = b.map_present(5 * kPage);
  CHECK(b.run(b.vm.page_events().poison(b.thread, *b.process, {va, va + 5 * kPage})).took == 5 * b.flush());
}

TEST_CASE("ageing up to 4.19: one invalidation and a wait for each page", "[ages-in-passing]") {
  OsBench b(of_kernel(KernelVersion::linux_4_19));
  const VirtualAddress va = b.map_present(5 * kPage);
  CHECK(b.run(b.vm.page_events().age(b.thread, *b.process, {va, va + 5 * kPage})).took == 5 * b.flush());
}

TEST_CASE("ageing since 5.4: one invalidation for each page, and nobody waits", "[ages-in-passing]") {
  OsBench b(of_kernel(KernelVersion::linux_5_4));
  Listener listener(b, 0ns);
  const VirtualAddress va = b.map_present(5 * kPage);
  CHECK(b.run(b.vm.page_events().age(b.thread, *b.process, {va, va + 5 * kPage})).took == 5 * b.config.cpu_tlbi);
  REQUIRE(listener.flushes.size() == 5);
  for (const os::TlbFlush& flush : listener.flushes) CHECK_FALSE(flush.waits);
}

TEST_CASE("NUMA hints and write protection: as mprotect") {
  OsBench b(of_kernel(KernelVersion::linux_5_15));
  const VirtualAddress va = pages_with_holes(b);
  const Range range{va, va + 8 * kPage};
  CHECK(b.run(b.vm.page_events().write_protect(b.thread, *b.process, range)).took == b.flush(8));
  CHECK(b.run(b.vm.page_events().numa_hint(b.thread, *b.process, range)).took == b.flush(8));
}

namespace {

void limit_of_range(KernelVersion version, std::uint64_t limit) {
  OsBench b(of_kernel(version));
  Listener listener(b, 0ns);
  // A neighbour keeps the tables.
  const VirtualAddress va = b.map_present((limit + 1) * kPage);
  for (std::uint64_t i = 0; i < 6; ++i) b.map_present(kPage);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, va, (limit - 1) * kPage, os::Advice::free)).took ==
        b.config.syscall + b.flush(limit - 1));
  // Two pages, and as much between them.
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, va, (limit + 1) * kPage, os::Advice::dont_need)).value ==
          Error::none);
  REQUIRE(b.vm.make_present(*b.process, va, kPage) == Error::none);
  REQUIRE(b.vm.make_present(*b.process, va + (limit - 1) * kPage, kPage) == Error::none);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, va, limit * kPage, os::Advice::free)).took ==
        b.config.syscall + b.flush());
  CHECK(listener.flushes.back().whole);
}

}  // namespace

TEST_CASE("up to 4.19 one operation invalidates the whole address space above 1,024 pages", "[tlb-strides]") {
  limit_of_range(KernelVersion::linux_4_19, 1025);
}
TEST_CASE("since 5.4 from 512 on", "[tlb-strides]") { limit_of_range(KernelVersion::linux_5_4, 512); }

TEST_CASE("fork and exit invalidate the whole address space, however little is there") {
  OsBench b;
  b.map_present(kPage);
  Listener listener(b, 0ns);
  const auto forked = b.run(b.vm.fork(b.thread, *b.process));
  REQUIRE(forked.value.ok());
  CHECK(forked.took == b.config.fork_fixed + b.config.fork_per_page + b.flush());
  const auto ended = b.end(*forked.value.value);
  CHECK(ended.took == b.config.exit_fixed + b.flush());
  REQUIRE(listener.flushes.size() == 2);
  for (const os::TlbFlush& flush : listener.flushes) CHECK(flush.whole);
}

TEST_CASE("up to 4.19 exit flushes its tables one by one, and not the address space", "[tlb-strides]") {
  OsBench b(of_kernel(KernelVersion::linux_4_19));
  b.map_present(kPage);
  const auto forked = b.run(b.vm.fork(b.thread, *b.process));
  REQUIRE(forked.value.ok());
  Listener listener(b, 0ns);
  const auto ended = b.end(*forked.value.value);
  CHECK(ended.took == b.config.exit_fixed + 2 * b.flush());
  CHECK(listener.flushes.empty());
  CHECK(listener.dropped.size() == 1);
}

TEST_CASE("up to 4.19 each table that becomes empty takes an invalidation and a wait of its own", "[tlb-strides]") {
  OsBench b(of_kernel(KernelVersion::linux_4_9));
  const VirtualAddress va = b.map_present(3 * kPage);  // by two tables
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, 3 * kPage)).took ==
        b.config.munmap_fixed + b.flush(3) + 2 * b.flush());
}

TEST_CASE("up to 4.19 a huge page is unmapped by 512 invalidations", "[tlb-strides]") {
  OsBench b(blocks_flushed_by(KernelVersion::linux_4_19));
  const VirtualAddress va = b.map_present(kHugePage, {.alignment = kHugePage});
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, kHugePage)).took ==
        b.config.munmap_fixed + b.flush(512) + b.flush());  // and its table
}

TEST_CASE("since 5.4 huge pages alone are unmapped by one invalidation each, beside a small one page by page",
          "[tlb-strides]") {
  OsBench b(blocks_flushed_by(KernelVersion::linux_5_4));
  VirtualAddress va = b.map_present(3 * kHugePage, {.alignment = kHugePage});
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, 3 * kHugePage)).took == b.config.munmap_fixed + b.flush(3));
  Listener listener(b, 0ns);
  va = b.map_present(kHugePage + kPage, {.alignment = kHugePage});
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, kHugePage + kPage)).took == b.config.munmap_fixed + b.flush());
  REQUIRE(listener.flushes.size() == 1);
  CHECK(listener.flushes[0].whole);  // 513 would be needed
}

namespace {

void split_block(KernelVersion version, std::uint64_t operations, bool whole) {
  OsBench b(blocks_flushed_by(version));
  Listener listener(b, 0ns);
  const VirtualAddress va = b.map_present(kHugePage, {.alignment = kHugePage});
  const auto split = b.run(b.vm.madvise(b.thread, *b.process, va, kPage, os::Advice::dont_fork));
  CHECK(split.took == b.config.syscall + b.flush(operations) + b.config.thp_split);
  REQUIRE(listener.flushes.size() == 1);
  CHECK(listener.flushes[0].whole == whole);
}

}  // namespace

TEST_CASE("a block is flushed by 512 invalidations up to 4.19") { split_block(KernelVersion::linux_4_19, 512, false); }
TEST_CASE("a block is flushed with the address space in 5.4", "[block-flushes]") {
  split_block(KernelVersion::linux_5_4, 1, true);
}
TEST_CASE("a block is flushed by one invalidation since 5.10", "[block-flushes]") {
  split_block(KernelVersion::linux_5_10, 1, false);
}

namespace {

// What a store costs to a block whose right to write, or whose access flag, was taken.
Time store_to_block(KernelVersion version, bool protect) {
  OsBench b(blocks_flushed_by(version));
  const VirtualAddress va = b.map_present(kHugePage, {.alignment = kHugePage});
  const Range range{va, va + kHugePage};
  PageEvents& events = b.vm.page_events();
  if (protect) {
    CHECK(b.run(events.write_protect(b.thread, *b.process, range)).value == 1);
  } else {
    CHECK(events.mark_idle(b.thread, *b.process, range) == 1);
  }
  Listener listener(b, 0ns);
  const Time took = b.run(b.vm.touch(b.thread, *b.process, va + 5 * kPage, true)).took;
  CHECK(b.process->space().is_huge(va));
  REQUIRE(listener.flushes.size() == 1);
  CHECK_FALSE(listener.flushes[0].whole);
  CHECK(took == b.config.fault_no_alloc + b.flush(listener.flushes[0].operations()));
  return took - b.config.fault_no_alloc;
}

}  // namespace

TEST_CASE("4.9: a block that may be written again is one invalidation") {
  CHECK(store_to_block(KernelVersion::linux_4_9, /*protect=*/true) == OsConfig{}.cpu_tlbi + OsConfig{}.cpu_dsb);
}
TEST_CASE("4.9: a block that is young again is one invalidation") {
  CHECK(store_to_block(KernelVersion::linux_4_9, /*protect=*/false) == OsConfig{}.cpu_tlbi + OsConfig{}.cpu_dsb);
}
TEST_CASE("5.4: a block that may be written again is one invalidation") {
  CHECK(store_to_block(KernelVersion::linux_5_4, /*protect=*/true) == OsConfig{}.cpu_tlbi + OsConfig{}.cpu_dsb);
}
