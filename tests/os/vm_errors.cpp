// SPDX-License-Identifier: Apache-2.0
// What a program can do wrong, or memory can run out of: an answer, and nothing lost.
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

OsConfig with_limit(std::uint64_t bytes) {
  OsConfig config;
  config.rlimit_memlock = bytes;
  return config;
}

// With 4 MiB and a few pages: one block for a huge page; the pages above it hold the tables, of which there
// are a root, one of level 2, and one more when the huge page is split.
OsConfig always_huge() {
  OsConfig config;
  config.thp = os::ThpMode::always;
  return config;
}

}  // namespace

TEST_CASE("an address without a VMA, or a write where none is allowed, ends in bad_address") {
  OsBench b;
  const VirtualAddress va = b.map(kPage, {.writable = false});
  const auto used = b.used();
  CHECK(b.run(b.vm.touch(b.thread, *b.process, va + kPage, false)).value == Error::bad_address);
  const auto refused = b.run(b.vm.touch(b.thread, *b.process, va, true));
  CHECK(refused.value == Error::bad_address);
  CHECK(refused.took == b.config.fault_no_alloc);
  CHECK(b.counted("os.pgfault") == 0);  // Linux counts in handle_mm_fault, which is not reached
  CHECK(b.run(b.vm.mlock(b.thread, *b.process, va, 2 * kPage)).value == Error::bad_address);
  CHECK(b.run(b.vm.munlock(b.thread, *b.process, va + kPage, kPage)).value == Error::bad_address);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, va, kPage, os::Advice::populate_write)).value == Error::bad_address);
  CHECK(b.run(b.vm.touch(b.thread, *b.process, UINT64_MAX, true)).value == Error::bad_address);
  CHECK(b.run(b.vm.touch(b.thread, *b.process, VirtualAddress{1} << 39, true)).value == Error::bad_address);
  CHECK(b.used() == used);
  CHECK(b.process->space().locked_bytes() == 0);
}

TEST_CASE("empty and misaligned ranges are invalid") {
  OsBench b;
  const VirtualAddress va = b.map(kPage);
  CHECK(b.run(b.vm.mmap(b.thread, *b.process, 0, {})).value.error == Error::invalid);
  CHECK(b.run(b.vm.mmap(b.thread, *b.process, kPage, {.alignment = 12288})).value.error == Error::invalid);
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va + 1, kPage)).value == Error::invalid);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, va + 1, 8, os::Advice::populate_write)).value == Error::invalid);
  CHECK(b.run(b.vm.pin_user_pages(b.thread, *b.process, va, 0, true)).value.error == Error::invalid);
  CHECK(b.run(b.vm.unpin(b.thread, 99)).value == Error::invalid);
}

TEST_CASE("an address space that is full gives no_memory") {
  OsBench b;
  CHECK(b.run(b.vm.mmap(b.thread, *b.process, std::uint64_t{1} << 39, {})).value.error == Error::no_memory);
  CHECK(b.run(b.vm.mmap(b.thread, *b.process, UINT64_MAX, {})).value.error == Error::no_memory);
  CHECK(b.run(b.vm.mmap(b.thread, *b.process, std::uint64_t{400} << 30, {})).value.ok());
  CHECK(b.run(b.vm.mmap(b.thread, *b.process, std::uint64_t{200} << 30, {})).value.error == Error::no_memory);
}

TEST_CASE("RLIMIT_MEMLOCK bounds locked bytes, counting nothing twice") {
  OsBench b(with_limit(4 * kPage));
  const VirtualAddress va = b.map(8 * kPage);
  CHECK(b.run(b.vm.mlock(b.thread, *b.process, va, 5 * kPage)).value == Error::limit);
  CHECK(b.process->space().resident_bytes() == 0);
  CHECK(b.run(b.vm.mlock(b.thread, *b.process, va, 3 * kPage)).value == Error::none);
  CHECK(b.run(b.vm.mlock(b.thread, *b.process, va + kPage, 3 * kPage)).value == Error::none);
  CHECK(b.run(b.vm.mlock(b.thread, *b.process, va + 4 * kPage, 1)).value == Error::limit);
  CHECK(b.run(b.vm.mmap(b.thread, *b.process, kPage, {.locked = true})).value.error == Error::limit);
  CHECK(b.process->space().locked_bytes() == 4 * kPage);
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, 2 * kPage)).value == Error::none);
  CHECK(b.process->space().locked_bytes() == 2 * kPage);
  CHECK(b.vm.locked_bytes() == 2 * kPage);
  CHECK(b.run(b.vm.mlock(b.thread, *b.process, va + 4 * kPage, 2 * kPage)).value == Error::none);
}

TEST_CASE("RLIMIT_MEMLOCK bounds pinned bytes, apart from locked ones") {
  OsBench b(with_limit(4 * kPage));
  const VirtualAddress va = b.map(8 * kPage);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, va, 4 * kPage)).value == Error::none);
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, 3 * kPage, true));
  CHECK(pin.value.ok());
  const auto refused = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, 2 * kPage, true));
  CHECK(refused.value.error == Error::limit);
  CHECK(refused.took == b.config.pin_fixed);
  CHECK(b.counted("os.limit_refusals") == 1);
  REQUIRE(b.run(b.vm.unpin(b.thread, pin.value.value)).value == Error::none);
  CHECK(b.run(b.vm.pin_user_pages(b.thread, *b.process, va, 4 * kPage, true)).value.ok());
}

