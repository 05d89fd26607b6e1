// SPDX-License-Identifier: Apache-2.0
// Who waits until every core has given back its batches of pages, and for how long.
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::KernelVersion;

namespace {

// mlock of one page that is there.
void lock_page(KernelVersion version, bool drains) {
  OsBench b(of_kernel(version));
  const VirtualAddress va = b.map_present(kPage);
  const auto locked = b.run(b.vm.mlock(b.thread, *b.process, va, kPage));
  CHECK(locked.took == b.config.mlock_fixed + b.config.mlock_per_page + (drains ? b.drain() : 0ns));
  CHECK(b.run(b.vm.munlock(b.thread, *b.process, va, kPage)).took == b.config.mlock_fixed + b.config.munlock_per_page);
  CHECK(b.counted("os.batch_drains") == (drains ? 1 : 0));
}

Task<Error> occupy(OsBench& b, cpu::Execution& thread, Time duration) {
  co_await b.cpu.run(thread, cpu::Work::system, duration);
  co_return Error::none;
}

}  // namespace

TEST_CASE("mlock up to 4.14 has every core give back its batches", "[mlock-as-it-is]") {
  lock_page(KernelVersion::linux_4_14, true);
}
TEST_CASE("mlock since 4.19 does not", "[mlock-as-it-is]") { lock_page(KernelVersion::linux_4_19, false); }

TEST_CASE("a drain lasts until the core that is last to it has done its share") {
  OsBench b(of_kernel(KernelVersion::linux_4_9));
  const VirtualAddress va = b.map_present(kPage);
  const Time begin = b.node.now();
  Outcome<Error> occupied, locked;
  b.tasks.start(at(b, begin, occupy(b, b.cpu.new_thread("busy", 2), 100us), occupied));
  b.tasks.start(at(b, begin, b.vm.mlock(b.thread, *b.process, va, kPage), locked));
  sc_core::sc_start();
  // The busy core's kworker comes when the kernel's work there is done, and the caller is woken after it.
  CHECK(occupied.at == begin + kSwitch + 100us);
  CHECK(locked.at == occupied.at + kSwitch + b.config.drain_core + kSwitch + b.config.mlock_per_page);
}
