// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/page_table.hpp"

#include <rapidcheck.h>

#include <map>

#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::os;
using faultline::test::walk;

namespace {

constexpr std::uint64_t kSpan = 64 * kHugePage;
constexpr VirtualAddress kVa = VirtualAddress{1} << 30;

struct Tables {
  explicit Tables(unsigned bits, std::uint64_t bytes = kSpan)
      : frames(0, bytes), table(PageTable::create(store, frames, bits)) {}
  memory::FrameStore store{kSpan};
  FrameAllocator frames;
  std::unique_ptr<PageTable> table;
};

}  // namespace

TEST_CASE("descriptors are those of the architecture") {
  const unsigned bits = GENERATE(39u, 48u);
  Tables t(bits);
  REQUIRE(t.table->map(kVa, 0x1234000, PageSize::small, true) == Error::none);
  REQUIRE(t.table->map(kVa + kPage, 0x1235000, PageSize::small, false) == Error::none);
  REQUIRE(t.table->map(kVa + kHugePage, 0x1400000, PageSize::huge, true) == Error::none);
  CHECK(t.table->tables() == (bits == 39 ? 3u : 4u));

  // UXN PXN ... nG AF SH=inner AP=user read-write, attribute 0, page.
  const auto page = walk(t.store, t.table->root(), bits, kVa + 0x123);
  REQUIRE(page);
  CHECK(page->descriptor == 0x0060'0000'0123'4f43);
  CHECK(page->level == 3);
  CHECK(page->physical == 0x1234123);
  const auto read_only = walk(t.store, t.table->root(), bits, kVa + kPage);
  REQUIRE(read_only);
  CHECK(read_only->descriptor == 0x0060'0000'0123'5fc3);
  const auto block = walk(t.store, t.table->root(), bits, kVa + kHugePage + 0x54321);
  REQUIRE(block);
  CHECK(block->descriptor == 0x0060'0000'0140'0f41);
  CHECK(block->level == 2);
  CHECK(block->physical == 0x1454321);
  CHECK_FALSE(walk(t.store, t.table->root(), bits, kVa + 2 * kPage));
  CHECK(t.table->translate(kVa + kHugePage + 0x54321) == 0x1454321u);
}

TEST_CASE("protection changes one descriptor") {
  Tables t(39);
  REQUIRE(t.table->map(kVa, 0x1234000, PageSize::small, true) == Error::none);
  CHECK(t.table->protect(kVa, false));
  CHECK(walk(t.store, t.table->root(), 39, kVa)->descriptor == 0x0060'0000'0123'4fc3);
  CHECK(t.table->protect(kVa, true));
  CHECK(walk(t.store, t.table->root(), 39, kVa)->descriptor == 0x0060'0000'0123'4f43);
  CHECK_FALSE(t.table->protect(kVa + kPage, true));
}

TEST_CASE("a split huge page leads to the same addresses with the same rights") {
  Tables t(39);
  REQUIRE(t.table->map(kVa, 2 * kHugePage, PageSize::huge, false) == Error::none);
  const auto table = t.table->prepare_split(kVa + 5);
  REQUIRE(table);
  CHECK(walk(t.store, t.table->root(), 39, kVa)->level == 2);
  t.table->leave_note(kVa, PageSize::huge);
  CHECK_FALSE(walk(t.store, t.table->root(), 39, kVa));
  t.table->attach_pages(kVa, *table);
  for (unsigned i = 0; i < kPagesPerHuge; ++i) {
    const auto page = walk(t.store, t.table->root(), 39, kVa + i * kPage);
    REQUIRE(page);
    CHECK(page->level == 3);
    CHECK(page->descriptor == (0x0060'0000'0000'0fc3 | (2 * kHugePage + i * kPage)));
  }
}

TEST_CASE("a note keeps walkers out and its table alive, until a page takes its place or it is dropped") {
  Tables t(39);
  const auto used = t.frames.used_pages();
  REQUIRE(t.table->map(kVa, 0x1234000, PageSize::small, true) == Error::none);
  t.table->leave_note(kVa, PageSize::small);
  CHECK_FALSE(t.table->walk(kVa));
  CHECK_FALSE(t.table->unmap(kVa));
  REQUIRE(t.table->map(kVa, 0x1236000, PageSize::small, false) == Error::none);
  CHECK(walk(t.store, t.table->root(), 39, kVa)->physical == 0x1236000);
  t.table->leave_note(kVa, PageSize::small);
  t.table->drop_note(kVa, PageSize::small);
  t.table->free_tables(t.table->take_retired());
  CHECK(t.frames.used_pages() == used);
}

TEST_CASE("detached pages are out of a walker's reach and come back as they were") {
  Tables t(39);
  REQUIRE(t.table->map(kVa, 0x1234000, PageSize::small, true) == Error::none);
  const Address table = t.table->detach_pages(kVa);
  CHECK_FALSE(walk(t.store, t.table->root(), 39, kVa));
  t.table->attach_pages(kVa, table);
  CHECK(walk(t.store, t.table->root(), 39, kVa)->physical == 0x1234000);
  // Or a block takes their place, and the table is nobody's.
  CHECK(t.table->detach_pages(kVa) == table);
  const auto used = t.frames.used_pages();
  REQUIRE(t.table->map(kVa, 2 * kHugePage, PageSize::huge, true) == Error::none);
  t.table->free_detached(table);
  CHECK(t.frames.used_pages() == used - 1);
  CHECK(walk(t.store, t.table->root(), 39, kVa)->level == 2);
}

TEST_CASE("an access flag that is clear is the only change of its descriptor") {
  Tables t(39);
  REQUIRE(t.table->map(kVa, 0x1234000, PageSize::small, true) == Error::none);
  const auto before = walk(t.store, t.table->root(), 39, kVa)->descriptor;
  REQUIRE(t.table->set_young(kVa, false));
  CHECK(walk(t.store, t.table->root(), 39, kVa)->descriptor == (before & ~std::uint64_t{0x400}));
  CHECK_FALSE(t.table->walk(kVa)->young);
  REQUIRE(t.table->set_young(kVa, true));
  CHECK(walk(t.store, t.table->root(), 39, kVa)->descriptor == before);
}

TEST_CASE("empty tables are retired, and freed only when told so") {
  Tables t(39);
  const auto used = t.frames.used_pages();
  REQUIRE(t.table->map(kVa, 0x1234000, PageSize::small, true) == Error::none);
  REQUIRE(t.table->map(kVa + kPage, 0x1235000, PageSize::small, true) == Error::none);
  CHECK(t.frames.used_pages() == used + 2);
  REQUIRE(t.table->unmap(kVa));
  CHECK(t.table->take_retired().empty());
  REQUIRE(t.table->unmap(kVa + kPage));
  const auto retired = t.table->take_retired();
  CHECK(retired.size() == 2);
  CHECK(t.frames.used_pages() == used + 2);
  t.table->free_tables(retired);
  CHECK(t.frames.used_pages() == used);
  CHECK(t.table->tables() == 1);
  t.table.reset();
  CHECK(t.frames.used_pages() == 0);
}

TEST_CASE("without a frame for every missing table nothing changes") {
  const unsigned available = GENERATE(0u, 1u, 2u);
  Tables t(48, (1 + available) * kPage);  // the root and 0 to 2 of the 3 tables that are missing
  REQUIRE(t.table);
  CHECK(t.table->map(kVa, kHugePage, PageSize::small, true) == Error::no_memory);
  CHECK(t.frames.used_pages() == 1);
  CHECK_FALSE(walk(t.store, t.table->root(), 48, kVa));
  CHECK(t.store.read_word(t.table->root()) == 0);
}

TEST_CASE("without a frame for the root there is no table") {
  Tables t(39, 0);
  CHECK_FALSE(t.table);
}

TEST_CASE("a frame that held data becomes a table without valid entries") {
  Tables t(39);
  for (Address at = kPage; at < 16 * kPage; at += kPage) t.store.write(at, sim::Content::pattern(7, 0, kPage));
  REQUIRE(t.table->map(kVa, 0x1234000, PageSize::small, true) == Error::none);
  CHECK(walk(t.store, t.table->root(), 39, kVa)->physical == 0x1234000);
  for (unsigned i = 1; i < kPagesPerHuge; ++i) CHECK_FALSE(walk(t.store, t.table->root(), 39, kVa + i * kPage));
}

TEST_CASE("random maps and unmaps agree with a plain map") {
  CHECK(rc::check([] {
    const unsigned bits = *rc::gen::element(39u, 48u);
    Tables t(bits);
    std::map<VirtualAddress, std::pair<Address, bool>> reference;  // by page: frame, writable
    const auto commands = *rc::gen::container<std::vector<unsigned>>(120, rc::gen::inRange(0u, 4096u));
    for (const unsigned command : commands) {
      // Pages that share tables, and pages at the far end of the address space.
      const VirtualAddress top = (VirtualAddress{1} << bits) - kHugePage;
      const VirtualAddress va = (command / 4 % 2 == 0 ? kVa : top) + command / 8 % 8 * kPage;
      const bool writable = command % 2 == 0;
      if (command % 4 < 2 && !reference.contains(va)) {
        const Address frame = kHugePage + command / 8 * kPage;
        RC_ASSERT(t.table->map(va, frame, PageSize::small, writable) == Error::none);
        reference[va] = {frame, writable};
      } else if (command % 4 == 2) {
        RC_ASSERT(t.table->unmap(va).has_value() == (reference.erase(va) == 1));
        t.table->free_tables(t.table->take_retired());
      } else if (command % 4 == 3 && reference.contains(va)) {
        RC_ASSERT(t.table->protect(va, writable));
        reference[va].second = writable;
      }
      for (unsigned i = 0; i < 8; ++i) {
        for (const VirtualAddress page : {kVa + i * kPage, top + i * kPage}) {
          const auto walked = walk(t.store, t.table->root(), bits, page);
          const auto expected = reference.find(page);
          RC_ASSERT(walked.has_value() == (expected != reference.end()));
          if (!walked) continue;
          RC_ASSERT(walked->physical == expected->second.first);
          RC_ASSERT(((walked->descriptor & 0x80) == 0) == expected->second.second);
        }
      }
      RC_ASSERT(t.frames.used_pages() == t.table->tables());
    }
  }));
}
