// SPDX-License-Identifier: Apache-2.0
// Memory that is lent to programs until a driver wants it in one piece, or a page in it is pinned for long.
#include "models/os/events/cma.hpp"

#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using memory::Address;
using os::FrameAllocator;
using os::FrameUse;

namespace {

OsConfig with_cma(std::uint64_t bytes) {
  OsConfig config;
  config.cma_bytes = bytes;
  config.rlimit_memlock = os::kUnlimited;
  return config;
}

// Four pages in the area, with a pattern.
struct LentPages {
  static constexpr std::uint64_t kPages = 4;
  static constexpr std::uint64_t kBytes = kPages * kPage;
  explicit LentPages(OsBench& bench) : b(bench), va(b.map(kBytes)) {
    REQUIRE(b.vm.cma().bring_into_area(*b.process, va, kBytes) == Error::none);
    REQUIRE(b.vm.fill(*b.process, va, kBytes, 7) == kBytes);
    REQUIRE(inside() == kPages);
  }
  Address frame(std::uint64_t page) const { return b.process->space().entry(va + page * kPage)->frame; }
  unsigned inside() const {
    unsigned pages = 0;
    for (std::uint64_t i = 0; i < kPages; ++i) pages += b.vm.cma().holds(frame(i)) ? 1 : 0;
    return pages;
  }
  bool intact() const { return b.vm.read(*b.process, va, kBytes) == sim::Content::pattern(7, 0, kBytes); }
  Timed<os::Result<os::PinId>> pin() { return b.run(b.vm.pin_user_pages(b.thread, *b.process, va, kBytes, true)); }

  OsBench& b;
  VirtualAddress va;
};

Time moving(const OsBench& b) { return b.flush() + b.config.migrate_page + b.copying(1); }

}  // namespace

TEST_CASE("the CMA area is the top of memory, and serves what can be moved once most of what is free lies there") {
  FrameAllocator frames(kHugePage, 8 * kHugePage, 2 * kHugePage);
  CHECK(frames.cma().begin() == 7 * kHugePage);
  CHECK(frames.cma().end() == 9 * kHugePage);
  CHECK(frames.total_pages() == 8 * os::kPagesPerHuge);
  for (unsigned i = 0; i < 4; ++i) CHECK(frames.allocate_huge() == (1 + i) * kHugePage);
  // 2 blocks are free outside, 2 inside: not more than half.
  CHECK(frames.allocate_page() == 5 * kHugePage);
  CHECK(frames.allocate_page() == 7 * kHugePage);
  // Now one page less is inside than outside, and so on.
  CHECK(frames.allocate_page() == 5 * kHugePage + kPage);
  CHECK(frames.allocate_page() == 7 * kHugePage + kPage);
  CHECK(frames.allocate_page(FrameUse::fixed) == 6 * kHugePage);
}

TEST_CASE("5.4: the CMA area serves what can be moved when nothing else is left") {
  FrameAllocator frames(0, 3 * kHugePage, 2 * kHugePage, /*cma_first=*/false);
  CHECK(frames.allocate_huge() == 0u);
  CHECK(frames.allocate_huge() == kHugePage);
}

namespace {

// Whether the first page of a program lies in the CMA area that is three quarters of memory.
bool begins_in_cma(os::KernelVersion version) {
  OsConfig config = of_kernel(version);
  config.user_memory = 32 * kMiB;
  config.cma_bytes = 24 * kMiB;
  OsBench b(config);
  const VirtualAddress va = b.map_present(kPage);
  return b.vm.cma().holds(b.process->space().entry(va)->frame);
}

}  // namespace

TEST_CASE("5.4: a program's pages come from elsewhere before they come from the CMA area", "[cma-first]") {
  CHECK_FALSE(begins_in_cma(os::KernelVersion::linux_5_4));
}
TEST_CASE("5.10: a program's pages come from the CMA area while most of what is free is there", "[cma-first]") {
  CHECK(begins_in_cma(os::KernelVersion::linux_5_10));
}

