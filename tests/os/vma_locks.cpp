// SPDX-License-Identifier: Apache-2.0
// Locks of VMAs (Linux 6.4): who waits for whom, when a process has two VMAs.
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Protection;

namespace {

OsConfig with_locks(bool per_vma) {
  OsConfig config;
  config.kernel.version = per_vma ? os::KernelVersion::linux_6_6 : os::KernelVersion::linux_6_1;
  config.khugepaged = false;
  config.swap_bytes = 16 * kPage;
  return config;
}

struct TwoVmas {
  explicit TwoVmas(bool per_vma, os::HugeAdvice advice = os::HugeAdvice::none)
      : b(with_locks(per_vma)),
        first(b.map(kHugePage, {.advice = advice, .alignment = kHugePage})),
        second(b.map(4 * kPage, {.advice = os::HugeAdvice::no_huge, .alignment = kHugePage})) {
    REQUIRE(b.process->space().find(first)->end <= second);
  }
  os::Range all_of_first() const { return {first, first + kHugePage}; }
  OsBench b;
  VirtualAddress first;
  VirtualAddress second;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Time start = b.node.now() + 1ms;
};

// When the end of an mprotect, of which the first page is present and which waits 50 us for a device, was, and of what
// another thread began 10 us after it.
struct DuringChange {
  Time changed;
  Time other;
};
template <typename Begin>
DuringChange during_change(TwoVmas& v, os::Range range, Begin begin) {
  OsBench& b = v.b;
  REQUIRE(b.vm.make_present(*b.process, range.begin, kPage) == Error::none);
  REQUIRE(b.vm.fill(*b.process, range.begin, kPage, 1) == kPage);
  const Listener listener(b, 50us);
  Outcome<Error> changed, other;
  b.tasks.start(at_core(b, b.thread, v.start,
                        b.vm.mprotect(b.thread, *b.process, range.begin, range.end - range.begin, Protection::read),
                        changed));
  b.tasks.start(at(b, v.start + 10us, begin(), other));
  sc_core::sc_start();
  CHECK(changed.value == Error::none);
  const Time work = b.config.mprotect_fixed + b.config.mprotect_per_page + b.flush() + 50us;
  CHECK(changed.at == v.start + work);
  CHECK(other.value == Error::none);
  return {changed.at, other.at};
}

Task<Error> fault_in(TwoVmas& v) {
  co_return (co_await v.b.vm.fault_in_pages(v.other, *v.b.process, v.second, kPage, true)).error;
}

}  // namespace

TEST_CASE("with mmap_lock alone a fault waits for the mprotect of another VMA", "[vma-locks]") {
  TwoVmas v(false);
  const DuringChange t =
      during_change(v, v.all_of_first(), [&] { return v.b.vm.touch(v.other, *v.b.process, v.second, true); });
  CHECK(t.other == t.changed + kSwitch + v.b.cold_page());
  CHECK(v.b.counted("os.vma_lock_success") == 0);
  CHECK(v.b.counted("os.vma_lock_abort") == 0);
}

TEST_CASE("with per-VMA locks it does not", "[vma-locks]") {
  TwoVmas v(true);
  const DuringChange t =
      during_change(v, v.all_of_first(), [&] { return v.b.vm.touch(v.other, *v.b.process, v.second, true); });
  CHECK(t.other == v.start + 10us + kSwitch + v.b.cold_page());
  CHECK(v.b.counted("os.vma_lock_success") == 1);
}

TEST_CASE("get_user_pages does in either case") {
  TwoVmas v(true);
  const DuringChange t = during_change(v, v.all_of_first(), [&] { return fault_in(v); });
  CHECK(t.other == t.changed + kSwitch + v.b.cold_page() + v.b.config.gup_per_page);
  CHECK(v.b.counted("os.vma_lock_success") == 0);
}

