// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/frame_allocator.hpp"

#include <algorithm>

namespace faultline::os {
namespace {

Address begin_of_cma(Address base, std::uint64_t bytes, std::uint64_t cma_bytes) {
  const Address end = base + bytes;
  if (cma_bytes == 0) return end;
  return std::max(base, huge_page_begin(end - std::min(cma_bytes, bytes)));
}

}  // namespace

FrameAllocator::FrameAllocator(Address base, std::uint64_t bytes, std::uint64_t cma_bytes, bool cma_first)
    : cma_first_(cma_first),
      rest_(base, begin_of_cma(base, bytes, cma_bytes) - base),
      cma_(rest_.end(), base + bytes - rest_.end()) {}

template <typename Allocate>
std::optional<Address> FrameAllocator::allocate(FrameUse use, Allocate from) {
  if (use == FrameUse::fixed) return from(rest_);
  const bool cma_first = cma_first_ && cma_.free_pages() > free_pages() / 2;
  const auto frame = from(cma_first ? cma_ : rest_);
  return frame ? frame : from(cma_first ? rest_ : cma_);
}

std::optional<Address> FrameAllocator::allocate_page(FrameUse use) {
  return allocate(use, [use](FrameRange& range) { return range.allocate_page(use); });
}

std::optional<Address> FrameAllocator::allocate_huge(FrameUse use) {
  return allocate(use, [](FrameRange& range) { return range.allocate_huge(); });
}

}  // namespace faultline::os
