// SPDX-License-Identifier: Apache-2.0
// Where long calls and the kernel's own threads give way to others (cond_resched), with sched.preemption = none. Each
// place by itself: the cases fail when the giving way that they name is left out.
#include "models/os/events/khugepaged.hpp"
#include "models/os/reclaim/reclaim.hpp"
#include "tests/os/mapped_file.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using cpu::Work;
using os::Advice;
using os::Change;
using os::KernelVersion;
using sim::Content;

namespace {

// What is not asked about here takes no time: fixed costs and TLBs.
OsConfig of_walks(KernelVersion version = KernelVersion::linux_6_1) {
  OsConfig config = of_kernel(version);
  config.thp = os::ThpMode::never;
  for (Time* fixed : {&config.mlock_fixed, &config.mprotect_fixed, &config.mremap_fixed, &config.fork_fixed,
                      &config.syscall, &config.thp_alloc, &config.cpu_tlbi, &config.cpu_dsb}) {
    *fixed = 0ns;
  }
  return config;
}

// A system call, the kernel's own threads, and a thread that has to have the core when it wants it: all on one core.
struct OneCore : OsBench {
  explicit OneCore(const OsConfig& wanted, std::uint64_t memory_bytes = 64 * kMiB) : OsBench(wanted, memory_bytes, 1) {}

  // How long the thread waits at most for the others' kernel code to give way. It wants the core `after` they have got
  // it back from it, again and again until the operation is over.
  template <typename T>
  Time longest_wait(Time after, Task<T> operation) {
    Time longest{0};
    bool over = false;
    tasks.start(interrupt(cpu.new_thread("interrupts", 0, cpu::SchedClass::fifo), after, over, longest));
    tasks.start(watch(std::move(operation), over));
    sc_core::sc_start();
    CHECK(over);
    vm.audit();
    return longest;
  }
  // The longest piece of kernel code that gives way nowhere.
  template <typename T>
  Time longest_piece(Task<T> operation) {
    const Time moment{1};
    return longest_wait(moment, std::move(operation)) + moment;
  }

  // Present pages of 4 KiB, in whole tables.
  VirtualAddress tables(unsigned count, os::MmapOptions options = {}) {
    options.alignment = kHugePage;
    return map_present(count * kHugePage, options);
  }

 private:
  template <typename T>
  Task<void> watch(Task<T> operation, bool& over) {
    co_await cpu.run(thread, Work::system, 0ns);
    co_await std::move(operation);
    over = true;
  }
  Task<void> interrupt(cpu::Execution& other, Time after, const bool& over, Time& longest) {
    co_await cpu.run(other, Work::system, 0ns);
    while (!over) {
      co_await node.loop.until(node.now() + kSwitch + after);
      const Time wanted = node.now();
      co_await cpu.run(other, Work::system, 0ns);
      longest = std::max(longest, node.now() - wanted - kSwitch);
    }
  }
};

constexpr std::int64_t kTable = os::kPagesPerHuge;

}  // namespace

// Walks of page tables: which piece of a walk of two tables is the longest.
namespace {

Time munlock_piece(KernelVersion version) {
  OneCore b(of_walks(version));
  const VirtualAddress va = b.tables(2, {.locked = true});
  return b.longest_piece(b.vm.munlock(b.thread, *b.process, va, 2 * kHugePage));
}

Time mremap_piece(KernelVersion version) {
  OneCore b(of_walks(version));
  const VirtualAddress va = b.tables(2);
  return b.longest_piece(b.vm.mremap(b.thread, *b.process, va, 2 * kHugePage));
}

Time mprotect_piece(KernelVersion version) {
  OneCore b(of_walks(version));
  const VirtualAddress va = b.tables(2);
  return b.longest_piece(b.vm.mprotect(b.thread, *b.process, va, 2 * kHugePage, os::Protection::read));
}

}  // namespace

