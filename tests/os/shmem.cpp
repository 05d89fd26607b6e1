// SPDX-License-Identifier: Apache-2.0
// Shared memory: pages of the page cache that several processes map, that no write-back protects, and that go to the
// swap device.
#include "models/os/reclaim/reclaim.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::uint64_t kShared = 4 * kPage;

OsConfig with_swap_of(std::uint64_t bytes) {
  OsConfig config;
  config.swap_bytes = bytes;
  config.khugepaged = false;
  return config;
}

struct SharedMemory {
  explicit SharedMemory(OsBench& bench)
      : b(bench), file(*b.vm.page_cache().create_shmem(kShared)), va(b.vm.map_file(*b.process, file, true).value) {}

  Timed<Error> touch(Process& process, VirtualAddress at, bool write) {
    return b.run(b.vm.touch(b.thread, process, at, write));
  }
  Timed<Error> touch(bool write) { return touch(*b.process, va, write); }
  void fill(std::uint64_t seed) {
    REQUIRE(b.vm.make_present(*b.process, va, kShared) == Error::none);
    REQUIRE(b.vm.fill(*b.process, va, kShared, seed) == kShared);
  }
  bool holds(const Process& process, std::uint64_t seed) const {
    return b.vm.read(process, va, kShared) == sim::Content::pattern(seed, 0, kShared);
  }
  unsigned page_out() { return b.run(b.vm.reclaim().page_out(b.thread, *b.process, {va, va + kShared})).value; }
  Process& forked() { return *b.run(b.vm.fork(b.thread, *b.process)).value.value; }
  bool writable() const { return (b.walk(va)->descriptor & 0x80) == 0; }

  OsBench& b;
  os::File& file;
  VirtualAddress va;
};

}  // namespace

TEST_CASE("shmem: a fault brings a page of zeros at the cost of anonymous memory's") {
  OsBench b;
  SharedMemory m(b);
  CHECK(m.touch(true).took == b.cold_page());
  CHECK(m.writable());
  CHECK(m.file.cached().size() == 1);  // and none around it
  CHECK(b.counted("os.pgmajfault") == 0);
  b.vm.audit();
}

TEST_CASE("shmem: a page that was read is found write-protected once, because the core has no dirty bit") {
  OsBench b;
  SharedMemory m(b);
  REQUIRE(m.touch(false).value == Error::none);
  CHECK_FALSE(m.writable());
  CHECK(m.touch(true).took == b.config.fault_no_alloc + b.config.cpu_tlbi + b.config.cpu_dsb);
  CHECK(m.writable());
}

TEST_CASE("shmem: no write-back takes the right to write away") {
  OsConfig config;
  config.dirty_expire = 0ns;
  config.dirty_writeback_interval = 100us;
  OsBench b(config);
  SharedMemory m(b);
  m.fill(1);
  CHECK(b.vm.page_cache().writeback().dirty_pages() == 0);
  CHECK(b.run(b.vm.page_events().write_protect(b.thread, *b.process, {m.va, m.va + kShared})).value == 0);
  CHECK(m.writable());
  CHECK(b.counted("os.nr_dirtied") == 0);
}

TEST_CASE("shmem: parent and child have the same pages after a fork, whoever writes them") {
  OsBench b;
  SharedMemory m(b);
  m.fill(1);
  Process& child = m.forked();
  CHECK(m.writable());
  CHECK(m.holds(child, 1));
  REQUIRE(m.touch(child, m.va, true).value == Error::none);
  CHECK(child.space().entry(m.va)->frame == b.process->space().entry(m.va)->frame);
  m.fill(2);
  CHECK(m.holds(child, 2));
  CHECK(b.counted("os.cow_faults") == 0);
  b.vm.audit();
}

