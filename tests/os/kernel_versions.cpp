// SPDX-License-Identifier: Apache-2.0
// What changed between kernels: the table, and those of its rows that no other file of this folder tests.
#include <fmt/format.h>

#include <fstream>
#include <set>
#include <sstream>

#include "models/os/reclaim.hpp"
#include "tests/os/bench.hpp"
#include "tests/os/mapped_file.hpp"
#include "tests/support/source_tree.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Advice;
using os::Change;
using os::KernelVersion;
using os::PageEvents;

namespace {

// When another VMA's fault is over that begins 10 us after a munmap which waits 50 us for a device to forget its page.
Time fault_beside_munmap(OsBench& b) {
  const VirtualAddress gone = b.map(kPage);
  const VirtualAddress touched = b.map(kPage);
  REQUIRE(b.vm.make_present(*b.process, gone, kPage) == Error::none);
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  const Time start = b.node.now() + 1ms;
  const Listener listener(b, 50us);
  Outcome<Error> unmapped, faulted;
  b.tasks.start(at_core(b, b.thread, start, b.vm.munmap(b.thread, *b.process, gone, kPage), unmapped));
  b.tasks.start(at(b, start + 10us, b.vm.touch(other, *b.process, touched, true), faulted));
  sc_core::sc_start();
  CHECK(unmapped.value == Error::none);
  CHECK(faulted.value == Error::none);
  const unsigned tables = b.config.kernel.has(Change::tlb_strides) ? 0 : 2;  // flushed each by itself
  CHECK(unmapped.at == start + b.config.munmap_fixed + b.flush() + 50us + tables * b.flush());
  return faulted.at - start;
}

}  // namespace

TEST_CASE("each change has a row in the README, and two kernels that differ by it") {
  std::ifstream file(source_tree() / "models/os/README.md");
  std::stringstream readme;
  readme << file.rdbuf();
  std::size_t last = 0;  // by release there, too
  for (const auto& row : cpu::kChanges) {
    INFO(row.name);
    const std::size_t at =
        readme.str().find(fmt::format("\n| `{}` | {}.{} |", row.name, row.since / 100, row.since % 100));
    REQUIRE(at != std::string::npos);
    CHECK(at > last);
    last = at;
    CHECK_FALSE(cpu::Kernel{KernelVersion::linux_4_9}.has(row.change));
    CHECK(cpu::Kernel{KernelVersion::linux_6_12}.has(row.change));
  }
}

TEST_CASE("a kernel has what came up to its release") {
  CHECK_FALSE(cpu::Kernel{KernelVersion::linux_5_4}.has(Change::fork_copies_pinned));
  CHECK(cpu::Kernel{KernelVersion::linux_5_10}.has(Change::fork_copies_pinned));
  CHECK_FALSE(cpu::Kernel{KernelVersion::linux_6_1}.has(Change::vma_locks));
  CHECK(cpu::Kernel{KernelVersion::linux_6_6}.has(Change::vma_locks));
}

TEST_CASE("before 4.20 a fault waits until munmap's TLB invalidation is over") {
  OsBench b(of_kernel(KernelVersion::linux_4_19));
  const Time munmap = b.config.munmap_fixed + b.flush() + 50us + 2 * b.flush();
  CHECK(fault_beside_munmap(b) == munmap + kSwitch + b.cold_page());
}

TEST_CASE("since 4.20 a fault goes on beside munmap's TLB invalidation") {
  OsBench b(of_kernel(KernelVersion::linux_5_4));
  CHECK(fault_beside_munmap(b) == 10us + kSwitch + b.cold_page());
}

namespace {

// How many of four private pages get a NUMA hint.
unsigned hints(OsBench& b, bool shared, bool pinned) {
  PresentPages pages(b);
  if (shared) REQUIRE(b.run(b.vm.fork(b.thread, *b.process)).value.ok());
  if (pinned) pages.pin();
  return b.run(b.vm.page_events().numa_hint(b.thread, *b.process, pages.range())).value;
}

}  // namespace

TEST_CASE("4.14: NUMA hints are for pages that a child maps, too") {
  OsBench b(of_kernel(KernelVersion::linux_4_14));
  CHECK(hints(b, /*shared=*/true, /*pinned=*/false) == PresentPages::kPages);
}

