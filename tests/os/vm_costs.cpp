// SPDX-License-Identifier: Apache-2.0
// What every operation costs, to the picosecond, and what it leaves behind.
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

OsConfig with_thp(os::ThpMode mode) {
  OsConfig config;
  config.thp = mode;
  return config;
}

// Of what a touch maps into an aligned VMA with this advice.
unsigned leaf_level(OsBench& b, os::HugeAdvice advice) {
  const VirtualAddress va = b.map(kHugePage, {.advice = advice, .alignment = kHugePage});
  CHECK(b.run(b.vm.touch(b.thread, *b.process, va, true)).value == Error::none);
  return b.walk(va)->level;
}

}  // namespace

TEST_CASE("a first touch is a demand-zero fault, a second one a load") {
  OsBench b;
  const VirtualAddress va = b.map(4 * kPage);
  b.store.write(b.config.kernel_reserved + 20 * kPage, sim::Content::pattern(1, 0, kPage));
  const auto cold = b.run(b.vm.touch(b.thread, *b.process, va + 100, true));
  CHECK(cold.value == Error::none);
  CHECK(cold.took == b.config.anon_minor_fault + b.config.zero_bandwidth.time_for(kPage));
  CHECK(b.present(va));
  CHECK_FALSE(b.present(va + kPage));
  CHECK(b.run(b.vm.touch(b.thread, *b.process, va, false)).took == b.config.resident_touch);
  CHECK(b.counted("os.pgfault") == 1);
  CHECK(b.counted("os.zeroed_bytes") == kPage);
  CHECK(b.process->space().resident_bytes() == kPage);
}

TEST_CASE("touching a range faults on each absent page only") {
  OsBench b;
  const VirtualAddress va = b.map(5 * kPage);
  REQUIRE(b.vm.make_present(*b.process, va + kPage, 2 * kPage) == Error::none);
  CHECK(b.counted("os.pgfault") == 0);
  const auto touched = b.run(b.vm.touch_range(b.thread, *b.process, va, 5 * kPage, true));
  CHECK(touched.value == Error::none);
  CHECK(touched.took == 3 * b.cold_page() + 2 * b.config.resident_touch);
}

TEST_CASE("a touch with huge pages clears 2 MiB") {
  OsBench b(with_thp(os::ThpMode::always));
  const VirtualAddress va = b.map(kHugePage, {.alignment = kHugePage});
  const auto touched = b.run(b.vm.touch(b.thread, *b.process, va + 7 * kPage, true));
  CHECK(touched.took == b.config.thp_alloc + b.zeroing(512));
  CHECK(b.walk(va)->level == 2);
  CHECK(b.walk(va + kHugePage - 1)->physical == b.walk(va)->physical + kHugePage - 1);
  CHECK(b.counted("os.thp_fault_alloc") == 1);
  CHECK(b.process->space().resident_bytes() == kHugePage);
}

TEST_CASE("huge pages always, unless advised against") {
  OsBench b(with_thp(os::ThpMode::always));
  CHECK(leaf_level(b, os::HugeAdvice::no_huge) == 3);
  CHECK(leaf_level(b, os::HugeAdvice::none) == 2);
  CHECK(b.counted("os.thp_fault_fallback") == 0);
}

TEST_CASE("huge pages by advice") {
  OsBench b(with_thp(os::ThpMode::madvise));
  CHECK(leaf_level(b, os::HugeAdvice::none) == 3);
  CHECK(leaf_level(b, os::HugeAdvice::huge) == 2);
}