TEST_CASE("giving way: munlock up to 5.15 after 15 pages", "[munlock-by-tables]") {
  CHECK(munlock_piece(KernelVersion::linux_5_15) == 15 * OsConfig{}.munlock_per_page);
}
TEST_CASE("giving way: munlock since 6.1 after each page table", "[munlock-by-tables]") {
  CHECK(munlock_piece(KernelVersion::linux_6_1) == kTable * OsConfig{}.munlock_per_page);
}
TEST_CASE("giving way: mremap up to 4.14 after 64 pages", "[mremap-by-tables]") {
  CHECK(mremap_piece(KernelVersion::linux_4_14) == 64 * OsConfig{}.mremap_per_page);
}
TEST_CASE("giving way: mremap since 4.19 after each page table", "[mremap-by-tables]") {
  CHECK(mremap_piece(KernelVersion::linux_4_19) == kTable * OsConfig{}.mremap_per_page);
}
TEST_CASE("giving way: mprotect in 4.9 nowhere", "[mprotect-gives-way]") {
  CHECK(mprotect_piece(KernelVersion::linux_4_9) == 2 * kTable * OsConfig{}.mprotect_per_page);
}
TEST_CASE("giving way: mprotect since 4.14 after each page table", "[mprotect-gives-way]") {
  CHECK(mprotect_piece(KernelVersion::linux_4_14) == kTable * OsConfig{}.mprotect_per_page);
}

TEST_CASE("giving way: fork after any page") {
  OneCore b(of_walks());
  b.tables(2);
  CHECK(b.longest_wait(10us, b.vm.fork(b.thread, *b.process)) == 0ns);
}

TEST_CASE("giving way: get_user_pages after any page that is there") {
  OneCore b(of_walks());
  const VirtualAddress va = b.tables(2);
  CHECK(b.longest_wait(10us, b.vm.madvise(b.thread, *b.process, va, 2 * kHugePage, Advice::populate_write)) == 0ns);
}

TEST_CASE("giving way: get_user_pages after each page that it brings") {
  OsConfig config = of_walks();
  config.gup_per_page = 0ns;
  OneCore b(config);
  const VirtualAddress va = b.map(8 * kPage);
  CHECK(b.longest_piece(b.vm.madvise(b.thread, *b.process, va, 8 * kPage, Advice::populate_write)) == b.cold_page());
}

// Clearing and copying.

TEST_CASE("giving way: clearing of 2 MiB after each 4 KiB") {
  OsConfig config = of_walks();
  config.thp = os::ThpMode::always;
  OneCore b(config);
  const VirtualAddress va = b.map(kHugePage, {.alignment = kHugePage});
  CHECK(b.longest_piece(b.vm.touch(b.thread, *b.process, va, true)) == b.zeroing(1));
  CHECK(b.process->space().is_huge(va));
}

TEST_CASE("giving way: copying of 2 MiB after each 4 KiB") {
  OsConfig config = of_walks(KernelVersion::linux_4_9);
  config.thp = os::ThpMode::always;
  OneCore b(config);
  const VirtualAddress va = b.tables(1);
  REQUIRE(b.vm.fill(*b.process, va, kHugePage, 7) == kHugePage);
  REQUIRE(b.run(b.vm.fork(b.thread, *b.process)).value.ok());
  CHECK(b.longest_piece(b.vm.touch(b.thread, *b.process, va, true)) == b.copying(1));
  CHECK(b.process->space().is_huge(va));
  CHECK(b.vm.read(*b.process, va, kHugePage) == Content::pattern(7, 0, kHugePage));
}

TEST_CASE("giving way: read(2) after each page") {
  OneCore b(of_walks());
  File& file = *b.vm.page_cache().create(8 * kPage, kFileSeed);
  FileReader reader{&file};
  const auto read = [&] { return b.vm.page_cache().read(b.thread, *b.process, reader, 0, 8 * kPage); };
  REQUIRE(b.run(read()).value.ok());
  CHECK(b.longest_piece(read()) == b.config.copy_bandwidth.time_for(kPage));
}

