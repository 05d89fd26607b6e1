// SPDX-License-Identifier: Apache-2.0
// Processes whose memory is counted, bounded and aged together (Linux's memory cgroup). Every page is charged to the
// group of the process that brought it, until it is free; each group has lists of its own.
#pragma once

#include <cstdint>

#include "models/os/os_config.hpp"
#include "models/os/vm/lru.hpp"
#include "models/os/vm/scan_balance.hpp"

namespace faultline::os {

struct MemoryGroup {
  MemoryGroup(FrameTable& frames, GroupId number, std::uint64_t most, const cpu::Kernel& kernel)
      : lru(frames), id(number), max_pages(most), balance(kernel) {}

  bool has_room(std::uint64_t pages) const { return charged + pages <= max_pages; }

  Lru lru;
  const GroupId id;         // 0: the root, which has everybody who is in no other
  std::uint64_t max_pages;  // memory.max
  std::uint64_t charged = 0;
  std::uint64_t freed = 0;  // pages that reclaim has taken, ever
  ScanBalance balance;
};

}  // namespace faultline::os