TEST_CASE("madvise asks for huge pages, where there is a VMA") {
  OsBench b(with_thp(os::ThpMode::madvise));
  const VirtualAddress va = b.map(3 * kHugePage, {.alignment = kHugePage});
  const auto advised = b.run(b.vm.madvise(b.thread, *b.process, va + kHugePage, kHugePage, os::Advice::hugepage));
  CHECK(advised.value == Error::none);
  CHECK(advised.took == b.config.syscall);
  for (unsigned n = 0; n < 3; ++n) {
    CHECK(b.run(b.vm.touch(b.thread, *b.process, va + n * kHugePage, true)).value == Error::none);
    CHECK(b.walk(va + n * kHugePage)->level == (n == 1 ? 2 : 3));
  }
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, va + 1, kHugePage, os::Advice::hugepage)).value == Error::invalid);
  // As Linux: a hole is an error, and what lies around it is advised.
  const VirtualAddress other = b.map(3 * kHugePage, {.alignment = kHugePage});
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, other + kHugePage, kHugePage)).value == Error::none);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, other, 3 * kHugePage, os::Advice::hugepage)).value ==
        Error::bad_address);
  for (const VirtualAddress at : {other, other + 2 * kHugePage}) {
    REQUIRE(b.vm.make_present(*b.process, at, kPage) == Error::none);
    CHECK(b.walk(at)->level == 2);
  }
}

TEST_CASE("huge pages never") {
  OsBench b(with_thp(os::ThpMode::never));
  CHECK(leaf_level(b, os::HugeAdvice::huge) == 3);
  CHECK(b.counted("os.thp_fault_fallback") == 0);
}

TEST_CASE("a range that does not fit, or holds a page already, gets small pages") {
  OsBench b(with_thp(os::ThpMode::always));
  const VirtualAddress va = b.map(2 * kHugePage - kPage, {.alignment = kHugePage});
  b.run(b.vm.touch(b.thread, *b.process, va + kHugePage, true));
  CHECK(b.walk(va + kHugePage)->level == 3);
  b.run(b.vm.touch(b.thread, *b.process, va, true));
  CHECK(b.walk(va)->level == 2);
}

TEST_CASE("without a free 2 MiB block a fault falls back to 4 KiB") {
  OsBench b(with_thp(os::ThpMode::always), 4 * kMiB);  // 2 MiB for the user, of which the page table has a page
  const VirtualAddress va = b.map(kHugePage, {.alignment = kHugePage});
  CHECK(b.run(b.vm.touch(b.thread, *b.process, va, true)).took == b.cold_page());
  CHECK(b.walk(va)->level == 3);
  CHECK(b.counted("os.thp_fault_fallback") == 1);
}

TEST_CASE("mmap, populate and mlock of new memory") {
  OsBench b;
  CHECK(b.run(b.vm.mmap(b.thread, *b.process, 3 * kPage, {})).took == b.config.mmap_fixed);
  CHECK(b.run(b.vm.mmap(b.thread, *b.process, 3 * kPage, {.populate = true})).took ==
        b.config.mmap_fixed + 3 * (b.cold_page() + b.config.gup_per_page));
  const auto locked = b.run(b.vm.mmap(b.thread, *b.process, 3 * kPage, {.locked = true}));
  CHECK(locked.took == b.config.mmap_fixed + 3 * (b.cold_page() + b.config.mlock_per_page));
  CHECK(b.present(locked.value.value + 2 * kPage));
  CHECK(b.vm.locked_bytes() == 3 * kPage);
}