TEST_CASE("a fault waits for changes of its own VMA, all of it, though they are of another page") {
  TwoVmas v(true);
  const DuringChange t = during_change(v, {v.second, v.second + kPage},
                                       [&] { return v.b.vm.touch(v.other, *v.b.process, v.second + 2 * kPage, true); });
  CHECK(t.other == t.changed + kSwitch + v.b.cold_page());
  CHECK(v.b.counted("os.vma_lock_abort") == 1);
  CHECK(v.b.counted("os.vma_lock_success") == 0);
}

TEST_CASE("who changes a VMA waits for faults that hold its lock, not for those of other VMAs") {
  TwoVmas v(true, os::HugeAdvice::huge);
  OsBench& b = v.b;
  Outcome<Error> touched, changed, late;
  const Time fault = b.config.thp_alloc + b.zeroing(os::kPagesPerHuge);
  b.tasks.start(at_core(b, b.thread, v.start, b.vm.touch(b.thread, *b.process, v.first, true), touched));
  b.tasks.start(at(b, v.start + 1us, b.vm.mprotect(v.other, *b.process, v.second, kPage, Protection::read), changed));
  b.tasks.start(at(b, v.start + 50us, b.vm.mprotect(v.other, *b.process, v.first, kHugePage, Protection::read), late));
  sc_core::sc_start();
  CHECK(touched.at == v.start + fault);
  CHECK(changed.at == v.start + 1us + kSwitch + b.config.mprotect_fixed);
  CHECK(late.at == touched.at + kSwitch + b.config.mprotect_per_page + b.flush());
}

TEST_CASE("a fault that has to wait for the disk lets go of its VMA's lock and goes on with mmap_lock") {
  TwoVmas v(true);
  OsBench& b = v.b;
  REQUIRE(b.vm.make_present(*b.process, v.second, kPage) == Error::none);
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, v.second, kPage, os::Advice::page_out)).value == Error::none);
  REQUIRE(b.process->space().entry(v.second)->entry == os::Entry::swapped);
  v.start = b.node.now() + 1ms;
  Outcome<Error> touched, changed;
  b.tasks.start(at_core(b, b.thread, v.start, b.vm.touch(b.thread, *b.process, v.second, true), touched));
  const Time while_it_reads = v.start + 60us;
  b.tasks.start(
      at(b, while_it_reads, b.vm.mprotect(v.other, *b.process, v.second, 4 * kPage, Protection::read_write), changed));
  sc_core::sc_start();
  CHECK(touched.value == Error::none);
  CHECK(touched.at > v.start + b.config.disk_read_latency);
  CHECK(changed.at == while_it_reads + kSwitch + b.config.mprotect_fixed + b.config.mprotect_per_page);
  CHECK(b.counted("os.vma_lock_retry") == 1);
  CHECK(b.counted("os.vma_lock_success") == 0);
}

TEST_CASE("a fault where no VMA is takes mmap_lock and is refused") {
  TwoVmas v(true);
  const auto refused = v.b.run(v.b.vm.touch(v.b.thread, *v.b.process, v.second + kHugePage, true));
  CHECK(refused.value == Error::bad_address);
  CHECK(v.b.counted("os.vma_lock_abort") == 1);
}

TEST_CASE("fork locks VMAs that a child does not get, too") {
  TwoVmas v(true);
  OsBench& b = v.b;
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, v.second, 4 * kPage, os::Advice::dont_fork)).value == Error::none);
  REQUIRE(b.vm.make_present(*b.process, v.first, 64 * kPage) == Error::none);
  v.start = b.node.now() + 1ms;
  // From the end of fork_fixed on it copies 64 entries, 100 ns each, and flushes.
  const Time locked = v.start + b.config.fork_fixed;
  Outcome<os::Result<Process*>> forked;
  Outcome<Error> touched;
  b.tasks.start(at_core(b, b.thread, v.start, b.vm.fork(b.thread, *b.process), forked));
  b.tasks.start(at(b, locked + 6500ns - kSwitch, b.vm.touch(v.other, *b.process, v.second, true), touched));
  sc_core::sc_start();
  REQUIRE(forked.value.ok());
  CHECK(b.counted("os.vma_lock_abort") == 1);
  CHECK(touched.at == forked.at + kSwitch + b.cold_page());
}
