// SPDX-License-Identifier: Apache-2.0
// What changed between kernels in reclaim and in what calls it.
#include "models/os/reclaim/reclaim.hpp"
#include "tests/os/mapped_file.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Advice;
using os::KernelVersion;

TEST_CASE("5.4: anonymous pages begin on the active list, when they come from the swap device, too",
          "[anon-starts-inactive]") {
  OsConfig config = of_kernel(KernelVersion::linux_5_4);
  config.swap_bytes = kMiB;
  OsBench b(config);
  const PresentPages pages(b);
  CHECK(b.vm.frame_record(pages.frame()).list == os::LruList::active_anon);
  REQUIRE(b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.range())).value == PresentPages::kPages);
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, pages.va, false)).value == Error::none);
  CHECK(b.vm.frame_record(pages.frame()).list == os::LruList::active_anon);
  b.vm.audit();
}

TEST_CASE("5.10: anonymous pages begin on the inactive list", "[anon-starts-inactive]") {
  OsBench b(of_kernel(KernelVersion::linux_5_10));
  const PresentPages pages(b);
  CHECK(b.vm.frame_record(pages.frame()).list == os::LruList::inactive_anon);
}

namespace {

// How often reclaim puts pages on the active list of a program that takes 15 MiB of 16, then reads what has become old
// of it, and then takes 2 MiB more.
std::uint64_t activated(KernelVersion version, bool reads) {
  OsConfig config = of_kernel(version);
  config.user_memory = 16 * kMiB;
  config.min_free_bytes = 2 * kMiB;
  config.swap_bytes = 64 * kMiB;
  OsBench b(config);
  const VirtualAddress va = b.map(17 * kMiB);
  CHECK(b.run(b.vm.touch_range(b.thread, *b.process, va, 15 * kMiB, true)).value == Error::none);
  unsigned read = 0;
  for (VirtualAddress at = va; reads && at < va + 15 * kMiB; at += kPage) {
    const os::PageState* page = b.process->space().page(at);
    if (page == nullptr || b.vm.frame_record(page->frame).list != os::LruList::inactive_anon) continue;
    CHECK(b.run(b.vm.touch(b.thread, *b.process, at, false)).value == Error::none);
    ++read;
  }
  CHECK(reads == (read > 0));
  CHECK(b.run(b.vm.touch_range(b.thread, *b.process, va + 15 * kMiB, 2 * kMiB, true)).value == Error::none);
  b.vm.audit();
  return b.counted("os.pgactivate");
}

}  // namespace

TEST_CASE("5.4: a page that is found used once is active again") {
  CHECK(activated(KernelVersion::linux_5_4, /*reads=*/true) > 0);
}
TEST_CASE("5.10: a page that is found used once is not active for that") {
  CHECK(activated(KernelVersion::linux_5_10, /*reads=*/false) == 0);
}

namespace {

// What MADV_PAGEOUT does to pages that it must leave where they are, because they are pinned.
struct LeftBehind {
  bool young;
  std::size_t flushes;
};
LeftBehind page_out_pinned(KernelVersion version) {
  OsConfig config = of_kernel(version);
  config.swap_bytes = kMiB;
  OsBench b(config);
  PresentPages pages(b);
  pages.pin();
  const Listener listener(b, 0ns);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, pages.va, PresentPages::kBytes, Advice::page_out)).value ==
        Error::none);
  REQUIRE(b.present(pages.va));
  b.vm.audit();
  return {(b.walk(pages.va)->descriptor & 0x400) != 0, listener.flushes.size()};
}

}  // namespace

TEST_CASE("6.6: MADV_PAGEOUT ages pinned pages, though it leaves them", "[pageout-keeps-young]") {
  const LeftBehind left = page_out_pinned(KernelVersion::linux_6_6);
  CHECK_FALSE(left.young);
  CHECK(left.flushes == 1);
}

TEST_CASE("6.12: MADV_PAGEOUT leaves pinned pages as they are", "[pageout-keeps-young]") {
  const LeftBehind left = page_out_pinned(KernelVersion::linux_6_12);
  CHECK(left.young);
  CHECK(left.flushes == 0);
}

TEST_CASE("6.6: MADV_PAGEOUT neither ages nor takes pages that a child maps, too", "[pageout-keeps-young]") {
  OsConfig config = of_kernel(KernelVersion::linux_6_6);
  config.swap_bytes = kMiB;
  OsBench b(config);
  const PresentPages pages(b);
  REQUIRE(b.run(b.vm.fork(b.thread, *b.process)).value.ok());
  const Listener listener(b, 0ns);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, pages.va, PresentPages::kBytes, Advice::page_out)).value ==
        Error::none);
  REQUIRE(b.present(pages.va));
  CHECK((b.walk(pages.va)->descriptor & 0x400) != 0);
  CHECK(listener.flushes.empty());
}

