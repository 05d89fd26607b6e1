// SPDX-License-Identifier: Apache-2.0
// os.use_zero_page: reads of untouched memory that may have 2 MiB pages; and first writes to those, and to shared ones.
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::KernelVersion;
using os::kPagesPerHuge;

namespace {

OsConfig with_thp(bool use_zero_page = true, KernelVersion version = KernelVersion::linux_6_1) {
  OsConfig config = of_kernel(version);
  config.thp = os::ThpMode::always;
  config.use_zero_page = use_zero_page;
  return config;
}

// Two aligned ranges of 2 MiB; of the first a byte has been read.
struct Read {
  explicit Read(std::uint64_t memory = 64 * kMiB, KernelVersion version = KernelVersion::linux_6_1)
      : b(with_thp(true, version), memory), va(b.map(2 * kHugePage, kAligned)) {
    used = b.used();
    first_read = b.run(b.vm.touch(b.thread, *b.process, va + 5 * kPage, false));
    REQUIRE(first_read.value == Error::none);
  }
  static constexpr os::MmapOptions kAligned{.alignment = kHugePage};
  OsBench b;
  VirtualAddress va;
  std::uint64_t used = 0;
  Timed<Error> first_read;
};

}  // namespace

TEST_CASE("the first read makes the huge zero page, later ones map it, and nobody is charged for it") {
  Read r;
  OsBench& b = r.b;
  CHECK(r.first_read.took == b.config.fault_no_alloc + b.zeroing(kPagesPerHuge));
  const auto second = b.run(b.vm.touch(b.thread, *b.process, r.va + kHugePage, false));
  CHECK(second.took == b.config.fault_no_alloc);
  CHECK(b.used() == r.used + kPagesPerHuge + 1);  // and a table
  CHECK(b.process->space().resident_bytes() == 0);
  CHECK(b.walk(r.va)->physical == b.walk(r.va + kHugePage)->physical);
  CHECK(b.walk(r.va)->level == 2);
  CHECK((b.walk(r.va)->descriptor & 0x80) != 0);  // read-only
  CHECK(b.counted("os.thp_zero_page_alloc") == 1);
  CHECK(b.counted("os.thp_fault_alloc") == 0);
  b.vm.audit();
}

TEST_CASE("5.4: the first write gets a huge page of its own, after the TLBs have forgotten the zeros",
          "[huge-cow-splits]") {
  Read r(64 * kMiB, KernelVersion::linux_5_4);
  OsBench& b = r.b;
  const Listener listener(b, 50us);
  const auto zeros = b.walk(r.va)->physical;
  const auto written = b.run(b.vm.touch(b.thread, *b.process, r.va + kPage, true));
  CHECK(written.value == Error::none);
  CHECK(written.took == b.config.thp_alloc + b.zeroing(kPagesPerHuge) + b.flush() + 50us);
  CHECK(b.process->space().resident_bytes() == kHugePage);
  CHECK(b.walk(r.va)->level == 2);
  CHECK(b.walk(r.va)->physical != zeros);
  CHECK((b.walk(r.va)->descriptor & 0x80) == 0);
  CHECK(b.vm.read(*b.process, r.va, kPage) == sim::Content::zeros(kPage));
  CHECK(b.counted("os.thp_fault_alloc") == 1);
  CHECK(b.counted("os.thp_split_pmd") == 0);
  b.vm.audit();
}

TEST_CASE("5.10: the first write splits it, and one page is its own", "[huge-cow-splits]") {
  Read r(64 * kMiB, KernelVersion::linux_5_10);
  OsBench& b = r.b;
  const auto written = b.run(b.vm.touch(b.thread, *b.process, r.va + kPage, true));
  CHECK(written.value == Error::none);
  CHECK(written.took == b.flush() + b.config.thp_split + b.cold_page() + b.flush());
  CHECK(b.process->space().resident_bytes() == kPage);
  CHECK(b.counted("os.thp_split_pmd") == 1);
  CHECK(b.counted("os.thp_fault_alloc") == 0);
  b.vm.audit();
}

namespace {

// A store of a process that shares a page of 2 MiB with its child.
struct Shared {
  explicit Shared(KernelVersion version)
      : b(with_thp(true, version)), va(b.map_present(kHugePage, Read::kAligned)), child(share()) {
    written = b.run(b.vm.touch(b.thread, *b.process, va + kPage, true));
    CHECK(written.value == Error::none);
    CHECK(b.vm.read(*child, va, kHugePage) == sim::Content::pattern(7, 0, kHugePage));
    CHECK(b.vm.read(*b.process, va, kHugePage) == sim::Content::pattern(7, 0, kHugePage));
    CHECK(child->space().is_huge(va));
    CHECK(b.walk(va + kPage)->physical != child->page_table().translate(va + kPage));
    b.vm.audit();
  }
  Process* share() {
    REQUIRE(b.vm.fill(*b.process, va, kHugePage, 7) == kHugePage);
    return b.run(b.vm.fork(b.thread, *b.process)).value.value;
  }
  OsBench b;
  VirtualAddress va;
  Process* child;
  Timed<Error> written;
};

}  // namespace

