// SPDX-License-Identifier: Apache-2.0
// Processes whose memory is counted, bounded and aged together (Linux's memory cgroup). Every page is charged to the
// group of the process that brought it, until it is free; each group has lists of its own.
#pragma once

#include <cstdint>

#include "models/os/lru.hpp"
#include "models/os/os_config.hpp"

namespace faultline::os {

struct MemoryGroup {
  MemoryGroup(FrameTable& frames, GroupId number, std::uint64_t most) : lru(frames), id(number), max_pages(most) {}

  bool has_room(std::uint64_t pages) const { return charged + pages <= max_pages; }

  Lru lru;
  const GroupId id;         // 0: the root, which has everybody who is in no other
  std::uint64_t max_pages;  // memory.max
  std::uint64_t charged = 0;
  std::uint64_t freed = 0;  // pages that reclaim has taken, ever
  // What looking at pages of a kind in vain has cost lately, in pages (lru_note_cost).
  std::uint64_t anon_cost = 0;
  std::uint64_t file_cost = 0;
};

}  // namespace faultline::os