TEST_CASE("what cannot be moved never gets into the CMA area, what can gets into the last frame of it") {
  FrameAllocator frames(0, 2 * kHugePage, kHugePage);
  CHECK(frames.allocate_huge(FrameUse::fixed) == 0u);
  CHECK_FALSE(frames.allocate_page(FrameUse::fixed));
  CHECK_FALSE(frames.allocate_huge(FrameUse::fixed));
  for (unsigned i = 0; i < os::kPagesPerHuge; ++i) REQUIRE(frames.allocate_page() == kHugePage + i * kPage);
  CHECK_FALSE(frames.allocate_page());
}

TEST_CASE("without an area, or with one as large as memory, the allocator is as it was") {
  CHECK(FrameAllocator(kHugePage, kHugePage).cma().total_pages() == 0);
  FrameAllocator all(kHugePage, 4 * kHugePage, 100 * kHugePage);
  CHECK(all.cma().total_pages() == all.total_pages());
  CHECK(all.allocate_page() == kHugePage);
  // An area that would begin within a block begins with it; memory may end within one.
  FrameAllocator cut(0, 4 * kHugePage + 3 * kPage, kHugePage);
  CHECK(cut.cma().begin() == 3 * kHugePage);
  CHECK(cut.cma().end() == 4 * kHugePage + 3 * kPage);
}

TEST_CASE(
    "a long-term pin moves its pages out of the CMA area first, and they are unmapped for as long as that takes") {
  OsBench b(with_cma(16 * kMiB));
  LentPages pages(b);
  const Address old = pages.frame(0);
  Listener listener(b, 0ns);
  const auto pinned = pages.pin();
  REQUIRE(pinned.value.ok());
  CHECK(pages.inside() == 0);
  CHECK(pages.intact());
  CHECK_FALSE(b.vm.frames().is_allocated(old));
  CHECK(listener.flushes.size() == LentPages::kPages);
  CHECK_FALSE(listener.present_at_start);
  // Twice through all pages, and each let go of and moved between.
  constexpr auto n = static_cast<std::int64_t>(LentPages::kPages);
  CHECK(pinned.took == b.config.pin_fixed + n * (2 * b.config.gup_per_page + b.config.unpin_per_page + moving(b)));
  CHECK(b.counted("os.batch_drains") == 0);
  CHECK(b.counted("os.cma_pin_migrated") == LentPages::kPages);
  CHECK(b.counted("os.nr_foll_pin_acquired") == 2 * LentPages::kPages);
  CHECK(b.counted("os.nr_foll_pin_released") == LentPages::kPages);
  b.vm.audit();
  // Once: the next pin finds them elsewhere.
  const auto again = pages.pin();
  CHECK(again.took == b.config.pin_fixed + n * b.config.gup_per_page);
  CHECK(listener.flushes.size() == LentPages::kPages);
  b.vm.audit();
}

TEST_CASE("4.19: a long-term pin stays in the CMA area, and a driver that wants it finds it there",
          "[longterm-leaves-cma]") {
  OsConfig config = with_cma(16 * kMiB);
  config.kernel.version = os::KernelVersion::linux_4_19;
  OsBench b(config);
  LentPages pages(b);
  const Address begin = pages.frame(0);
  const auto pinned = pages.pin();
  REQUIRE(pinned.value.ok());
  CHECK(pinned.took == b.config.pin_fixed + LentPages::kPages * b.config.gup_per_page);
  CHECK(pages.inside() == LentPages::kPages);
  CHECK_FALSE(b.run(b.vm.cma().allocate_at(b.thread, begin, 1)).value);
  CHECK(pages.frame(0) == begin);
  CHECK(b.run(b.vm.unpin(b.thread, pinned.value.value)).value == Error::none);
  CHECK(b.run(b.vm.cma().allocate_at(b.thread, begin, 1)).value);
  CHECK(pages.frame(0) != begin);
  b.vm.audit();
}

TEST_CASE("5.4: a long-term pin leaves the CMA area first", "[longterm-leaves-cma]") {
  OsConfig config = with_cma(16 * kMiB);
  config.kernel.version = os::KernelVersion::linux_5_4;
  OsBench b(config);
  LentPages pages(b);
  REQUIRE(pages.pin().value.ok());
  CHECK(pages.inside() == 0);
}