TEST_CASE("4.19: NUMA hints are not for pages that a child maps, too") {
  OsBench b(of_kernel(KernelVersion::linux_4_19));
  CHECK(hints(b, /*shared=*/true, /*pinned=*/false) == 0);
}

TEST_CASE("5.4: NUMA hints are for pages under a pin") {
  OsBench b(of_kernel(KernelVersion::linux_5_4));
  CHECK(hints(b, /*shared=*/false, /*pinned=*/true) == PresentPages::kPages);
}

TEST_CASE("5.10: NUMA hints are not for pages under a pin") {
  OsBench b(of_kernel(KernelVersion::linux_5_10));
  CHECK(hints(b, /*shared=*/false, /*pinned=*/true) == 0);
}

namespace {

// Whether a pinned page, whose right to write was taken, is still the process's after a store.
bool keeps_pinned_page(OsBench& b) {
  PresentPages pages(b);
  pages.pin();
  const auto frame = pages.frame();
  REQUIRE(b.run(b.vm.page_events().write_protect(b.thread, *b.process, pages.range())).value == PresentPages::kPages);
  CHECK(b.run(b.vm.touch(b.thread, *b.process, pages.va, true)).value == Error::none);
  CHECK(pages.writable());
  b.vm.audit();
  return pages.frame() == frame;
}

}  // namespace

TEST_CASE("5.4: a write fault counts mappings, and a pinned page stays the process's") {
  OsBench b(of_kernel(KernelVersion::linux_5_4));
  CHECK(keeps_pinned_page(b));
}

TEST_CASE("5.10: a write fault counts references, and a pin has lost its page") {
  OsBench b(of_kernel(KernelVersion::linux_5_10));
  CHECK_FALSE(keeps_pinned_page(b));
}

TEST_CASE("6.1: a write fault knows whose the page is, and a pinned page stays the process's") {
  OsBench b(of_kernel(KernelVersion::linux_6_1));
  CHECK(keeps_pinned_page(b));
}

namespace {

enum class Memory { dirty, clean, block };

// Whether a page may be written without a fault after mprotect took the right to write and gave it back.
bool writable_again(KernelVersion version, os::Protection meanwhile, Memory memory) {
  OsConfig config = of_kernel(version);
  config.thp = os::ThpMode::madvise;
  OsBench b(config);
  const std::uint64_t bytes = memory == Memory::block ? kHugePage : PresentPages::kBytes;
  const auto advice = memory == Memory::block ? os::HugeAdvice::huge : os::HugeAdvice::none;
  const VirtualAddress va = b.map_present(bytes, {.advice = advice, .alignment = kHugePage});
  CHECK(b.process->space().is_huge(va) == (memory == Memory::block));
  REQUIRE(b.vm.fill(*b.process, va, bytes, 1) == bytes);
  if (memory == Memory::clean) {
    REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, va, bytes, Advice::free)).value == Error::none);
    REQUIRE(b.run(b.vm.touch(b.thread, *b.process, va, false)).value == Error::none);
  }
  REQUIRE(b.run(b.vm.mprotect(b.thread, *b.process, va, bytes, meanwhile)).value == Error::none);
  REQUIRE(b.run(b.vm.mprotect(b.thread, *b.process, va, bytes, os::Protection::read_write)).value == Error::none);
  const bool writable = (b.walk(va)->descriptor & 0x80) == 0;
  const Time touch = b.run(b.vm.touch(b.thread, *b.process, va, true)).took;
  CHECK((touch == b.config.resident_touch) == writable);
  b.vm.audit();
  return writable;
}

}  // namespace

TEST_CASE("5.15: after mprotect to read-only and back pages take write faults") {
  CHECK_FALSE(writable_again(KernelVersion::linux_5_15, os::Protection::read, Memory::dirty));
}
TEST_CASE("5.15: after mprotect to nothing and back pages take write faults") {
  CHECK_FALSE(writable_again(KernelVersion::linux_5_15, os::Protection::none, Memory::dirty));
}
TEST_CASE("6.1: mprotect gives the right to write back to dirty pages") {
  CHECK(writable_again(KernelVersion::linux_6_1, os::Protection::read, Memory::dirty));
}
TEST_CASE("6.1: mprotect gives the right to write back to clean pages by a fault") {
  CHECK_FALSE(writable_again(KernelVersion::linux_6_1, os::Protection::read, Memory::clean));
}
TEST_CASE("6.1: mprotect gives the right to write back to 2 MiB by a fault") {
  CHECK_FALSE(writable_again(KernelVersion::linux_6_1, os::Protection::read, Memory::block));
}
TEST_CASE("6.6: mprotect gives the right to write back to clean pages") {
  CHECK(writable_again(KernelVersion::linux_6_6, os::Protection::none, Memory::clean));
}
TEST_CASE("6.6: mprotect gives the right to write back to 2 MiB") {
  CHECK(writable_again(KernelVersion::linux_6_6, os::Protection::read, Memory::block));
}