TEST_CASE("madvise populate, mlock, munlock, get_user_pages: fixed, present and absent parts") {
  OsBench b;
  const auto five_of_eight = [&b] {
    const VirtualAddress va = b.map(8 * kPage);
    REQUIRE(b.vm.make_present(*b.process, va, 5 * kPage) == Error::none);
    return va;
  };
  const auto populated =
      b.run(b.vm.madvise(b.thread, *b.process, five_of_eight(), 8 * kPage, os::Advice::populate_write));
  CHECK(populated.took == b.config.syscall + 8 * b.config.gup_per_page + 3 * b.cold_page());

  VirtualAddress va = five_of_eight();
  const auto got = b.run(b.vm.fault_in_pages(b.thread, *b.process, va + 1, 7 * kPage, true));
  CHECK(got.value.value == 8);
  CHECK(got.took == b.config.syscall + 8 * b.config.gup_per_page + 3 * b.cold_page());
  CHECK(b.vm.frame_record(b.walk(va)->physical).pins == 0);

  va = five_of_eight();
  const auto locked = b.run(b.vm.mlock(b.thread, *b.process, va, 8 * kPage));
  CHECK(locked.took == b.config.mlock_fixed + 8 * b.config.mlock_per_page + 3 * b.cold_page());
  CHECK(b.process->space().locked_bytes() == 8 * kPage);
  const auto unlocked = b.run(b.vm.munlock(b.thread, *b.process, va, 6 * kPage));
  CHECK(unlocked.took == b.config.mlock_fixed + 6 * b.config.munlock_per_page);
  // Nothing is left to do for what is unlocked already.
  CHECK(b.run(b.vm.munlock(b.thread, *b.process, va, 8 * kPage)).took ==
        b.config.mlock_fixed + 2 * b.config.munlock_per_page);
  CHECK(b.vm.locked_bytes() == 0);
  CHECK(b.counted("os.locked_bytes_peak") == 8 * kPage);
  CHECK(b.process->space().resident_bytes() == 3 * 8 * kPage);
}

TEST_CASE("get_user_pages ends at the last page that it may have") {
  OsBench b;
  const VirtualAddress va = b.map(4 * kPage);
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, va + 3 * kPage, kPage)).value == Error::none);
  const auto got = b.run(b.vm.fault_in_pages(b.thread, *b.process, va + kPage, 8 * kPage, true));
  CHECK(got.value.error == Error::none);
  CHECK(got.value.value == 2);
  CHECK(got.took == b.config.syscall + 2 * (b.cold_page() + b.config.gup_per_page));
  CHECK(b.counted("os.pgfault") == 2);
  const auto nothing = b.run(b.vm.fault_in_pages(b.thread, *b.process, va + 3 * kPage, 8 * kPage, true));
  CHECK(nothing.value.error == Error::bad_address);
  CHECK(nothing.value.value == 0);
  CHECK(nothing.took == b.config.syscall);
  CHECK(b.counted("os.pgfault") == 2);
  // Reading goes on where writing may not, into the VMA behind.
  const VirtualAddress writable = b.map(2 * kPage);
  const VirtualAddress read_only = b.map(2 * kPage, {.writable = false});
  REQUIRE(read_only == writable + 2 * kPage);
  CHECK(b.run(b.vm.fault_in_pages(b.thread, *b.process, writable + kPage, 2 * kPage, true)).value.value == 1);
  CHECK(b.run(b.vm.fault_in_pages(b.thread, *b.process, writable + kPage, 2 * kPage, false)).value.value == 2);
}

TEST_CASE("pin and unpin: fixed, present and absent parts") {
  OsBench b;
  const VirtualAddress va = b.map(8 * kPage);
  REQUIRE(b.vm.make_present(*b.process, va, 5 * kPage) == Error::none);
  const auto pinned = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, 8 * kPage, true));
  REQUIRE(pinned.value.ok());
  CHECK(pinned.took == b.config.pin_fixed + 8 * b.config.gup_per_page + 3 * b.cold_page());
  CHECK(b.vm.pinned_bytes() == 8 * kPage);
  CHECK(b.vm.frame_record(b.walk(va)->physical).pins == 1);
  CHECK(b.vm.find_pin(pinned.value.value)->frames.at(7) == b.walk(va + 7 * kPage)->physical);
  const auto unpinned = b.run(b.vm.unpin(b.thread, pinned.value.value));
  CHECK(unpinned.value == Error::none);
  CHECK(unpinned.took == b.config.syscall + 8 * b.config.unpin_per_page);
  CHECK(b.vm.pinned_bytes() == 0);
  CHECK(b.vm.frame_record(b.walk(va)->physical).pins == 0);
  CHECK(b.counted("os.nr_foll_pin_acquired") == 8);
  CHECK(b.counted("os.nr_foll_pin_released") == 8);
  CHECK(b.counted("os.pinned_bytes_peak") == 8 * kPage);
}

