// SPDX-License-Identifier: Apache-2.0
// Collapsing 512 small pages into a huge one: the window in which nothing is mapped, and who keeps it from happening.
#include "models/os/events/khugepaged.hpp"

#include "models/os/reclaim/reclaim.hpp"

#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Khugepaged;
using Collapse = Khugepaged::Outcome;

namespace {

OsConfig with(os::ThpMode mode) {
  OsConfig config;
  config.thp = mode;
  config.khugepaged = false;  // the daemon; tests call for collapses themselves
  return config;
}

// 2 MiB of small pages, present and each with content of its own.
struct SmallPages {
  explicit SmallPages(OsBench& bench) : b(bench) {
    va = b.vm.map(*b.process, kHugePage, kHugePage).value;
    // Page by page: the range is not empty any more when THP could apply.
    REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, va, kHugePage, os::Advice::no_hugepage)).value == Error::none);
    REQUIRE(b.vm.make_present(*b.process, va, kHugePage) == Error::none);
    REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, va, kHugePage, os::Advice::hugepage)).value == Error::none);
    REQUIRE(b.vm.fill(*b.process, va, kHugePage, 7) == kHugePage);
  }
  Task<Collapse> start_collapse(Khugepaged::Wish wish = Khugepaged::Wish::scan) {
    return b.vm.khugepaged().collapse(b.thread, *b.process, va, wish);
  }
  Collapse collapse(Khugepaged::Wish wish = Khugepaged::Wish::scan) { return b.run(start_collapse(wish)).value; }
  bool intact() const { return b.vm.read(*b.process, va, kHugePage) == sim::Content::pattern(7, 0, kHugePage); }
  bool huge() const { return b.walk(va)->level == 2; }

  OsBench& b;
  VirtualAddress va = 0;
};

// The cost of the steps in which the range is not mapped.
Time window(const OsBench& b) {
  return b.flush() + 512 * (b.config.khugepaged_isolate_per_page + b.config.khugepaged_free_per_page) + b.copying(512);
}
// A bench serves one case, so each variant of a case is one of its own.
void collapse_held_pages(bool pinned) {
  OsBench b(with(os::ThpMode::madvise));
  SmallPages pages(b);
  if (pinned) {
    REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, pages.va + kPage, kPage, true)).value.ok());
  } else {
    REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, pages.va, kHugePage)).value == Error::none);
  }
  CHECK(pages.collapse() == (pinned ? Collapse::unfit : Collapse::collapsed));
  CHECK(pages.huge() == !pinned);
  CHECK(b.counted("os.collapse_refused") == (pinned ? 1 : 0));
  CHECK(pages.intact());
}

void collapse_with_holes(unsigned holes) {
  OsConfig config = with(os::ThpMode::madvise);
  config.khugepaged_max_ptes_none = 10;
  OsBench b(config);
  SmallPages pages(b);
  REQUIRE(b.vm.discard(*b.process, pages.va, holes * kPage) == Error::none);
  CHECK(pages.collapse() == (holes <= 10 ? Collapse::collapsed : Collapse::unfit));
  CHECK(b.vm.read(*b.process, pages.va, kPage) == sim::Content::zeros(kPage));
  CHECK(b.present(pages.va) == (holes <= 10));
}

Time before_window(const OsBench& b) { return 512 * b.config.khugepaged_scan_per_page + b.config.thp_alloc; }

}  // namespace

TEST_CASE("a collapse leaves one huge page with the same content, and frees the small ones") {
  OsBench b(with(os::ThpMode::madvise));
  SmallPages pages(b);
  const auto used = b.used();
  const auto collapsed = b.run(pages.start_collapse());
  CHECK(collapsed.value == Collapse::collapsed);
  CHECK(collapsed.took == before_window(b) + window(b));
  CHECK(pages.huge());
  CHECK(pages.intact());
  CHECK(b.used() == used - 1);  // the table of the 512 descriptors
  CHECK(b.counted("os.khugepaged_pages_collapsed") == 1);
  CHECK(b.counted("os.thp_collapse_alloc") == 1);
  b.vm.audit();
}