TEST_CASE("giving way: write(2) after each page") {
  OneCore b(of_walks());
  File& file = *b.vm.page_cache().create(8 * kPage, kFileSeed);
  const auto write = [&] { return b.vm.page_cache().write(b.thread, *b.process, file, 0, 8 * kPage, 1); };
  REQUIRE(b.run(write()).value.ok());
  CHECK(b.longest_piece(write()) == b.config.copy_bandwidth.time_for(kPage));
}

// What works on one page after the other.

TEST_CASE("giving way: move_pages after each page") {
  OneCore b(of_walks());
  const PresentPages pages(b);
  CHECK(b.longest_piece(
            b.vm.page_events().migrate(b.thread, *b.process, pages.range(), os::PageEvents::Mover::move_pages)) ==
        b.config.migrate_page + b.copying(1));
}

TEST_CASE("giving way: KSM after each page") {
  OneCore b(of_walks());
  const PresentPages pages(b);
  CHECK(b.longest_piece(b.vm.page_events().merge_equal(b.thread, *b.process, pages.range())) ==
        b.config.copy_bandwidth.time_for(kPage));
}

TEST_CASE("giving way: MADV_PAGEOUT after each page") {
  OsConfig config = of_walks(KernelVersion::linux_6_12);
  config.swap_bytes = kMiB;
  OneCore b(config);
  const PresentPages pages(b);
  CHECK(b.longest_piece(b.vm.madvise(b.thread, *b.process, pages.va, pages.kBytes, Advice::page_out)) ==
        b.config.reclaim_page);
}

TEST_CASE("giving way: MADV_COLLAPSE after each 2 MiB") {
  OneCore b(of_walks());
  const VirtualAddress va = b.tables(2);
  const auto& c = b.config;
  const Time page = c.khugepaged_scan_per_page + c.khugepaged_isolate_per_page + c.khugepaged_free_per_page;
  CHECK(b.longest_piece(b.vm.madvise(b.thread, *b.process, va, 2 * kHugePage, Advice::collapse)) ==
        kTable * page + b.copying(kTable));
}

TEST_CASE("giving way: truncation after each page") {
  OsConfig config = of_walks();
  config.cpu_dsb = 1us;
  OneCore b(config);
  MappedFile f(b, 8, /*shared=*/true);
  for (std::uint64_t page = 0; page < 8; ++page) CHECK(f.touch(page, false).value == Error::none);
  CHECK(b.longest_piece(b.vm.page_events().truncate(b.thread, *b.process, f.range(0, 8))) == 1us);
}

namespace {

// 64 pages of a file, all of them written to.
struct DirtyFile : MappedFile {
  explicit DirtyFile(OsBench& bench) : MappedFile(bench, 64, /*shared=*/true) {
    for (std::uint64_t page = 0; page < 64; ++page) CHECK(touch(page, true).value == Error::none);
  }
};

}  // namespace

TEST_CASE("giving way: write-back after any page that it looks for") {
  OneCore b(of_walks());
  const DirtyFile f(b);
  CHECK(b.longest_wait(10us, b.vm.page_cache().writeback().sync(b.thread, f.file)) == 0ns);
}

TEST_CASE("giving way: write-back after each page that it protects") {
  OsConfig config = of_walks();
  config.writeback_page = 0ns;
  config.cpu_dsb = 1us;
  OneCore b(config);
  const DirtyFile f(b);
  CHECK(b.longest_piece(b.vm.page_cache().writeback().sync(b.thread, f.file)) == 1us);
}

// Compaction.
namespace {

// Two tables' worth of pages at the low end, to be moved, and room for 40 behind 472 that stay.
struct ToCompact {
  explicit ToCompact(OsBench& b) {
    low = b.map_present(2 * kHugePage);
    const VirtualAddress high = b.map_present(kHugePage);
    REQUIRE(b.vm.discard(*b.process, high + 472 * kPage, 40 * kPage) == Error::none);
  }
  VirtualAddress low = 0;
};

}  // namespace