TEST_CASE("5.4: anonymous pages begin on the active list, when they come from the swap device, too") {
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

TEST_CASE("5.10: anonymous pages begin on the inactive list") {
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

TEST_CASE("MADV_POPULATE is not known before 5.14") {
  OsBench b(of_kernel(KernelVersion::linux_5_10));
  const VirtualAddress va = b.map(4 * kPage);
  for (const Advice advice : {Advice::populate_read, Advice::populate_write}) {
    const auto refused = b.run(b.vm.madvise(b.thread, *b.process, va, 4 * kPage, advice));
    CHECK(refused.value == Error::invalid);
    CHECK(refused.took == b.config.syscall);
  }
  CHECK(b.process->space().page(va) == nullptr);
}
TEST_CASE("MADV_POPULATE is known in 5.15") {
  OsBench b(of_kernel(KernelVersion::linux_5_15));
  const VirtualAddress va = b.map(4 * kPage);
  const auto done = b.run(b.vm.madvise(b.thread, *b.process, va, 4 * kPage, Advice::populate_write));
  CHECK(done.value == Error::none);
  CHECK(b.process->space().page(va) != nullptr);
}

TEST_CASE("MADV_PAGEOUT is not known before 5.4") {
  OsConfig config = of_kernel(KernelVersion::linux_4_19);
  config.swap_bytes = kMiB;
  OsBench b(config);
  const PresentPages pages(b);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, pages.va, kPage, Advice::page_out)).value == Error::invalid);
  CHECK(b.present(pages.va));
}

TEST_CASE("MADV_DONTNEED_LOCKED is not known before 5.18") {
  OsBench b(of_kernel(KernelVersion::linux_5_15));
  const PresentPages pages(b);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, pages.va, kPage, Advice::dont_need_locked)).value == Error::invalid);
  CHECK(b.present(pages.va));
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

TEST_CASE("6.6: MADV_PAGEOUT ages pinned pages, though it leaves them") {
  const LeftBehind left = page_out_pinned(KernelVersion::linux_6_6);
  CHECK_FALSE(left.young);
  CHECK(left.flushes == 1);
}

TEST_CASE("6.12: MADV_PAGEOUT leaves pinned pages as they are") {
  const LeftBehind left = page_out_pinned(KernelVersion::linux_6_12);
  CHECK(left.young);
  CHECK(left.flushes == 0);
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

TEST_CASE("5.4: reclaim unmaps pinned pages before it finds them held") {
  CHECK_FALSE(reclaim_leaves_pinned(KernelVersion::linux_5_4));
}

TEST_CASE("5.10: reclaim looks for pins before it unmaps") { CHECK(reclaim_leaves_pinned(KernelVersion::linux_5_10)); }

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

TEST_CASE("5.15: a page that is pinned while reclaim is at it goes to the swap cache") {
  CHECK_FALSE(late_pin_keeps(KernelVersion::linux_5_15));
}

TEST_CASE("6.1: a page that is pinned while reclaim is at it is put back") {
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

TEST_CASE("KSM does not split a huge page of which a part is pinned") {
  OsBench b;
  const VirtualAddress va = b.map(kHugePage, {.advice = os::HugeAdvice::huge, .alignment = kHugePage});
  REQUIRE(b.vm.make_present(*b.process, va, kHugePage) == Error::none);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, va + 5 * kPage, kPage, true)).value.ok());
  const Listener listener(b, 0ns);
  CHECK(b.run(b.vm.page_events().merge_equal(b.thread, *b.process, {va, va + kHugePage})).value == 0);
  CHECK(b.process->space().is_huge(va));
  CHECK(listener.flushes.empty());
}
