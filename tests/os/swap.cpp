// SPDX-License-Identifier: Apache-2.0
// How a page goes to the swap device and comes back.
#include "models/os/reclaim/reclaim.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Advice;
using os::Entry;
using os::Range;

namespace {

OsConfig with_swap() {
  OsConfig config;
  config.swap_bytes = 64 * kMiB;
  return config;
}

struct Swapped : PresentPages {
  explicit Swapped(OsBench& bench) : PresentPages(bench) { page_out(); }
  unsigned page_out() { return b.run(b.vm.reclaim().page_out(b.thread, *b.process, range())).value; }
  Entry entry(std::uint64_t page = 0) const { return b.process->space().entry(va + page * kPage)->entry; }
  Timed<Error> touch(bool write, std::uint64_t page = 0) {
    return b.run(b.vm.touch(b.thread, *b.process, va + page * kPage, write));
  }
};

Time reading(const OsBench& b) { return b.config.disk_read_latency + b.config.disk_bandwidth.time_for(kPage); }

// What a read from the device delays a thread that has gone to sleep for it.
Time major_fault(const OsBench& b) { return b.config.disk_fault + reading(b) + kSwitch + b.config.fault_no_alloc; }

}  // namespace

TEST_CASE("a page that is reclaimed leaves its process after a flush, is written, and only then free") {
  OsBench b(with_swap());
  PresentPages pages(b);
  const auto used = b.used();
  Listener listener(b, 1us);
  Outcome<unsigned> out;
  b.tasks.start(at(b, 0ns, b.vm.reclaim().page_out(b.thread, *b.process, pages.first()), out));
  const Time begin = b.node.now();
  sc_core::sc_start();
  CHECK(out.value == 1);
  const Time unmapped = b.config.reclaim_page + b.flush() + 1us;
  CHECK(out.at - begin == unmapped);
  CHECK(b.used() == used - 1);
  CHECK(b.node.now() - begin == unmapped + b.config.disk_write_latency + b.config.disk_bandwidth.time_for(kPage));
  CHECK(b.process->space().entry(pages.va)->entry == Entry::swapped);
  CHECK_FALSE(b.present(pages.va));
  CHECK(b.process->space().resident_bytes() == 3 * kPage);
  CHECK(b.process->space().swapped_bytes() == kPage);
  CHECK(pages.intact());
  CHECK(b.counted("os.pswpout") == 1);
  CHECK(b.counted("os.pgsteal") == 0);  // nobody chose it
  b.vm.audit();
}

TEST_CASE("a fault on a swapped page is a major one and takes the device's time") {
  OsBench b(with_swap());
  Swapped pages(b);
  CHECK(b.process->space().resident_bytes() == 0);
  const auto read = pages.touch(false);
  CHECK(read.value == Error::none);
  CHECK(read.took == major_fault(b));
  CHECK(b.counted("os.pgmajfault") == 1);
  CHECK(b.counted("os.pgfault") == 1);
  CHECK(b.counted("os.pswpin") == 1);
  CHECK(pages.intact());
  CHECK_FALSE(pages.writable());  // so that a write will say that the copy on the device is old
  b.vm.audit();
}

TEST_CASE("a page that was only read since it came back need not be written again") {
  OsBench b(with_swap());
  Swapped pages(b);
  pages.touch(false);
  const auto written = b.counted("os.pswpout");
  const auto used = b.used();
  CHECK(pages.page_out() == 1);
  CHECK(b.counted("os.pswpout") == written);
  CHECK(b.used() == used - 1);
  CHECK(pages.intact());
  pages.touch(true);
  b.vm.fill(*b.process, pages.va, kPage, 9);
  CHECK(pages.page_out() == 1);
  CHECK(b.counted("os.pswpout") == written + 1);
  CHECK(b.vm.read(*b.process, pages.va, kPage) == sim::Content::pattern(9, 0, kPage));
  b.vm.audit();
}

TEST_CASE("a write to a swapped page gives its slot up") {
  OsBench b(with_swap());
  Swapped pages(b);
  const auto written = pages.touch(true);
  CHECK(written.took == major_fault(b));
  CHECK(pages.writable());
  CHECK(b.vm.frame_record(pages.frame()).slot == 0);
  CHECK(pages.intact());
  b.vm.audit();
}