TEST_CASE("pages that come with a long-term pin do not come to the CMA area, though most of what is free lies there") {
  OsBench b(with_cma(48 * kMiB));
  const VirtualAddress touched = b.map(kPage);
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, touched, true)).value == Error::none);
  CHECK(b.vm.cma().holds(b.process->space().entry(touched)->frame));
  const VirtualAddress va = b.map(4 * kPage);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, va, 4 * kPage, true)).value.ok());
  for (unsigned i = 0; i < 4; ++i) CHECK_FALSE(b.vm.cma().holds(b.process->space().entry(va + i * kPage)->frame));
  CHECK(b.counted("os.cma_pin_migrated") == 0);
  b.vm.audit();
}

TEST_CASE("a huge page in the CMA area is taken apart to be moved out of it for a pin") {
  OsConfig config = with_cma(48 * kMiB);
  config.thp = os::ThpMode::always;
  config.khugepaged = false;
  OsBench b(config);
  const VirtualAddress va = b.map(kHugePage, {.alignment = kHugePage});
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, va, true)).value == Error::none);
  REQUIRE(b.process->space().is_huge(va));
  REQUIRE(b.vm.cma().holds(b.process->space().entry(va)->frame));
  REQUIRE(b.vm.fill(*b.process, va, kHugePage, 7) == kHugePage);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, va + 5 * kPage, 2 * kPage, true)).value.ok());
  CHECK_FALSE(b.process->space().is_huge(va));
  CHECK(b.counted("os.cma_pin_migrated") == 2);
  CHECK(b.vm.read(*b.process, va, kHugePage) == sim::Content::pattern(7, 0, kHugePage));
  b.vm.audit();
}

TEST_CASE("a long-term pin has the cores' batches drained if a page of its own is still in one of them") {
  OsBench b(with_cma(16 * kMiB), 20 * kMiB);
  constexpr unsigned kPages = os::kPagevec + 2;
  const VirtualAddress va = b.map(kPages * kPage);
  for (unsigned i = 0; i < kPages; ++i) {
    REQUIRE(b.run(b.vm.touch(b.thread, *b.process, va + i * kPage, true)).value == Error::none);
    REQUIRE(b.vm.cma().holds(b.process->space().entry(va + i * kPage)->frame));
  }
  // The batch was full after the first of them.
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, va, os::kPagevec * kPage, true)).value.ok());
  CHECK(b.counted("os.cma_pin_migrated") == os::kPagevec);
  CHECK(b.counted("os.batch_drains") == 0);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, va + os::kPagevec * kPage, kPage, true)).value.ok());
  CHECK(b.counted("os.batch_drains") == 1);
  // Which has taken the last one to the lists, too.
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, va + (kPages - 1) * kPage, kPage, true)).value.ok());
  CHECK(b.counted("os.cma_pin_migrated") == kPages);
  CHECK(b.counted("os.batch_drains") == 1);
  b.vm.audit();
}

TEST_CASE("where there is no room outside, a page in the CMA area cannot be pinned") {
  OsBench b(with_cma(16 * kMiB), 20 * kMiB);
  LentPages pages(b);
  while (b.vm.frames().free_pages() > b.vm.frames().cma().free_pages()) {
    const VirtualAddress va = b.map(kPage);
    if (b.run(b.vm.pin_user_pages(b.thread, *b.process, va, kPage, true)).value.error == Error::no_memory) break;
  }
  CHECK(pages.pin().value.error == Error::no_memory);
  CHECK(pages.intact());
  CHECK(pages.inside() > 0);
  b.vm.audit();
}

TEST_CASE("a driver that wants a piece of the area gets it, and the pages that were lent it move") {
  OsBench b(with_cma(16 * kMiB));
  LentPages pages(b);
  const Address area = b.vm.frames().cma().begin();
  REQUIRE(pages.frame(0) == area);
  const auto got = b.run(b.vm.cma().allocate(b.thread, 64));
  REQUIRE(got.value);
  CHECK(*got.value == area);
  CHECK(got.took == static_cast<std::int64_t>(LentPages::kPages) * moving(b) + b.drain());
  CHECK(b.counted("os.batch_drains") == 1);
  for (unsigned i = 0; i < 64; ++i) CHECK(b.vm.frames().is_allocated(area + i * kPage));
  for (unsigned i = 0; i < LentPages::kPages; ++i)
    CHECK((pages.frame(i) < area || pages.frame(i) >= area + 64 * kPage));
  CHECK(pages.intact());
  CHECK(b.counted("os.cma_alloc_success") == 64);
  b.vm.audit();
  const auto second = b.run(b.vm.cma().allocate(b.thread, 64));
  REQUIRE(second.value);
  CHECK(*second.value == area + 64 * kPage);
  b.vm.cma().release(*got.value);
  CHECK_FALSE(b.vm.frames().is_allocated(area));
  CHECK_FALSE(b.run(b.vm.cma().allocate_at(b.thread, area + 64 * kPage, 1)).value);
  CHECK(b.counted("os.cma_alloc_fail") == 1);
  b.vm.audit();
}

