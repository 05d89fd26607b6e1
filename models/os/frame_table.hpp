// SPDX-License-Identifier: Apache-2.0
// Who holds a frame: Linux's struct page, reduced to the two counts that decide when it may be freed
// and whether it may be moved.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "models/os/frame_allocator.hpp"

namespace faultline::os {

struct FrameRecord {
  std::uint32_t mappings = 0;  // process page tables that map it (one until fork shares frames)
  std::uint32_t pins = 0;      // long-term pins: a frame with any must neither move nor be reused
  bool held() const { return mappings != 0 || pins != 0; }
};

// A record per frame, made 2 MiB at a time on first use.
class FrameTable {
 public:
  FrameRecord& at(Address frame) {
    auto& block = blocks_[frame / kHugePage];
    if (!block) block = std::make_unique<Block>();
    return (*block)[frame % kHugePage / kPage];
  }
  FrameRecord find(Address frame) const {
    const auto block = blocks_.find(frame / kHugePage);
    return block == blocks_.end() ? FrameRecord{} : (*block->second)[frame % kHugePage / kPage];
  }

 private:
  using Block = std::array<FrameRecord, kPagesPerHuge>;
  std::unordered_map<std::uint64_t, std::unique_ptr<Block>> blocks_;
};

}  // namespace faultline::os
