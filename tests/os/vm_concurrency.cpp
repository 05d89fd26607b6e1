// SPDX-License-Identifier: Apache-2.0
// Two threads in the kernel at once.
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;

TEST_CASE("two faults on one page: the later gives its frame back") {
  OsBench b;
  const VirtualAddress va = b.map(kPage);
  const auto used = b.used();
  const Time start = b.node.now() + 1ms;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<Error> first, second;
  b.tasks.start(at_core(b, b.thread, start, b.vm.touch(b.thread, *b.process, va, true), first));
  b.tasks.start(at(b, start + 1us - kSwitch, b.vm.touch(other, *b.process, va, true), second));
  sc_core::sc_start();
  CHECK(first.value == Error::none);
  CHECK(second.value == Error::none);
  CHECK(first.at == start + b.cold_page());
  CHECK(second.at == start + 1us + b.cold_page());
  CHECK(b.used() == used + 3);  // one page, two tables
  CHECK(b.process->space().resident_bytes() == kPage);
  CHECK(b.counted("os.zeroed_bytes") == 2 * kPage);
}

TEST_CASE("munmap waits for a fault in progress, and a fault for munmap, until the VMA is gone") {
  OsBench b;
  Listener listener(b, 50us);
  const VirtualAddress va = b.map(2 * kPage);
  const auto used = b.used();
  const Time start = b.node.now() + 1ms;
  cpu::Execution& unmapper = b.cpu.new_thread("unmapper", 2);
  cpu::Execution& late = b.cpu.new_thread("late", 3);
  Outcome<Error> touched, unmapped, refused;
  // munmap comes to the lock 1 us after the fault has begun, the late touch while munmap waits.
  const Time unmap_at_lock = start + kSwitch + b.config.munmap_fixed;
  const Time mapped = unmap_at_lock - 1us + b.cold_page();
  b.tasks.start(at_core(b, b.thread, unmap_at_lock - 1us, b.vm.touch(b.thread, *b.process, va, true), touched));
  b.tasks.start(at(b, start, b.vm.munmap(unmapper, *b.process, va, 2 * kPage), unmapped));
  b.tasks.start(at(b, start + 6us, b.vm.touch(late, *b.process, va + kPage, true), refused));
  sc_core::sc_start();
  CHECK(touched.value == Error::none);
  CHECK(touched.at == mapped);
  // It had its core back and the lock when the fault was over, and paid for being woken.
  const Time freed = mapped + kSwitch + b.flush() + 50us;
  CHECK(unmapped.value == Error::none);
  CHECK(unmapped.at == freed);
  CHECK(refused.value == Error::bad_address);
  CHECK(refused.at == mapped + kSwitch + kSwitch + b.config.fault_no_alloc);
  CHECK(b.used() == used);
}

TEST_CASE("a frame unpinned while its TLB entries are being invalidated is freed after that, once") {
  OsBench b;
  Listener listener(b, 50us);
  const VirtualAddress va = b.map_present(kPage);
  const auto used = b.used();
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, kPage, true)).value.value;
  const Time start = b.node.now() + 1ms;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<Error> unmapped, unpinned;
  b.tasks.start(at_core(b, b.thread, start, b.vm.munmap(b.thread, *b.process, va, kPage), unmapped));
  b.tasks.start(at(b, start + 20us, b.vm.unpin(other, pin), unpinned));
  sc_core::sc_start();
  CHECK(unpinned.at < unmapped.at);
  CHECK(listener.used_at_end == used);
  CHECK(b.used() == used - 3);
}