TEST_CASE("giving way: compaction after any page that it looks at in vain") {
  OneCore b(of_walks());
  const ToCompact memory(b);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, memory.low, 2 * kHugePage, true)).value.ok());
  CHECK(b.longest_wait(10us, b.vm.compaction().compact_memory(b.thread)) == 0ns);
  CHECK(b.counted("os.compact_migrate_scanned") >= 1024);
  CHECK(b.counted("os.pgmigrate_success") == 0);
}

TEST_CASE("giving way: compaction after any page that it finds taken") {
  OsConfig config = of_walks();
  config.migrate_page = 0ns;
  OneCore b(config);
  const ToCompact memory(b);
  CHECK(b.longest_wait(10us, b.vm.compaction().compact_memory(b.thread)) <= b.copying(1));
  CHECK(b.counted("os.compact_free_scanned") >= 472);
  CHECK(b.counted("os.pgmigrate_success") > 0);
}

TEST_CASE("giving way: compaction after each page that it moves") {
  OsConfig config = of_walks();
  config.compact_scan_per_page = config.compact_free_scan_per_page = 0ns;
  OneCore b(config);
  const ToCompact memory(b);
  CHECK(b.longest_piece(b.vm.compaction().compact_memory(b.thread)) == b.config.migrate_page + b.copying(1));
}

// Threads of the kernel's own.

TEST_CASE("giving way: khugepaged after each 2 MiB that it looks at") {
  OsConfig config = of_walks();
  config.thp = os::ThpMode::madvise;
  config.khugepaged = true;
  config.khugepaged_scan_sleep = 1ms;
  OneCore b(config);
  const VirtualAddress va = b.tables(4);
  for (unsigned i = 0; i < 4; ++i) {
    REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, va + i * kHugePage, kPage, true)).value.ok());
  }
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, va, 4 * kHugePage, Advice::hugepage)).value == Error::none);
  const auto wait = [&]() -> Task<void> { co_await b.node.loop.delay(5ms); };
  // The core may be on its way to the daemon, which has slept, when the other thread wants it.
  const Time piece = b.longest_piece(wait());
  CHECK(piece >= kTable * b.config.khugepaged_scan_per_page);
  CHECK(piece <= kTable * b.config.khugepaged_scan_per_page + kSwitch);
  CHECK(b.counted("os.collapse_refused") >= 4);
}

namespace {

// And what kswapd does afterwards.
Task<void> write_to_each_page(OsBench& b, VirtualAddress va, std::uint64_t pages) {
  for (std::uint64_t i = 0; i < pages; ++i) {
    REQUIRE(co_await b.vm.touch(b.thread, *b.process, va + i * kPage, true) == Error::none);
    co_await b.cpu.run(b.thread, Work::user, 0ns);  // back to the program
  }
  co_await b.node.loop.delay(100ms);
}

}  // namespace

// Most of memory is pinned, so that kswapd finds nothing at first and looks at more and more in one go: up to 32 pages.
TEST_CASE("giving way: kswapd after each page that it ages, and each that it unmaps") {
  // This kernel waits for the TLBs when it ages pages, and unmaps pinned ones.
  OsConfig config = of_walks(KernelVersion::linux_4_9);
  config.user_memory = 16 * kMiB;
  config.min_free_bytes = 2 * kMiB;
  config.swap_bytes = 64 * kMiB;
  config.rlimit_memlock = os::kUnlimited;
  config.reclaim_scan_per_page = config.resident_touch = 0ns;
  config.cpu_dsb = 20us;
  OneCore b(config);
  const VirtualAddress pinned = b.map_present(12 * kMiB);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, pinned, 12 * kMiB, true)).value.ok());
  const std::uint64_t pages = 400;
  const VirtualAddress va = b.map(pages * kPage);
  CHECK(b.longest_piece(write_to_each_page(b, va, pages)) == b.config.reclaim_page + 20us);
  CHECK(b.counted("os.pgscan_kswapd") > 32);
  CHECK(b.counted("os.pgdeactivate") > 32);
}