TEST_CASE(
    "4.19: a page that is pinned while a driver's claim moves its neighbours is tried five times, in ten passes each") {
  OsConfig config = with_cma(16 * kMiB);
  config.kernel.version = os::KernelVersion::linux_4_19;
  OsBench b(config);
  const VirtualAddress va = b.map(32 * kPage);
  REQUIRE(b.vm.cma().bring_into_area(*b.process, va, 32 * kPage) == Error::none);
  REQUIRE(b.vm.fill(*b.process, va, 32 * kPage, 7) == 32 * kPage);
  const PinsLater pins(b, 20 * kPage);
  const Address begin = b.process->space().entry(va)->frame;
  CHECK_FALSE(b.run(b.vm.cma().allocate_at(b.thread, begin, 32)).value);
  CHECK(pins.pinned.value.ok());
  CHECK(b.counted("os.pgmigrate_success") == 31);
  CHECK(b.counted("os.pgmigrate_fail") == 5);
  CHECK(b.counted("os.migrate_restored") == 50);
  CHECK(b.vm.read(*b.process, va, 32 * kPage) == sim::Content::pattern(7, 0, 32 * kPage));
  b.vm.audit();
}

TEST_CASE("a huge page that a driver's claim takes apart is taken apart for every process that has it") {
  OsConfig config = with_cma(48 * kMiB);
  config.thp = os::ThpMode::always;
  config.khugepaged = false;
  OsBench b(config);
  const VirtualAddress va = b.map(kHugePage, {.alignment = kHugePage});
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, va, true)).value == Error::none);
  REQUIRE(b.vm.fill(*b.process, va, kHugePage, 7) == kHugePage);
  const Address begin = b.process->space().entry(va)->frame;
  REQUIRE(b.vm.cma().holds(begin));
  const Process& child = *b.run(b.vm.fork(b.thread, *b.process)).value.value;
  REQUIRE(child.space().is_huge(va));
  CHECK(b.run(b.vm.cma().allocate_at(b.thread, begin + 5 * kPage, 1)).value);
  CHECK_FALSE(b.process->space().is_huge(va));
  CHECK_FALSE(child.space().is_huge(va));
  CHECK(b.counted("os.pgmigrate_success") == 1);
  const Address moved = b.process->space().entry(va + 5 * kPage)->frame;
  CHECK(moved != begin + 5 * kPage);
  CHECK(child.space().entry(va + 5 * kPage)->frame == moved);
  CHECK(b.vm.read(*b.process, va, kHugePage) == sim::Content::pattern(7, 0, kHugePage));
  CHECK(b.vm.read(child, va, kHugePage) == sim::Content::pattern(7, 0, kHugePage));
  b.vm.audit();
}

namespace {

// How often a driver that claims pages of two blocks, at their border, waits for the cores' workers.
std::uint64_t drains_of_claim(os::KernelVersion version) {
  OsConfig config = of_kernel(version);
  config.cma_bytes = 16 * kMiB;
  OsBench b(config);
  const Address border = b.vm.frames().cma().begin() + 4 * kMiB;
  REQUIRE(border % (4 * kMiB) == 0);
  REQUIRE(b.run(b.vm.cma().allocate_at(b.thread, border - kPage, 2)).value);
  return b.counted("os.batch_drains");
}

}  // namespace