TEST_CASE("a page found in the swap cache while it is being written comes back at once") {
  OsBench b(with_swap());
  PresentPages pages(b);
  const auto frame = pages.frame();
  Outcome<unsigned> out;
  Outcome<Error> touched;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  const Time begin = b.node.now();
  b.tasks.start(at(b, 0ns, b.vm.reclaim().page_out(b.thread, *b.process, pages.first()), out));
  b.tasks.start(at(b, begin + 20us, b.vm.touch(other, *b.process, pages.va, false), touched));
  sc_core::sc_start();
  CHECK(touched.value == Error::none);
  CHECK(touched.at - begin == 20us + kSwitch + b.config.fault_no_alloc);
  CHECK(pages.frame() == frame);
  CHECK(b.counted("os.pgmajfault") == 0);
  CHECK(b.counted("os.pgsteal") == 0);
  CHECK(pages.intact());
  b.vm.audit();
}

namespace {

// Swaps 64 pages out and reads them again, in the order that page_of says.
template <typename PageOf>
void read_again(OsBench& b, PageOf page_of) {
  constexpr std::uint64_t kMany = 64;
  const VirtualAddress va = b.map_present(kMany * kPage);
  b.run(b.vm.reclaim().page_out(b.thread, *b.process, {va, va + kMany * kPage}));
  for (std::uint64_t i = 0; i < kMany; ++i) {
    b.run(b.vm.touch(b.thread, *b.process, va + page_of(i) * kPage, false));
  }
  CHECK(b.counted("os.pswpin") == kMany);
  CHECK(b.counted("os.swap_ra") == b.counted("os.swap_ra_hit"));
  b.vm.audit();
}

}  // namespace

TEST_CASE("read-ahead follows a program that goes forward with windows of 1, 2, 4 and then 8 pages") {
  OsBench b(with_swap());
  read_again(b, [](std::uint64_t i) { return i; });
  CHECK(b.counted("os.pgmajfault") == 11);  // at 0, 1, 3, 7, 15, 23 ... 63
}

TEST_CASE("read-ahead follows a program that goes backward, too") {
  OsBench b(with_swap());
  read_again(b, [](std::uint64_t i) { return 63 - i; });
  CHECK(b.counted("os.pgmajfault") == 11);
}

TEST_CASE("read-ahead leaves a program alone that jumps") {
  OsBench b(with_swap());
  read_again(b, [](std::uint64_t i) { return i * 7 % 64; });
  CHECK(b.counted("os.pgmajfault") == 64);
}

TEST_CASE("with vm.page-cluster = 0 nothing is read ahead") {
  OsConfig config = with_swap();
  config.page_cluster = 0;
  OsBench b(config);
  read_again(b, [](std::uint64_t i) { return i; });
  CHECK(b.counted("os.pgmajfault") == 64);
}

TEST_CASE("commands of the swap device share its queue and its bandwidth") {
  OsConfig config = with_swap();
  config.disk_queue_depth = 2;
  OsBench b(config);
  os::BlockDevice device(b.node.loop, {.read_latency = 100us,
                                       .write_latency = 10us,
                                       .bandwidth = {4096'000'000},  // 1 us a page
                                       .queue_depth = 2});
  std::vector<Time> done;
  const auto read = [&]() -> Task<void> {
    co_await device.read(kPage);
    done.push_back(b.node.now());
  };
  const Time begin = b.node.now();
  for (int i = 0; i < 4; ++i) b.tasks.start(read());
  sc_core::sc_start();
  CHECK(done == std::vector<Time>{begin + 101us, begin + 102us, begin + 202us, begin + 203us});
}

TEST_CASE("a locked page is not reclaimed, and is on no list that reclaim looks at") {
  OsBench b(with_swap());
  PresentPages pages(b);
  Listener listener(b, 0ns);
  b.run(b.vm.mlock(b.thread, *b.process, pages.va, PresentPages::kBytes));
  CHECK(b.vm.frame_record(pages.frame()).list == os::LruList::unevictable);
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.range())).value == 0);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, pages.va, kPage, Advice::page_out)).value == Error::invalid);
  CHECK(listener.flushes.empty());
  CHECK(b.present(pages.va));
  b.run(b.vm.munlock(b.thread, *b.process, pages.va, PresentPages::kBytes));
  CHECK(b.vm.frame_record(pages.frame()).list == os::LruList::inactive_anon);
  b.vm.audit();
}

TEST_CASE("a page that comes back to a read-only mapping is not writable, though it is the process's alone") {
  OsBench b(with_swap());
  Swapped pages(b);
  REQUIRE(b.run(b.vm.mprotect(b.thread, *b.process, pages.va, PresentPages::kBytes, os::Protection::read)).value ==
          Error::none);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, pages.va, PresentPages::kBytes)).value == Error::none);
  REQUIRE(b.present(pages.va));
  CHECK(b.vm.frame_record(pages.frame()).slot == 0);  // a locked page needs none
  CHECK_FALSE(pages.writable());
  CHECK(pages.intact());
  b.vm.audit();
}

