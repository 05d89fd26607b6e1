// SPDX-License-Identifier: Apache-2.0
// Named as in /proc/vmstat and /proc/meminfo where Linux has the same.
#pragma once

#include "models/os/vm.hpp"

namespace faultline::os {

struct Vm::Counters {
  explicit Counters(sim::Statistics& s)
      : pgfault(s.counter("os.pgfault", "count", "page faults handled, by an access or in a system call")),
        thp_fault_alloc(s.counter("os.thp_fault_alloc", "count", "faults that got a 2 MiB page")),
        thp_fault_fallback(s.counter("os.thp_fault_fallback", "count", "2 MiB page wanted, none free: 4 KiB taken")),
        zeroed_bytes(s.counter("os.zeroed_bytes", "B", "memory cleared for new pages")),
        pins_acquired(s.counter("os.nr_foll_pin_acquired", "count", "pages pinned")),
        pins_released(s.counter("os.nr_foll_pin_released", "count", "pages unpinned")),
        pinned_bytes_peak(s.counter("os.pinned_bytes_peak", "B", "most memory under pins at one time")),
        locked_bytes_peak(s.counter("os.locked_bytes_peak", "B", "most memory in locked VMAs at one time")),
        tlb_invalidations(s.counter("os.tlb_invalidations", "count", "page-table changes that had to reach TLBs")),
        out_of_memory(s.counter("os.out_of_memory", "count", "operations refused because no frame was free")),
        limit_refusals(s.counter("os.limit_refusals", "count", "operations refused by RLIMIT_MEMLOCK")) {}

  sim::Counter& pgfault;
  sim::Counter& thp_fault_alloc;
  sim::Counter& thp_fault_fallback;
  sim::Counter& zeroed_bytes;
  sim::Counter& pins_acquired;
  sim::Counter& pins_released;
  sim::Counter& pinned_bytes_peak;
  sim::Counter& locked_bytes_peak;
  sim::Counter& tlb_invalidations;
  sim::Counter& out_of_memory;
  sim::Counter& limit_refusals;
};

}  // namespace faultline::os