namespace {

// Reclaim of pinned pages; whether they are still mapped.
bool reclaim_leaves_pinned(KernelVersion version) {
  OsConfig config = of_kernel(version);
  config.swap_bytes = kMiB;
  OsBench b(config);
  PresentPages pages(b);
  pages.pin();
  const auto frame = pages.frame();
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.range())).value == 0);
  const bool mapped = b.present(pages.va);
  b.vm.audit();
  // It is the same page, found in the swap cache, that a fault brings.
  CHECK(b.run(b.vm.touch(b.thread, *b.process, pages.va, true)).value == Error::none);
  CHECK(pages.frame() == frame);
  CHECK(pages.intact());
  CHECK(b.counted("os.pgmajfault") == 0);
  b.vm.audit();
  return mapped;
}

}  // namespace

TEST_CASE("5.4: reclaim unmaps pinned pages before it finds them held", "[reclaim-sees-pins]") {
  CHECK_FALSE(reclaim_leaves_pinned(KernelVersion::linux_5_4));
}

TEST_CASE("5.10: reclaim looks for pins before it unmaps", "[reclaim-sees-pins]") {
  CHECK(reclaim_leaves_pinned(KernelVersion::linux_5_10));
}

namespace {

// Reclaim of pinned pages after MADV_FREE, and once more when they are not pinned: then they are swapped, not dropped.
void reclaim_pinned_lazyfree(KernelVersion version) {
  OsConfig config = of_kernel(version);
  config.swap_bytes = kMiB;
  OsBench b(config);
  PresentPages pages(b);
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, pages.va, PresentPages::kBytes, Advice::free)).value == Error::none);
  // For reading: what a device may write to is no longer to be dropped.
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, pages.va, PresentPages::kBytes, false)).value;
  REQUIRE(pin.ok());
  const Listener listener(b, 0ns);
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.range())).value == 0);
  CHECK(listener.flushes.size() == PresentPages::kPages);
  CHECK(b.present(pages.va));
  REQUIRE(b.run(b.vm.unpin(b.thread, pin.value)).value == Error::none);
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.range())).value == PresentPages::kPages);
  CHECK(b.counted("os.pswpout") == PresentPages::kPages);
  CHECK(pages.intact());
  b.vm.audit();
}

}  // namespace

TEST_CASE("4.9: a pinned page after MADV_FREE is unmapped, found held and put back, an ordinary page") {
  reclaim_pinned_lazyfree(KernelVersion::linux_4_9);
}
TEST_CASE("6.1: a pinned page after MADV_FREE is unmapped, found held and put back, an ordinary page") {
  reclaim_pinned_lazyfree(KernelVersion::linux_6_1);
}

namespace {

// Whether a page stays mapped that is pinned when reclaim has looked for pins and not yet unmapped it.
bool late_pin_keeps(KernelVersion version) {
  OsConfig config = of_kernel(version);
  config.swap_bytes = kMiB;
  config.reclaim_page = 20us;  // from the look for pins to the unmapping
  OsBench b(config);
  const PresentPages pages(b);
  const auto frame = pages.frame();
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<unsigned> reclaimed;
  Outcome<os::Result<os::PinId>> pinned;
  b.tasks.start(at(b, 0ns, b.vm.reclaim().page_out(b.thread, *b.process, pages.first()), reclaimed));
  b.tasks.start(at(b, b.node.now() + 1us, b.vm.pin_user_pages(other, *b.process, pages.va, kPage, true), pinned));
  sc_core::sc_start();
  CHECK(reclaimed.value == 0);
  REQUIRE(pinned.value.ok());
  const bool mapped = b.present(pages.va);
  CHECK(b.run(b.vm.touch(b.thread, *b.process, pages.va, true)).value == Error::none);
  CHECK(pages.frame() == frame);
  b.vm.audit();
  return mapped;
}

}  // namespace

TEST_CASE("5.15: a page that is pinned while reclaim is at it goes to the swap cache", "[exclusive-pages]") {
  CHECK_FALSE(late_pin_keeps(KernelVersion::linux_5_15));
}

TEST_CASE("6.1: a page that is pinned while reclaim is at it is put back", "[exclusive-pages]") {
  CHECK(late_pin_keeps(KernelVersion::linux_6_1));
}

TEST_CASE("a file's page that is being cleaned is not mapped until TLBs have forgotten it") {
  OsBench b;
  MappedFile f(b, 4, /*shared=*/true);
  CHECK(f.touch(0, true).value == Error::none);
  Listener listener(b, 0ns);
  listener.present_at_start = true;
  b.run(b.vm.page_events().write_protect(b.thread, *b.process, f.range(0, 1)));
  CHECK(listener.flushes.size() == 1);
  CHECK_FALSE(listener.present_at_start);
  CHECK(f.mapped(0));
  CHECK_FALSE(f.writable(0));
  b.vm.audit();
}