TEST_CASE("the range is not mapped from the cleared descriptor to the new one, and faults wait for that") {
  OsBench b(with(os::ThpMode::madvise));
  SmallPages pages(b);
  const Time start = b.node.now() + 1ms;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  const Time opens = start + before_window(b);
  Outcome<Collapse> collapsed;
  Outcome<Error> touched;
  b.tasks.start(at_core(b, b.thread, start, pages.start_collapse(), collapsed));
  b.tasks.start(at(b, opens + 1us, b.vm.touch(other, *b.process, pages.va + 5 * kPage, true), touched));
  sc_core::sc_start(sim::to_sc_time(opens - Time{1} - b.node.now()));
  CHECK(b.present(pages.va));
  sc_core::sc_start(sim::to_sc_time(Time{2}));
  CHECK_FALSE(b.present(pages.va));
  CHECK_FALSE(b.present(pages.va + kHugePage - kPage));
  sc_core::sc_start(sim::to_sc_time(opens + window(b) - Time{1} - b.node.now()));
  CHECK_FALSE(b.present(pages.va));
  sc_core::sc_start(sim::to_sc_time(Time{2}));
  CHECK(pages.huge());
  sc_core::sc_start();
  CHECK(touched.value == Error::none);
  CHECK(touched.at > opens + window(b));
  CHECK(pages.intact());
}

TEST_CASE("pinned pages are not collapsed") { collapse_held_pages(true); }
TEST_CASE("locked pages are collapsed") { collapse_held_pages(false); }

TEST_CASE("a pin between the scan and the cleared descriptor: the range is unmapped for a while and put back") {
  OsBench b(with(os::ThpMode::madvise));
  SmallPages pages(b);
  const Time start = b.node.now() + 1ms;
  // The scan is over, the huge page is being allocated without a lock; the pin comes then, and holds the lock for long.
  const Time to_the_lock = kSwitch + b.config.pin_fixed;
  const Time pin_at = start + 512 * b.config.khugepaged_scan_per_page + 1us - to_the_lock;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<Collapse> outcome;
  Outcome<os::Result<os::PinId>> pinned;
  b.tasks.start(at_core(b, b.thread, start, pages.start_collapse(), outcome));
  b.tasks.start(at(b, pin_at, b.vm.pin_user_pages(other, *b.process, pages.va, kHugePage, true), pinned));
  const auto free_pages = b.vm.frames().free_pages();
  sc_core::sc_start();
  CHECK(pinned.value.ok());
  CHECK(outcome.value == Collapse::undone);
  CHECK(b.counted("os.collapse_undone") == 1);
  CHECK_FALSE(pages.huge());
  CHECK(b.present(pages.va));
  CHECK(pages.intact());
  CHECK(b.vm.frames().free_pages() == free_pages);
  b.vm.audit();
}

TEST_CASE("as many holes as max_ptes_none allows are filled with zeros") { collapse_with_holes(10); }
TEST_CASE("with one hole more the range stays as it is") { collapse_with_holes(11); }

namespace {

OsConfig with_swap(unsigned max_ptes_swap) {
  OsConfig config = with(os::ThpMode::madvise);
  config.swap_bytes = 64 * kMiB;
  config.khugepaged_max_ptes_swap = max_ptes_swap;
  return config;
}

void page_out(OsBench& b, const SmallPages& pages, unsigned first, unsigned count) {
  const VirtualAddress begin = pages.va + first * kPage;
  b.run(b.vm.reclaim().page_out(b.thread, *b.process, {begin, begin + count * kPage}));
  REQUIRE(b.process->space().swapped_bytes() >= count * kPage);
}

}  // namespace