TEST_CASE("a pin that fails half-way gives back its pins and pays for that") {
  OsBench b;
  const VirtualAddress va = b.map_present(3 * kPage);
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, 5 * kPage, true));
  CHECK(pin.value.error == Error::bad_address);
  CHECK(pin.took == b.config.pin_fixed + 3 * b.config.gup_per_page + 3 * b.config.unpin_per_page);
  CHECK(b.vm.frame_record(b.walk(va)->physical).pins == 0);
  CHECK(b.process->space().pinned_bytes() == 0);
  CHECK(b.vm.pinned_bytes() == 0);
  CHECK(b.present(va));
}

TEST_CASE("memory that runs out is an error, and what was there stays usable") {
  OsBench b({}, 2 * kMiB + 8 * kPage);  // 8 frames: root, two tables, five pages
  const VirtualAddress va = b.map(8 * kPage);
  const auto got = b.run(b.vm.fault_in_pages(b.thread, *b.process, va, 8 * kPage, true));
  CHECK(got.value.error == Error::no_memory);
  CHECK(got.value.value == 5);
  CHECK(b.vm.frames().free_pages() == 0);
  const auto touch = b.run(b.vm.touch(b.thread, *b.process, va + 6 * kPage, true));
  CHECK(touch.value == Error::no_memory);
  CHECK(touch.took == b.config.anon_minor_fault);
  CHECK(b.run(b.vm.pin_user_pages(b.thread, *b.process, va, 8 * kPage, true)).value.error == Error::no_memory);
  CHECK(b.vm.pinned_bytes() == 0);
  CHECK(b.run(b.vm.mlock(b.thread, *b.process, va, 8 * kPage)).value == Error::no_memory);
  CHECK(b.process->space().locked_bytes() == 8 * kPage);                                // as in Linux
  CHECK(b.run(b.vm.mmap(b.thread, *b.process, kPage, {.populate = true})).value.ok());  // silently absent
  CHECK(b.vm.create_process("another") == nullptr);
  CHECK(b.vm.create_private_table(*b.process).error == Error::no_memory);
  CHECK(b.counted("os.out_of_memory") == 7);
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, 8 * kPage)).value == Error::none);
  CHECK(b.used() == 1);
}

TEST_CASE("a page for which there is no table gives its frame back") {
  OsBench b({}, 2 * kMiB + 3 * kPage);  // root and two: enough for a page, not for its tables
  const VirtualAddress va = b.map(kPage);
  CHECK(b.run(b.vm.touch(b.thread, *b.process, va, true)).value == Error::no_memory);
  CHECK(b.used() == 1);
  CHECK(b.process->space().resident_bytes() == 0);
}

TEST_CASE("a partial munmap splits huge pages") {
  OsBench b(always_huge(), 4 * kMiB + 3 * kPage);
  const VirtualAddress va = b.map_present(kHugePage, {.alignment = kHugePage});
  REQUIRE(b.walk(va)->level == 2);
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, 3 * kPage)).value == Error::none);
  CHECK_FALSE(b.present(va + 2 * kPage));
  CHECK(b.walk(va + 3 * kPage)->level == 3);
  CHECK(b.process->space().resident_bytes() == 509 * kPage);
  CHECK(b.vm.frames().free_pages() == 3);
}

TEST_CASE("a partial munmap without a frame for the split does nothing") {
  OsBench b(always_huge(), 4 * kMiB + 2 * kPage);
  const VirtualAddress va = b.map_present(kHugePage, {.alignment = kHugePage});
  REQUIRE(b.walk(va)->level == 2);
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, 3 * kPage)).value == Error::no_memory);
  CHECK(b.walk(va)->level == 2);
  CHECK(b.process->space().find(va) != nullptr);
  CHECK(b.process->space().resident_bytes() == kHugePage);
  CHECK(b.vm.frames().free_pages() == 0);
}

TEST_CASE("overlapping pins share a private table, and another frame at the same address is refused") {
  OsBench b;
  const VirtualAddress va = b.map_present(4 * kPage);
  os::PrivateTable& table = *b.vm.create_private_table(*b.process).value;
  const auto pin = [&](std::uint64_t first, std::uint64_t pages, bool write) {
    return b.run(b.vm.pin_user_pages(b.thread, *b.process, va + first * kPage, pages * kPage, write)).value.value;
  };
  const auto map = [&](os::PinId id) { return b.run(b.vm.map_pinned(b.thread, table, id)).value; };
  const auto device = [&](std::uint64_t page) { return walk(b.store, table.root(), 39, va + page * kPage); };
  const auto first = pin(0, 3, false);
  const auto second = pin(2, 2, true);
  REQUIRE(map(first) == Error::none);
  CHECK(map(first) == Error::invalid);
  CHECK((device(2)->descriptor & 0x80) != 0);
  REQUIRE(map(second) == Error::none);
  CHECK((device(2)->descriptor & 0x80) == 0);
  REQUIRE(b.run(b.vm.unmap_pinned(b.thread, table, first)).value == Error::none);
  CHECK_FALSE(device(1));
  CHECK(device(2));
  CHECK(b.run(b.vm.unmap_pinned(b.thread, table, first)).value == Error::invalid);

  REQUIRE(b.vm.discard(*b.process, va + 3 * kPage, kPage) == Error::none);
  REQUIRE(b.vm.make_present(*b.process, va, 4 * kPage) == Error::none);
  const auto third = pin(1, 3, true);
  CHECK(map(third) == Error::again);
  CHECK_FALSE(device(1));
  CHECK(device(3)->physical != b.walk(va + 3 * kPage)->physical);
}