TEST_CASE("4.9: a driver's claim of the CMA area drains before pages move, and in the end", "[drains-by-workers]") {
  CHECK(drains_of_claim(os::KernelVersion::linux_4_9) == 2);
}
TEST_CASE("4.19: a driver's claim drains free pages for each block, lists once, and both in the end",
          "[drains-by-workers][claim-ends-lighter]") {
  CHECK(drains_of_claim(os::KernelVersion::linux_4_19) == 4 + 1 + 2);
}
TEST_CASE("5.4: a driver's claim drains only the lists in the end", "[claim-ends-lighter]") {
  CHECK(drains_of_claim(os::KernelVersion::linux_5_4) == 4 + 1 + 1);
}
TEST_CASE("5.10: a driver's claim drains as often as in 5.4", "[claim-drains-first]") {
  CHECK(drains_of_claim(os::KernelVersion::linux_5_10) == 4 + 1 + 1);
}
TEST_CASE("5.15: a driver's claim drains lists and free pages once each, before pages move",
          "[claim-drains-first][drains-from-afar]") {
  CHECK(drains_of_claim(os::KernelVersion::linux_5_15) == 2);
}
TEST_CASE("6.1: a driver's claim drains the lists alone", "[drains-from-afar]") {
  CHECK(drains_of_claim(os::KernelVersion::linux_6_1) == 1);
}

TEST_CASE("where there is no room outside, a driver's claim is given up at the first page") {
  OsConfig config = with_cma(2 * kMiB);
  config.user_memory = 4 * kMiB;
  OsBench b(config);
  LentPages pages(b);
  const VirtualAddress rest = b.map(4 * kMiB);
  REQUIRE(b.run(b.vm.touch_range(b.thread, *b.process, rest, 4 * kMiB, true)).value == Error::no_memory);
  CHECK_FALSE(b.run(b.vm.cma().allocate_at(b.thread, pages.frame(0), LentPages::kPages)).value);
  CHECK(b.counted("os.pgmigrate_fail") == 1);
  CHECK(pages.inside() == LentPages::kPages);
  CHECK(pages.intact());
  b.vm.audit();
}

TEST_CASE("a driver that wants more than the area gets nothing, and one that wants all of it gets it") {
  OsBench b(with_cma(2 * kMiB));
  LentPages pages(b);
  const Address area = b.vm.frames().cma().begin();
  REQUIRE(pages.frame(0) == area);
  CHECK_FALSE(b.run(b.vm.cma().allocate(b.thread, 4096)).value);
  CHECK(b.counted("os.cma_alloc_fail") == 4096);
  const VirtualAddress driver = b.vm.map_driver_memory(*b.process, kPage).value;
  CHECK_FALSE(b.vm.cma().holds(b.process->space().entry(driver)->frame));
  CHECK(b.run(b.vm.cma().allocate(b.thread, 512)).value == area);
  CHECK(pages.inside() == 0);
  b.vm.audit();
}

namespace {

OsConfig batching() {
  OsConfig config = with_cma(16 * kMiB);
  config.kernel.version = os::KernelVersion::linux_6_6;
  return config;
}

Time moving_together(const OsBench& b) {
  return static_cast<std::int64_t>(LentPages::kPages) * (moving(b) - b.config.cpu_dsb) + b.config.cpu_dsb;
}

}  // namespace

TEST_CASE("6.6: all pages of a long-term pin leave the area together", "[batched-migration]") {
  OsBench b(batching());
  LentPages pages(b);
  const auto pinned = pages.pin();
  REQUIRE(pinned.value.ok());
  CHECK(pages.inside() == 0);
  constexpr auto n = static_cast<std::int64_t>(LentPages::kPages);
  CHECK(pinned.took ==
        b.config.pin_fixed + n * (2 * b.config.gup_per_page + b.config.unpin_per_page) + moving_together(b));
  CHECK(pages.intact());
  b.vm.audit();
}

TEST_CASE("6.6: the pages of a driver's piece leave it together, and no frame of it is anybody else's meanwhile") {
  OsBench b(batching());
  LentPages pages(b);
  const Address area = b.vm.frames().cma().begin();
  REQUIRE(pages.frame(0) == area);
  const auto got = b.run(b.vm.cma().allocate(b.thread, 64));
  CHECK(got.value == area);
  CHECK(got.took == moving_together(b) + b.drain());
  CHECK(pages.intact());
  b.vm.audit();
}
