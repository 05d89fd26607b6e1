// SPDX-License-Identifier: Apache-2.0
// What changed between kernels in faults and in calls: those rows of the README's table that no other file tests.
#include "tests/support/os_bench.hpp"

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

TEST_CASE("before 4.20 a fault waits until munmap's TLB invalidation is over", "[munmap-downgrades]") {
  OsBench b(of_kernel(KernelVersion::linux_4_19));
  const Time munmap = b.config.munmap_fixed + b.flush() + 50us + 2 * b.flush();
  CHECK(fault_beside_munmap(b) == munmap + kSwitch + b.cold_page());
}

TEST_CASE("since 4.20 a fault goes on beside munmap's TLB invalidation", "[munmap-downgrades]") {
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

TEST_CASE("4.14: NUMA hints are for pages that a child maps, too", "[numa-skips-shared]") {
  OsBench b(of_kernel(KernelVersion::linux_4_14));
  CHECK(hints(b, /*shared=*/true, /*pinned=*/false) == PresentPages::kPages);
}

TEST_CASE("4.19: NUMA hints are not for pages that a child maps, too", "[numa-skips-shared]") {
  OsBench b(of_kernel(KernelVersion::linux_4_19));
  CHECK(hints(b, /*shared=*/true, /*pinned=*/false) == 0);
}

TEST_CASE("5.4: NUMA hints are for pages under a pin", "[numa-skips-held]") {
  OsBench b(of_kernel(KernelVersion::linux_5_4));
  CHECK(hints(b, /*shared=*/false, /*pinned=*/true) == PresentPages::kPages);
}

TEST_CASE("5.10: NUMA hints are not for pages under a pin", "[numa-skips-held]") {
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

TEST_CASE("5.4: a write fault counts mappings, and a pinned page stays the process's", "[reuse-by-references]") {
  OsBench b(of_kernel(KernelVersion::linux_5_4));
  CHECK(keeps_pinned_page(b));
}

TEST_CASE("5.10: a write fault counts references, and a pin has lost its page",
          "[reuse-by-references][exclusive-pages]") {
  OsBench b(of_kernel(KernelVersion::linux_5_10));
  CHECK_FALSE(keeps_pinned_page(b));
}

TEST_CASE("6.1: a write fault knows whose the page is, and a pinned page stays the process's", "[exclusive-pages]") {
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

TEST_CASE("5.15: after mprotect to read-only and back pages take write faults", "[mprotect-writable]") {
  CHECK_FALSE(writable_again(KernelVersion::linux_5_15, os::Protection::read, Memory::dirty));
}
TEST_CASE("5.15: after mprotect to nothing and back pages take write faults") {
  CHECK_FALSE(writable_again(KernelVersion::linux_5_15, os::Protection::none, Memory::dirty));
}
TEST_CASE("6.1: mprotect gives the right to write back to dirty pages", "[mprotect-writable]") {
  CHECK(writable_again(KernelVersion::linux_6_1, os::Protection::read, Memory::dirty));
}
TEST_CASE("6.1: mprotect gives the right to write back to clean pages by a fault", "[mprotect-writable-all]") {
  CHECK_FALSE(writable_again(KernelVersion::linux_6_1, os::Protection::read, Memory::clean));
}
TEST_CASE("6.1: mprotect gives the right to write back to 2 MiB by a fault", "[mprotect-writable-all]") {
  CHECK_FALSE(writable_again(KernelVersion::linux_6_1, os::Protection::read, Memory::block));
}
TEST_CASE("6.6: mprotect gives the right to write back to clean pages", "[mprotect-writable-all]") {
  CHECK(writable_again(KernelVersion::linux_6_6, os::Protection::none, Memory::clean));
}
TEST_CASE("6.6: mprotect gives the right to write back to 2 MiB", "[mprotect-writable-all]") {
  CHECK(writable_again(KernelVersion::linux_6_6, os::Protection::read, Memory::block));
}

TEST_CASE("MADV_POPULATE is not known before 5.14", "[madv-populate]") {
  OsBench b(of_kernel(KernelVersion::linux_5_10));
  const VirtualAddress va = b.map(4 * kPage);
  for (const Advice advice : {Advice::populate_read, Advice::populate_write}) {
    const auto refused = b.run(b.vm.madvise(b.thread, *b.process, va, 4 * kPage, advice));
    CHECK(refused.value == Error::invalid);
    CHECK(refused.took == b.config.syscall);
  }
  CHECK(b.process->space().page(va) == nullptr);
}
TEST_CASE("MADV_POPULATE is known in 5.15", "[madv-populate]") {
  OsBench b(of_kernel(KernelVersion::linux_5_15));
  const VirtualAddress va = b.map(4 * kPage);
  const auto done = b.run(b.vm.madvise(b.thread, *b.process, va, 4 * kPage, Advice::populate_write));
  CHECK(done.value == Error::none);
  CHECK(b.process->space().page(va) != nullptr);
}

namespace {

// MADV_COLLAPSE of 2 MiB of small pages.
Error collapse(OsBench& b) {
  const VirtualAddress va = b.map_present(kHugePage, {.alignment = kHugePage});
  const Error error = b.run(b.vm.madvise(b.thread, *b.process, va, kHugePage, Advice::collapse)).value;
  CHECK(b.process->space().is_huge(va) == (error == Error::none));
  return error;
}

}  // namespace

TEST_CASE("MADV_COLLAPSE is not known before 6.1", "[madv-collapse]") {
  OsBench b(of_kernel(KernelVersion::linux_5_15));
  CHECK(collapse(b) == Error::invalid);
}
TEST_CASE("MADV_COLLAPSE is known in 6.1", "[madv-collapse]") {
  OsBench b(of_kernel(KernelVersion::linux_6_1));
  CHECK(collapse(b) == Error::none);
}
TEST_CASE("MADV_COLLAPSE drains the cores' batches once", "[madv-collapse]") {
  OsBench b(of_kernel(KernelVersion::linux_6_1));
  REQUIRE(collapse(b) == Error::none);
  CHECK(b.counted("os.batch_drains") == 1);
}

TEST_CASE("MADV_PAGEOUT is not known before 5.4", "[madv-pageout]") {
  OsConfig config = of_kernel(KernelVersion::linux_4_19);
  config.swap_bytes = kMiB;
  OsBench b(config);
  const PresentPages pages(b);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, pages.va, kPage, Advice::page_out)).value == Error::invalid);
  CHECK(b.present(pages.va));
}

TEST_CASE("MADV_DONTNEED_LOCKED is not known before 5.18", "[dontneed-locked]") {
  OsBench b(of_kernel(KernelVersion::linux_5_15));
  const PresentPages pages(b);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, pages.va, kPage, Advice::dont_need_locked)).value == Error::invalid);
  CHECK(b.present(pages.va));
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