TEST_CASE("a huge page is pinned, locked and invalidated as one") {
  OsBench b(with_thp(os::ThpMode::always));
  const VirtualAddress va = b.map_present(kHugePage, {.alignment = kHugePage});
  const auto pinned = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, kHugePage, true));
  CHECK(pinned.took == b.config.pin_fixed + b.config.gup_per_huge_page);
  CHECK(b.run(b.vm.unpin(b.thread, pinned.value.value)).took == b.config.syscall + b.config.unpin_per_huge_page);
  // A few of its pages cost what a few pages cost.
  const auto some = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, 3 * kPage, true));
  CHECK(some.took == b.config.pin_fixed + 3 * b.config.gup_per_page);
  CHECK(b.run(b.vm.mlock(b.thread, *b.process, va, kHugePage)).took == b.config.mlock_fixed + b.config.mlock_per_page);
  CHECK(b.run(b.vm.munlock(b.thread, *b.process, va, kHugePage)).took ==
        b.config.mlock_fixed + b.config.munlock_per_page);
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, kHugePage)).took == b.config.munmap_fixed + b.flush());
}

TEST_CASE("munmap invalidates page by page, or everything from the limit on") {
  OsConfig config;
  config.tlbi_page_limit = 4;
  OsBench b(config);
  const VirtualAddress va = b.map(16 * kPage);
  const auto unmap = [&](std::uint64_t first, std::uint64_t pages) {
    return b.run(b.vm.munmap(b.thread, *b.process, va + first * kPage, pages * kPage)).took;
  };
  REQUIRE(b.vm.make_present(*b.process, va, 10 * kPage) == Error::none);
  CHECK(unmap(0, 3) == b.config.munmap_fixed + b.flush(3));
  CHECK(unmap(3, 4) == b.config.munmap_fixed + b.flush());
  CHECK(unmap(12, 4) == b.config.munmap_fixed);  // nothing was there
  CHECK(unmap(7, 5) == b.config.munmap_fixed + b.flush(3));
  CHECK(b.counted("os.tlb_invalidations") == 3);
  CHECK(b.process->space().vmas().empty());
}

TEST_CASE("munmap waits for every TLB before it frees frames and tables") {
  OsBench b;
  const auto used = b.used();
  const VirtualAddress va = b.map_present(3 * kPage);
  const auto mapped = b.used();
  CHECK(mapped == used + 3 + 2);  // pages and two levels of table
  Listener first(b, 7us);
  Listener second(b, 5us);
  const auto done = b.run(b.vm.munmap(b.thread, *b.process, va, 3 * kPage));
  CHECK(done.took == b.config.munmap_fixed + b.flush(3) + 12us);
  REQUIRE(first.flushes.size() == 1);
  CHECK(first.flushes[0].leaves == sim::Vector<VirtualAddress>{va, va + kPage, va + 2 * kPage});
  CHECK_FALSE(first.flushes[0].whole);
  CHECK_FALSE(first.present_at_start);
  CHECK(first.used_at_end == mapped);
  CHECK(second.used_at_end == mapped);
  CHECK(b.used() == used);
}

