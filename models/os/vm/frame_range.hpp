// SPDX-License-Identifier: Apache-2.0
// A range of physical frames that are handed out in the two sizes that matter here: a 4 KiB page (order 0 of Linux's
// buddy allocator) and a 2 MiB block (order 9). Takes no simulated time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "models/memory/frame_store.hpp"
#include "models/sim/payload.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

using memory::Address;

inline constexpr std::uint64_t kPage = sim::kPageBytes;
inline constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
inline constexpr unsigned kPagesPerHuge = kHugePage / kPage;

// The 2 MiB boundary at an address or before it, and the one at it or behind it.
constexpr std::uint64_t huge_page_begin(std::uint64_t address) { return address / kHugePage * kHugePage; }
constexpr std::uint64_t huge_page_end(std::uint64_t address) { return huge_page_begin(address + kHugePage - 1); }

// Whether what lies in a frame can be moved: pages of programs can (Linux's __GFP_MOVABLE), until they are pinned for
// long; page tables and drivers' memory cannot.
enum class FrameUse : std::uint8_t { movable, fixed };

// Always hands out the lowest address that fits, pages from blocks already broken first, so that a run is reproducible
// and 2 MiB blocks last. What can be moved and what cannot lies in blocks of its own as long as there are any (Linux's
// migrate types of page blocks): one page table would keep a whole block from becoming free. Set-up is O(1): a block
// costs host memory once it is used.
class FrameRange {
 public:
  // The frames in [base, base + bytes); both multiples of 4 KiB. Only 2 MiB-aligned blocks that lie
  // wholly inside can be allocated as huge ones.
  FrameRange(Address base, std::uint64_t bytes);

  // Empty when memory has run out (for a block: when no whole block is left).
  std::optional<Address> allocate_page(FrameUse use = FrameUse::movable);
  std::optional<Address> allocate_huge();

  // 512 freed pages of a block merge, however the block was allocated: a huge page that was split is
  // freed page by page. Freeing what is not allocated is a bug of ours and throws std::logic_error.
  void free_page(Address frame);
  void free_huge(Address block);
  // This frame and no other; false when it is allocated already.
  bool take(Address frame);

  std::uint64_t total_pages() const { return total_pages_; }
  std::uint64_t used_pages() const { return used_pages_; }
  std::uint64_t free_pages() const { return total_pages_ - used_pages_; }
  bool owns(Address frame) const { return frame >= base_ && frame < end_; }
  bool is_allocated(Address frame) const;
  // Throws std::logic_error when free and allocated frames are not as many as it counts: a bug of ours.
  void audit() const;
  Address begin() const { return base_; }
  Address end() const { return end_; }
  bool has_whole_block() const { return !whole_blocks_.empty() || next_untouched_ < end_of_blocks_; }
  // Of the block around the address: 512 if nothing of it is allocated.
  unsigned free_in_block(Address address) const;
  // What the block around the address was broken for.
  FrameUse use_of_block(Address address) const;

 private:
  // A block of which at least one page is used, or which the ends of the range cut.
  struct Block {
    std::array<std::uint64_t, kPagesPerHuge / 64> taken{};  // bit set: allocated, or outside the range
    unsigned free = kPagesPerHuge;
    FrameUse use = FrameUse::movable;
  };
  void open_cut(std::uint64_t index);
  std::optional<std::uint64_t> take_whole_block();
  void break_block(std::uint64_t index);
  sim::Set<std::uint64_t>& broken(FrameUse use) { return broken_blocks_[static_cast<std::size_t>(use)]; }

  Address base_;
  Address end_;
  std::uint64_t total_pages_;
  std::uint64_t next_untouched_;  // blocks from here on have never been used
  std::uint64_t end_of_blocks_;   // the first that does not lie wholly inside
  std::uint64_t used_pages_ = 0;
  sim::Set<std::uint64_t> whole_blocks_;                  // below next_untouched_, free and merged again
  std::array<sim::Set<std::uint64_t>, 2> broken_blocks_;  // with at least one free page, by use
  sim::HashMap<std::uint64_t, Block> blocks_;
};

}  // namespace faultline::os