TEST_CASE("shmem: pages go to the swap device and come back, for everybody who maps them") {
  OsBench b(with_swap_of(kMiB));
  SharedMemory m(b);
  m.fill(1);
  CHECK(m.page_out() == 4);
  CHECK_FALSE(b.present(m.va));
  CHECK(b.process->space().entry(m.va) == nullptr);  // the file has the slots, not the process
  CHECK(m.file.cached().empty());
  CHECK(m.file.swapped().size() == 4);
  CHECK(b.counted("os.pswpout") == 4);
  CHECK(m.holds(*b.process, 1));
  b.vm.audit();
  Process& child = m.forked();
  CHECK(m.touch(child, m.va, false).value == Error::none);
  CHECK(b.counted("os.pgmajfault") == 1);
  CHECK(b.counted("os.pswpin") == 1);
  CHECK(m.file.swapped().size() == 3);
  const auto major = m.touch(*b.process, m.va + kPage, true);
  CHECK(major.value == Error::none);
  CHECK(major.took >= b.config.disk_fault + b.config.disk_read_latency + b.config.fault_no_alloc);
  CHECK(m.holds(*b.process, 1));
  CHECK(m.holds(child, 1));
  b.vm.audit();
  REQUIRE(b.vm.make_present(*b.process, m.va, kShared) == Error::none);
  CHECK(m.file.swapped().empty());
  CHECK(m.holds(child, 1));
  b.vm.audit();
}

TEST_CASE("shmem: what is on its way to the swap device is found in memory") {
  OsBench b(with_swap_of(kMiB));
  SharedMemory m(b);
  m.fill(1);
  Outcome<unsigned> out;
  Outcome<Error> back;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  const Time start = b.node.now() + 1ms;
  b.tasks.start(at(b, start, b.vm.reclaim().page_out(b.thread, *b.process, {m.va, m.va + kPage}), out));
  b.tasks.start(at(b, start + b.config.reclaim_page + 10us, b.vm.touch(other, *b.process, m.va, true), back));
  sc_core::sc_start();
  CHECK(back.value == Error::none);
  CHECK(back.at < start + b.config.disk_write_latency);
  CHECK(b.counted("os.pswpin") == 0);
  CHECK(m.file.swapped().empty());
  CHECK(m.holds(*b.process, 1));
  b.vm.audit();
}

TEST_CASE("shmem: without swap no page goes, and a locked one does not either") {
  OsBench without;
  SharedMemory m(without);
  m.fill(1);
  CHECK(m.page_out() == 0);
  CHECK(without.present(m.va));
}

TEST_CASE("shmem: locked pages stay; a pinned one is unmapped before its pin is seen, and keeps its frame") {
  OsBench b(with_swap_of(kMiB));
  SharedMemory m(b);
  m.fill(1);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, m.va, kPage)).value == Error::none);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, m.va + kPage, kPage, true)).value.ok());
  const memory::Address pinned = b.process->space().entry(m.va + kPage)->frame;
  CHECK(m.page_out() == 2);
  CHECK(b.present(m.va));
  CHECK_FALSE(b.present(m.va + kPage));
  REQUIRE(m.touch(*b.process, m.va + kPage, true).value == Error::none);
  CHECK(b.process->space().entry(m.va + kPage)->frame == pinned);
  CHECK(b.counted("os.pgmajfault") == 0);
  CHECK(m.holds(*b.process, 1));
  b.vm.audit();
}

TEST_CASE("shmem: MADV_DONTNEED unmaps, a hole drops, pages and slots alike") {
  OsBench b(with_swap_of(kMiB));
  SharedMemory m(b);
  m.fill(1);
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, m.va, kShared, os::Advice::dont_need)).value == Error::none);
  CHECK(m.holds(*b.process, 1));
  REQUIRE(b.vm.make_present(*b.process, m.va, kShared) == Error::none);
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, {m.va, m.va + 2 * kPage})).value == 2);
  b.run(b.vm.page_cache().punch(b.thread, m.file, 0, 4));
  CHECK(m.file.swapped().empty());
  CHECK(m.file.cached().empty());
  CHECK(b.vm.read(*b.process, m.va, kShared) == sim::Content::zeros(kShared));
  b.vm.audit();
}