TEST_CASE("who hears broadcasts is told when the last operation is out, and the CPU waits with it") {
  OsConfig config;
  config.tlbi_page_limit = 4;
  OsBench b(config);
  Listener listener(b, 0ns);
  listener.hears = true;
  for (const unsigned pages : {1u, 3u, 4u, 5u}) {
    INFO(pages);
    const unsigned operations = pages < 4 ? pages : 1;
    const VirtualAddress va = b.map_present(pages * kPage);
    const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, pages * kPage, true)).value.value;
    os::PrivateTable& table = *b.vm.create_private_table(*b.process).value;
    REQUIRE(b.run(b.vm.map_pinned(b.thread, table, pin)).value == Error::none);
    Time begin = b.node.now();
    const auto removed = b.run(b.vm.unmap_pinned(b.thread, table, pin));
    CHECK(removed.took == pages * b.config.private_map_per_page + b.flush(operations));
    CHECK(listener.told_at == begin + removed.took - b.config.cpu_dsb);
    CHECK(listener.flushes.back().operations() == operations);
    begin = b.node.now();
    const auto unmapped = b.run(b.vm.munmap(b.thread, *b.process, va, pages * kPage));
    CHECK(unmapped.took == b.config.munmap_fixed + b.flush(operations));
    CHECK(listener.told_at == begin + unmapped.took - b.config.cpu_dsb);
    CHECK(listener.flushes.back().whole == (pages >= 4));
  }
}

TEST_CASE("what another pin still maps in a private table is not invalidated") {
  OsBench b;
  Listener listener(b, 1us);
  const VirtualAddress va = b.map_present(3 * kPage);
  const auto one = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, 2 * kPage, true)).value.value;
  const auto two = b.run(b.vm.pin_user_pages(b.thread, *b.process, va + kPage, kPage, true)).value.value;
  os::PrivateTable& table = *b.vm.create_private_table(*b.process).value;
  REQUIRE(b.run(b.vm.map_pinned(b.thread, table, one)).value == Error::none);
  REQUIRE(b.run(b.vm.map_pinned(b.thread, table, two)).value == Error::none);
  CHECK(b.run(b.vm.unmap_pinned(b.thread, table, two)).took == b.config.private_map_per_page);
  CHECK(listener.flushes.empty());
  CHECK(b.run(b.vm.unmap_pinned(b.thread, table, one)).took == 2 * b.config.private_map_per_page + 1us);
  REQUIRE(listener.flushes.size() == 1);
  CHECK(listener.flushes[0].leaves == sim::Vector<VirtualAddress>{va, va + kPage});
}

TEST_CASE("a private table costs a descriptor a page, and its removal reaches the TLBs") {
  OsBench b;
  const VirtualAddress va = b.map_present(4 * kPage);
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, 4 * kPage, true)).value.value;
  const auto used = b.used();
  const auto table = b.vm.create_private_table(*b.process);
  REQUIRE(table.ok());
  const auto mapped = b.run(b.vm.map_pinned(b.thread, *table.value, pin));
  CHECK(mapped.value == Error::none);
  CHECK(mapped.took == 4 * b.config.private_map_per_page);
  const auto walked = walk(b.store, table.value->root(), 39, va + 3 * kPage);
  REQUIRE(walked);
  CHECK(walked->physical == b.walk(va + 3 * kPage)->physical);

  // The process's mapping may go; the device's stays, on the frames that are still pinned.
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, va, 4 * kPage)).value == Error::none);
  CHECK(walk(b.store, table.value->root(), 39, va + 3 * kPage)->physical == walked->physical);
  CHECK(b.vm.frames().is_allocated(walked->physical));

  Listener listener(b, 3us);
  const auto unmapped = b.run(b.vm.unmap_pinned(b.thread, *table.value, pin));
  CHECK(unmapped.took == 4 * b.config.private_map_per_page + 3us);
  REQUIRE(listener.flushes.size() == 1);
  CHECK(listener.flushes[0].leaves == sim::Vector<VirtualAddress>{va, va + kPage, va + 2 * kPage, va + 3 * kPage});
  CHECK_FALSE(walk(b.store, table.value->root(), 39, va));
  REQUIRE(b.run(b.vm.unpin(b.thread, pin)).value == Error::none);
  CHECK_FALSE(b.vm.frames().is_allocated(walked->physical));
  CHECK(b.used() == used - 4 - 2 + 1);  // pages and process tables gone, the private root stays
}