TEST_CASE("a pinned page is not even unmapped by reclaim") {
  OsBench b(with_swap());
  PresentPages pages(b);
  Listener listener(b, 0ns);
  pages.pin();
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.range())).value == 0);
  CHECK(listener.flushes.empty());
  CHECK(b.present(pages.va));
  CHECK(b.counted("os.pswpout") == 0);
  b.vm.audit();
}

TEST_CASE("a pin that comes while a page is being unmapped is seen when the descriptor is clear, which is put back") {
  OsConfig config = with_swap();
  config.reclaim_page = 20us;  // from the look for pins to the unmapping
  OsBench b(config);
  PresentPages pages(b);
  const auto frame = pages.frame();
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Listener listener(b, 1us);
  Outcome<unsigned> out;
  Outcome<os::Result<os::PinId>> pinned;
  b.tasks.start(at(b, 0ns, b.vm.reclaim().page_out(b.thread, *b.process, pages.first()), out));
  b.tasks.start(at(b, b.node.now() + 1us, b.vm.pin_user_pages(other, *b.process, pages.va, kPage, true), pinned));
  sc_core::sc_start();
  REQUIRE(pinned.value.ok());
  CHECK(out.value == 0);
  CHECK(listener.flushes.size() == 1);
  CHECK_FALSE(listener.present_at_start);
  CHECK(b.present(pages.va));
  CHECK(b.vm.find_pin(pinned.value.value)->frames[0] == frame);
  CHECK(pages.frame() == frame);
  CHECK(b.counted("os.pswpout") == 0);
  CHECK(pages.intact());
  b.vm.audit();
}

TEST_CASE("pages that MADV_FREE gave up are dropped without being written, unless they were written since") {
  OsBench b(with_swap());
  PresentPages pages(b);
  b.run(b.vm.madvise(b.thread, *b.process, pages.va, PresentPages::kBytes, Advice::free));
  b.run(b.vm.touch(b.thread, *b.process, pages.va, true));
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.range())).value == 4);
  CHECK(b.process->space().entry(pages.va)->entry == Entry::swapped);
  CHECK(b.process->space().entry(pages.va + kPage) == nullptr);
  CHECK(b.counted("os.pswpout") == 1);
  CHECK(b.vm.read(*b.process, pages.va, kPage) == sim::Content::pattern(7, 0, kPage));
  CHECK(b.vm.read(*b.process, pages.va + kPage, kPage) == sim::Content::zeros(kPage));
  b.vm.audit();
}

TEST_CASE("parent and child share what is on the swap device until one writes") {
  OsBench b(with_swap());
  Swapped pages(b);
  const auto child = b.run(b.vm.fork(b.thread, *b.process)).value;
  REQUIRE(child.ok());
  CHECK(b.process->space().swapped_bytes() == child.value->space().swapped_bytes());
  pages.touch(true);
  b.vm.fill(*b.process, pages.va, kPage, 9);
  CHECK(pages.intact(*child.value));
  CHECK(b.run(b.vm.touch(b.thread, *child.value, pages.va, false)).value == Error::none);
  CHECK(b.counted("os.pgmajfault") == 1);  // the parent's, whose page is in the swap cache
  CHECK(pages.intact(*child.value));
  b.vm.audit();
}

TEST_CASE("reclaim takes a huge page apart first") {
  OsConfig config = with_swap();
  config.thp = os::ThpMode::always;
  OsBench b(config);
  const VirtualAddress va = b.map_present(kHugePage, {.alignment = kHugePage});
  REQUIRE(b.process->space().is_huge(va));
  const auto used = b.used();
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, {va, va + kHugePage})).value == 512);
  CHECK(b.counted("os.thp_split_pmd") == 1);
  CHECK(b.used() == used - 512 + 1);  // the table
  b.vm.audit();
}

TEST_CASE("what is on the swap device goes with its mapping, and a device that is full takes no more") {
  OsConfig config = with_swap();
  config.swap_bytes = 2 * kPage;
  OsBench b(config);
  Swapped pages(b);
  CHECK(b.process->space().swapped_bytes() == 2 * kPage);  // the device is full
  CHECK(b.counted("os.swap_peak") == 2 * kPage);
  CHECK(pages.intact());
  b.run(b.vm.munmap(b.thread, *b.process, pages.va, kPage));
  CHECK(b.process->space().swapped_bytes() == kPage);
  CHECK(pages.page_out() == 1);
  b.vm.audit();
}
