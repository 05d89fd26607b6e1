// SPDX-License-Identifier: Apache-2.0
// The physical frames of a node that the kernel may hand out, and among them those of the CMA area: kept together so
// that drivers can have contiguous memory, and lent to programs meanwhile, whose pages can be moved away.
#pragma once

#include <cstdint>
#include <optional>

#include "models/os/vm/frame_range.hpp"

namespace faultline::os {

class FrameAllocator {
 public:
  // The frames in [base, base + bytes); both multiples of 4 KiB. The last `cma_bytes` are the CMA area, which begins
  // where a block of 2 MiB does.
  // `cma_first`: the area serves when more than half of the free memory lies there.
  FrameAllocator(Address base, std::uint64_t bytes, std::uint64_t cma_bytes = 0, bool cma_first = true);

  // Empty when memory has run out (for a block: when no whole block is left). The CMA area serves movable pages only,
  // and those `cma_first` or when nothing else is left (Linux's __rmqueue).
  std::optional<Address> allocate_page(FrameUse use = FrameUse::movable);
  std::optional<Address> allocate_huge(FrameUse use = FrameUse::movable);
  // From the area whatever is free elsewhere; for set-up.
  std::optional<Address> allocate_from_cma() { return cma_.allocate_page(); }
  // This frame and no other; false when it is allocated already.
  bool take(Address frame) { return of(frame).take(frame); }
  void free_page(Address frame) { of(frame).free_page(frame); }
  void free_huge(Address block) { of(block).free_huge(block); }

  std::uint64_t total_pages() const { return rest_.total_pages() + cma_.total_pages(); }
  std::uint64_t used_pages() const { return rest_.used_pages() + cma_.used_pages(); }
  std::uint64_t free_pages() const { return rest_.free_pages() + cma_.free_pages(); }
  bool owns(Address frame) const { return rest_.owns(frame) || cma_.owns(frame); }
  bool is_allocated(Address frame) const { return of(frame).is_allocated(frame); }
  bool has_whole_block() const { return rest_.has_whole_block() || cma_.has_whole_block(); }
  // Of the block around the address that the allocator owns; 512 if nothing of it is allocated.
  unsigned free_in_block(Address address) const { return of(address).free_in_block(address); }
  FrameUse use_of_block(Address address) const { return of(address).use_of_block(address); }
  Address begin() const { return rest_.begin(); }
  Address end() const { return cma_.end(); }
  const FrameRange& cma() const { return cma_; }
  // Throws std::logic_error when free and allocated frames are not as many as it counts: a bug of ours.
  void audit() const {
    rest_.audit();
    cma_.audit();
  }

 private:
  FrameRange& of(Address frame) { return cma_.owns(frame) ? cma_ : rest_; }
  const FrameRange& of(Address frame) const { return cma_.owns(frame) ? cma_ : rest_; }
  template <typename Allocate>
  std::optional<Address> allocate(FrameUse use, Allocate from);

  bool cma_first_;
  FrameRange rest_;
  FrameRange cma_;
};

}  // namespace faultline::os
