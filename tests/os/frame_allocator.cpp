// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/frame_allocator.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <set>

using namespace faultline::os;

TEST_CASE("pages come from the lowest address, huge pages from whole blocks only") {
  FrameAllocator frames(kHugePage, 2 * kHugePage);
  CHECK(frames.allocate_page() == kHugePage);
  CHECK(frames.allocate_page() == kHugePage + kPage);
  CHECK(frames.allocate_huge() == 2 * kHugePage);
  CHECK(frames.allocate_huge() == std::nullopt);
  CHECK(frames.free_pages() == kPagesPerHuge - 2);
  frames.free_page(kHugePage);
  CHECK(frames.allocate_page() == kHugePage);
}

TEST_CASE("512 freed pages merge into a huge page, however they were allocated") {
  FrameAllocator frames(0, kHugePage);
  for (unsigned i = 0; i < kPagesPerHuge; ++i) REQUIRE(frames.allocate_page() == i * kPage);
  CHECK(frames.allocate_page() == std::nullopt);
  for (unsigned i = 0; i < kPagesPerHuge; ++i) {
    CHECK(frames.allocate_huge() == std::nullopt);
    frames.free_page(i * kPage);
  }
  REQUIRE(frames.allocate_huge() == 0u);
  frames.free_page(5 * kPage);
  CHECK(frames.allocate_page() == 5 * kPage);
  frames.free_huge(0);
  CHECK(frames.used_pages() == 0);
}

TEST_CASE("ends that cut a block serve pages only") {
  // 3 pages below a boundary, one whole block, 2 pages above it.
  FrameAllocator frames(kHugePage - 3 * kPage, kHugePage + 5 * kPage);
  CHECK(frames.total_pages() == kPagesPerHuge + 5);
  CHECK(frames.allocate_huge() == kHugePage);
  std::set<Address> pages;
  while (const auto page = frames.allocate_page()) pages.insert(*page);
  CHECK(pages == std::set<Address>{kHugePage - 3 * kPage, kHugePage - 2 * kPage, kHugePage - kPage, 2 * kHugePage,
                                   2 * kHugePage + kPage});
  for (const Address page : pages) frames.free_page(page);
  CHECK(frames.allocate_huge() == std::nullopt);
}

TEST_CASE("what cannot be moved has blocks of its own, as long as there are any") {
  FrameAllocator frames(0, 3 * kHugePage);
  CHECK(frames.allocate_page() == 0u);
  CHECK(frames.allocate_page(FrameUse::fixed) == kHugePage);
  CHECK(frames.allocate_page() == kPage);
  CHECK(frames.allocate_page(FrameUse::fixed) == kHugePage + kPage);
  CHECK(frames.use_of_block(kPage) == FrameUse::movable);
  CHECK(frames.use_of_block(kHugePage) == FrameUse::fixed);
  REQUIRE(frames.allocate_huge() == 2 * kHugePage);
  // Then they share.
  for (unsigned i = 2; i < kPagesPerHuge; ++i) REQUIRE(frames.allocate_page(FrameUse::fixed) == kHugePage + i * kPage);
  CHECK(frames.allocate_page(FrameUse::fixed) == 2 * kPage);
  CHECK(frames.use_of_block(0) == FrameUse::movable);
  // A block that is free again is anybody's.
  for (unsigned i = 0; i < kPagesPerHuge; ++i) frames.free_page(kHugePage + i * kPage);
  CHECK(frames.use_of_block(kHugePage) == FrameUse::movable);
  CHECK(frames.allocate_huge() == kHugePage);
}

TEST_CASE("a frame that is asked for by its address is taken unless it is allocated") {
  FrameAllocator frames(kHugePage, 4 * kHugePage);
  CHECK_FALSE(frames.take(0));
  CHECK_FALSE(frames.take(5 * kHugePage));
  CHECK(frames.take(3 * kHugePage + 7 * kPage));
  CHECK_FALSE(frames.take(3 * kHugePage + 7 * kPage));
  CHECK(frames.free_in_block(3 * kHugePage) == kPagesPerHuge - 1);
  CHECK(frames.free_in_block(4 * kHugePage) == kPagesPerHuge);
  CHECK(frames.used_pages() == 1);
  CHECK(frames.allocate_page() == 3 * kHugePage);  // of a block that is broken already
  CHECK(frames.allocate_huge() == kHugePage);
  CHECK(frames.allocate_huge() == 2 * kHugePage);
  CHECK(frames.allocate_huge() == 4 * kHugePage);
  CHECK_FALSE(frames.has_whole_block());
  frames.free_page(3 * kHugePage);
  frames.free_page(3 * kHugePage + 7 * kPage);
  CHECK(frames.has_whole_block());
  CHECK(frames.allocate_huge() == 3 * kHugePage);
}

TEST_CASE("both ends in one block") {
  FrameAllocator frames(3 * kPage, 2 * kPage);
  CHECK(frames.allocate_page() == 3 * kPage);
  CHECK(frames.allocate_page() == 4 * kPage);
  CHECK(frames.allocate_page() == std::nullopt);
  CHECK(FrameAllocator(0, 0).allocate_page() == std::nullopt);
}

TEST_CASE("freeing what is not allocated is refused") {
  FrameAllocator frames(0, kHugePage);
  CHECK_THROWS_AS(frames.free_page(0), std::logic_error);
  REQUIRE(frames.allocate_page());
  CHECK_THROWS_AS(frames.free_page(kPage), std::logic_error);
  CHECK_THROWS_AS(frames.free_page(1), std::logic_error);
  CHECK_THROWS_AS(frames.free_page(kHugePage), std::logic_error);
}

TEST_CASE("no frame is given twice and the accounts add up") {
  CHECK(rc::check([] {
    FrameAllocator frames(kPage * *rc::gen::inRange(0, 600), kPage * *rc::gen::inRange(0, 2500),
                          kPage * *rc::gen::inRange(0, 1500));
    std::set<Address> used;
    std::vector<std::pair<Address, bool>> held;  // address, huge
    for (const int choice : *rc::gen::container<std::vector<int>>(300, rc::gen::inRange(0, 1000))) {
      if (choice < 500) {
        const bool huge = choice < 60;
        const FrameUse use = choice % 3 == 0 ? FrameUse::fixed : FrameUse::movable;
        const auto got = huge ? frames.allocate_huge(use) : frames.allocate_page(use);
        if (!got) {
          const std::uint64_t lent = use == FrameUse::fixed ? frames.cma().free_pages() : 0;
          RC_ASSERT(huge || frames.free_pages() == lent);
          continue;
        }
        RC_ASSERT(use == FrameUse::movable || !frames.cma().owns(*got));
        RC_ASSERT(!frames.take(*got));
        RC_ASSERT(frames.owns(*got));
        for (unsigned i = 0; i < (huge ? kPagesPerHuge : 1); ++i) {
          RC_ASSERT(frames.owns(*got + i * kPage));
          RC_ASSERT(used.insert(*got + i * kPage).second);
        }
        held.emplace_back(*got, huge);
      } else if (!held.empty()) {
        const auto at = held.begin() + choice % static_cast<int>(held.size());
        for (unsigned i = 0; i < (at->second ? kPagesPerHuge : 1); ++i) used.erase(at->first + i * kPage);
        if (at->second) {
          frames.free_huge(at->first);
        } else {
          frames.free_page(at->first);
        }
        held.erase(at);
      }
      RC_ASSERT(frames.used_pages() == used.size());
      RC_ASSERT(frames.used_pages() + frames.free_pages() == frames.total_pages());
    }
  }));
}
