// SPDX-License-Identifier: Apache-2.0
// What changed between kernels: the table, and those of its rows that no other file of this folder tests.
#include <fmt/format.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/os/bench.hpp"
#include "tests/support/source_tree.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Change;
using os::KernelVersion;

namespace {

OsConfig of_kernel(KernelVersion version) {
  OsConfig config;
  config.kernel.version = version;
  config.khugepaged = false;
  return config;
}

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
  for (const auto& row : cpu::kChanges) {
    INFO(row.name);
    CHECK(readme.str().find(fmt::format("| `{}` | {}.{} |", row.name, row.since / 100, row.since % 100)) !=
          std::string::npos);
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
