// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/frame_range.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace faultline::os {

FrameRange::FrameRange(Address base, std::uint64_t bytes)
    : base_(base),
      end_(base + bytes),
      total_pages_(bytes / kPage),
      next_untouched_(huge_page_end(base) / kHugePage),
      end_of_blocks_(end_ / kHugePage) {
  if (base % kPage != 0 || bytes % kPage != 0) throw std::logic_error("memory is a whole number of frames");
  // What the ends cut can serve pages only.
  if (base_ % kHugePage != 0) open_cut(base_ / kHugePage);
  if (end_ % kHugePage != 0) open_cut(end_ / kHugePage);
}

void FrameRange::open_cut(std::uint64_t index) {
  const auto [entry, is_new] = blocks_.try_emplace(index);
  if (!is_new) return;  // both ends in one block
  Block& block = entry->second;
  for (unsigned i = 0; i < kPagesPerHuge; ++i) {
    if (owns(index * kHugePage + i * kPage)) continue;
    block.taken[i / 64] |= std::uint64_t{1} << i % 64;
    --block.free;
  }
  block.use = FrameUse::fixed;  // which can never be whole
  if (block.free > 0) broken(block.use).insert(index);
}

std::optional<Address> FrameRange::allocate_page(FrameUse use) {
  if (broken(use).empty()) {
    if (const auto whole = take_whole_block()) {
      blocks_[*whole].use = use;
      broken(use).insert(*whole);
    } else {
      use = use == FrameUse::movable ? FrameUse::fixed : FrameUse::movable;  // rather than not at all
      if (broken(use).empty()) return {};
    }
  }
  const std::uint64_t index = *broken(use).begin();
  Block& block = blocks_.at(index);
  const auto word = std::find_if(block.taken.begin(), block.taken.end(), [](std::uint64_t w) { return ~w != 0; });
  const auto bit = static_cast<unsigned>(std::countr_one(*word));
  *word |= std::uint64_t{1} << bit;
  if (--block.free == 0) broken(block.use).erase(index);
  ++used_pages_;
  const auto page = static_cast<std::uint64_t>(word - block.taken.begin()) * 64 + bit;
  return index * kHugePage + page * kPage;
}

std::optional<Address> FrameRange::allocate_huge() {
  const auto index = take_whole_block();
  if (!index) return {};
  Block& block = blocks_[*index];  // movable: what a huge page is split into is
  block.taken.fill(~std::uint64_t{0});
  block.free = 0;
  used_pages_ += kPagesPerHuge;
  return *index * kHugePage;
}

void FrameRange::free_page(Address frame) {
  if (frame % kPage != 0 || !is_allocated(frame)) throw std::logic_error("free of a frame that is not allocated");
  const std::uint64_t index = frame / kHugePage;
  Block& block = blocks_.at(index);
  const std::uint64_t page = frame % kHugePage / kPage;
  block.taken[page / 64] &= ~(std::uint64_t{1} << page % 64);
  --used_pages_;
  if (++block.free == kPagesPerHuge) {
    broken(block.use).erase(index);
    blocks_.erase(index);
    whole_blocks_.insert(index);
  } else {
    broken(block.use).insert(index);
  }
}

void FrameRange::free_huge(Address block) {
  if (block % kHugePage != 0) throw std::logic_error("free of a huge page that is not aligned");
  for (unsigned i = 0; i < kPagesPerHuge; ++i) free_page(block + i * kPage);
}

bool FrameRange::is_allocated(Address frame) const {
  if (!owns(frame)) return false;
  const auto block = blocks_.find(frame / kHugePage);
  if (block == blocks_.end()) return false;
  const std::uint64_t page = frame % kHugePage / kPage;
  return (block->second.taken[page / 64] >> page % 64 & 1) != 0;
}

bool FrameRange::take(Address frame) {
  if (!owns(frame) || is_allocated(frame)) return false;
  const std::uint64_t index = frame / kHugePage;
  if (!blocks_.contains(index)) break_block(index);
  Block& block = blocks_.at(index);
  const std::uint64_t page = frame % kHugePage / kPage;
  block.taken[page / 64] |= std::uint64_t{1} << page % 64;
  if (--block.free == 0) broken(block.use).erase(index);
  ++used_pages_;
  return true;
}

// One of which nothing is allocated.
void FrameRange::break_block(std::uint64_t index) {
  while (next_untouched_ <= index) whole_blocks_.insert(next_untouched_++);
  whole_blocks_.erase(index);
  broken(blocks_[index].use).insert(index);
}

FrameUse FrameRange::use_of_block(Address address) const {
  const auto block = blocks_.find(address / kHugePage);
  return block == blocks_.end() ? FrameUse::movable : block->second.use;
}

unsigned FrameRange::free_in_block(Address address) const {
  const auto block = blocks_.find(address / kHugePage);
  return block == blocks_.end() ? kPagesPerHuge : block->second.free;
}

std::optional<std::uint64_t> FrameRange::take_whole_block() {
  if (!whole_blocks_.empty()) return whole_blocks_.extract(whole_blocks_.begin()).value();
  if (next_untouched_ >= end_of_blocks_) return {};
  return next_untouched_++;
}

void FrameRange::audit() const {
  std::uint64_t free = whole_blocks_.size() * kPagesPerHuge;
  if (next_untouched_ < end_of_blocks_) free += (end_of_blocks_ - next_untouched_) * kPagesPerHuge;
  for (const auto& [index, block] : blocks_) {
    unsigned taken = 0;
    for (const std::uint64_t word : block.taken) taken += static_cast<unsigned>(std::popcount(word));
    const bool listed = broken_blocks_[static_cast<std::size_t>(block.use)].contains(index);
    if (taken + block.free != kPagesPerHuge || listed != (block.free > 0)) {
      throw std::logic_error("a block of frames counts its free ones wrong");
    }
    free += block.free;
  }
  if (free != free_pages()) throw std::logic_error("free and allocated frames are not all frames");
}

}  // namespace faultline::os