TEST_CASE("5.4: a store to a huge page that a child maps copies all of it", "[huge-cow-splits]") {
  const Shared s(KernelVersion::linux_5_4);
  CHECK(s.b.process->space().is_huge(s.va));
  CHECK(s.b.counted("os.thp_split_pmd") == 0);
  CHECK(s.written.took > s.b.config.thp_alloc + s.b.flush());
}

TEST_CASE("5.10: a store to a huge page that a child maps splits it and copies 4 KiB", "[huge-cow-splits]") {
  const Shared s(KernelVersion::linux_5_10);
  CHECK_FALSE(s.b.process->space().is_huge(s.va));
  CHECK(s.b.counted("os.thp_split_pmd") == 1);
  CHECK(s.b.walk(s.va)->physical == s.child->page_table().translate(s.va));
}

TEST_CASE("where there is no other huge page the first write splits it, and one page is copied") {
  // 2 MiB and a few pages for the user.
  Read r(4 * kMiB + 64 * kPage, KernelVersion::linux_5_4);
  OsBench& b = r.b;
  const auto written = b.run(b.vm.touch(b.thread, *b.process, r.va + kPage, true));
  CHECK(written.value == Error::none);
  CHECK(b.process->space().resident_bytes() == kPage);
  CHECK(b.walk(r.va)->level == 3);
  CHECK((b.walk(r.va + kPage)->descriptor & 0x80) == 0);
  CHECK((b.walk(r.va)->descriptor & 0x80) != 0);
  CHECK(b.counted("os.thp_fault_fallback") == 1);
  CHECK(b.counted("os.thp_split_pmd") == 1);
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, r.va, 2 * kHugePage)).value == Error::none);
  CHECK(b.process->space().resident_bytes() == 0);
  b.vm.audit();
}

TEST_CASE("where there is no huge page at all a read gets the small zero page") {
  Read r(3 * kMiB);
  CHECK(r.b.walk(r.va + 5 * kPage)->level == 3);
  CHECK(r.b.counted("os.thp_zero_page_alloc_failed") == 1);
  CHECK(r.b.counted("os.thp_fault_fallback") == 1);
  CHECK(r.first_read.took == r.b.config.fault_no_alloc);
}

TEST_CASE("two threads that read first make one") {
  OsBench b(with_thp());
  const VirtualAddress va = b.map(2 * kHugePage, Read::kAligned);
  const auto used = b.used();
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<Error> first, second;
  const Time start = b.node.now() + 1ms;
  b.tasks.start(at_core(b, b.thread, start, b.vm.touch(b.thread, *b.process, va, false), first));
  b.tasks.start(at(b, start + 10us, b.vm.touch(other, *b.process, va + kHugePage, false), second));
  sc_core::sc_start();
  CHECK(first.value == Error::none);
  CHECK(second.value == Error::none);
  CHECK(b.counted("os.thp_zero_page_alloc") == 1);
  CHECK(b.used() == used + kPagesPerHuge + 1);
  b.vm.audit();
}

TEST_CASE("a child reads the same zeros, and its writes are its own") {
  Read r(64 * kMiB, KernelVersion::linux_5_4);
  OsBench& b = r.b;
  const auto child = b.run(b.vm.fork(b.thread, *b.process)).value;
  REQUIRE(child.ok());
  CHECK(b.run(b.vm.touch(b.thread, *child.value, r.va, true)).value == Error::none);
  CHECK(child.value->space().resident_bytes() == kHugePage);
  CHECK(b.process->space().resident_bytes() == 0);
  CHECK((b.walk(r.va)->descriptor & 0x80) != 0);
  b.vm.audit();
}

TEST_CASE("a long-term pin does not keep it") {
  Read r;
  OsBench& b = r.b;
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, r.va, kHugePage, false)).value;
  REQUIRE(pin.ok());
  CHECK(b.process->space().resident_bytes() == kHugePage);
  CHECK((b.walk(r.va)->descriptor & 0x80) == 0);
  CHECK(b.run(b.vm.unpin(b.thread, pin.value)).value == Error::none);
  b.vm.audit();
}

TEST_CASE("a mirror of it is told before a page of its own takes its place") {
  Read r;
  OsBench& b = r.b;
  os::MirroredTable& mirror = *b.vm.create_mirrored_table(*b.process).value;
  REQUIRE(b.run(b.vm.mirror_pages(b.thread, mirror, r.va, kPage, false)).value.ok());
  CHECK(mirror.table().translate(r.va) == b.process->page_table().translate(r.va));
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, r.va, true)).value == Error::none);
  CHECK_FALSE(mirror.table().translate(r.va));
}

TEST_CASE("without use_zero_page a read gets a page of its own") {
  OsBench b(with_thp(false));
  const VirtualAddress va = b.map(kHugePage, Read::kAligned);
  const auto read = b.run(b.vm.touch(b.thread, *b.process, va, false));
  CHECK(read.took == b.config.thp_alloc + b.zeroing(kPagesPerHuge));
  CHECK(b.process->space().resident_bytes() == kHugePage);
  CHECK(b.counted("os.thp_zero_page_alloc") == 0);
}
