// SPDX-License-Identifier: Apache-2.0
// Who took a page, or a right to it, away from a process's table. Noted at the place of the change, so that a fault can
// say why it came.
#pragma once

#include <cstdint>
#include <string_view>

namespace faultline::os {

enum class Taker : std::uint8_t {
  nobody,          // the page or the right has never been there
  advice,          // the program: MADV_DONTNEED
  unmapping,       // the program: munmap, mremap, exit
  truncation,      // a hole in the file below, or its end
  mprotect,        // the program
  madv_free,       // MADV_FREE
  fork,            // shared with a child
  copy,            // a write fault that copies the page, or gives it a page of its own
  ksm,             // same-page merging
  userfaultfd,     // a monitor in user space
  writeback,       // so that the next store is seen (folio_mkclean)
  numa,            // a NUMA hint
  collapse,        // khugepaged, MADV_COLLAPSE
  split,           // of a huge page
  migration,       // compaction, CMA, move_pages
  reclaim,         // page replacement, MADV_PAGEOUT
  clear_refs,      // /proc/PID/clear_refs
  idle_tracking,   // idle-page tracking, DAMON
  memory_failure,  // hwpoison
};

// As it stands in traces.
std::string_view to_string(Taker taker);

struct Taking {
  Taker by = Taker::nobody;
  bool injected = false;  // by an experiment (inject.*), at a time of its own
  bool operator==(const Taking&) const = default;
};

}  // namespace faultline::os