TEST_CASE("swapped pages are read back first, one in each attempt, and then the range is collapsed") {
  OsBench b(with_swap(3));
  SmallPages pages(b);
  for (const unsigned page : {3u, 100u, 500u}) page_out(b, pages, page, 1);
  for (unsigned attempt = 1; attempt <= 3; ++attempt) {
    const auto free_pages = b.vm.frames().free_pages();
    CHECK(pages.collapse() == Collapse::unfit);
    CHECK(b.counted("os.pswpin") == attempt);
    CHECK(b.vm.frames().free_pages() == free_pages - 1);
    b.vm.audit();
  }
  CHECK(pages.collapse() == Collapse::collapsed);
  CHECK(pages.intact());
  b.vm.audit();
}

TEST_CASE("with more swapped pages than max_ptes_swap allows nothing is read, unless the program asks for it") {
  OsBench b(with_swap(2));
  SmallPages pages(b);
  for (const unsigned page : {3u, 100u, 500u}) page_out(b, pages, page, 1);
  CHECK(pages.collapse() == Collapse::unfit);
  CHECK(b.counted("os.pswpin") == 0);
  CHECK(b.counted("os.thp_collapse_alloc") == 0);
  CHECK(pages.collapse(Khugepaged::Wish::advice) == Collapse::unfit);
  CHECK(b.counted("os.pswpin") == 1);
}

TEST_CASE("pages that come back are worth it only where half of the others are in use") {
  OsBench b(with_swap(64));
  SmallPages pages(b);
  page_out(b, pages, 0, 1);
  CHECK(b.run(b.vm.page_events().age(b.thread, *b.process, {pages.va, pages.va + 300 * kPage})).value == 299);
  CHECK(pages.collapse() == Collapse::unfit);
  CHECK(b.counted("os.pswpin") == 0);
}

TEST_CASE("what does not ask for huge pages is left alone, unless the program asks for a collapse itself") {
  OsBench b(with(os::ThpMode::never));
  SmallPages pages(b);
  CHECK(pages.collapse() == Collapse::unfit);
  CHECK(pages.collapse(Khugepaged::Wish::advice) == Collapse::collapsed);
  CHECK(pages.huge());
}

TEST_CASE("pages that nobody has used since they were aged are not collapsed") {
  OsBench b(with(os::ThpMode::madvise));
  SmallPages pages(b);
  CHECK(b.run(b.vm.page_events().age(b.thread, *b.process, {pages.va, pages.va + kHugePage})).value == 512);
  CHECK(pages.collapse() == Collapse::unfit);
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, pages.va, false)).value == Error::none);
  CHECK(pages.collapse() == Collapse::collapsed);
}

TEST_CASE("pages none of which may be written are not collapsed") {
  OsBench b(with(os::ThpMode::madvise));
  SmallPages pages(b);
  REQUIRE(b.run(b.vm.mprotect(b.thread, *b.process, pages.va, kHugePage, os::Protection::read)).value == Error::none);
  CHECK(pages.collapse() == Collapse::unfit);
}

TEST_CASE("without a free huge page nothing is touched") {
  OsBench b(with(os::ThpMode::madvise), 8 * kMiB);
  SmallPages pages(b);
  b.map_present(2 * kMiB);  // of small pages: every block is in use
  CHECK(pages.collapse() == Collapse::no_block);
  CHECK(b.counted("os.thp_collapse_alloc_failed") == 1);
  CHECK(b.present(pages.va));
}

TEST_CASE("the daemon sleeps first, then takes what it is allowed to look at in one round") {
  OsConfig config;
  config.thp = os::ThpMode::madvise;
  config.khugepaged_scan_sleep = 10ms;
  config.khugepaged_time_scale = 10;  // sleeps 1 ms
  config.khugepaged_pages_to_scan = 512;
  OsBench b(config, 128 * kMiB);
  SmallPages first(b);  // which starts it
  SmallPages second(b);
  // Nothing but the daemon is left: such a simulation is over, so somebody has to wait.
  b.tasks.start([](OsBench& bench) -> Task<void> { co_await bench.node.loop.delay(20ms); }(b));
  sc_core::sc_start();
  CHECK(first.huge());
  CHECK(second.huge());
  CHECK(b.counted("os.khugepaged_pages_collapsed") == 2);
}
