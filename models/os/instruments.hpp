// SPDX-License-Identifier: Apache-2.0
// Counters of the memory manager that are results.
#pragma once

#include "models/sim/statistics.hpp"

namespace faultline::os {

inline constexpr sim::CounterMetric kMetrics[] = {
    {"os.pgfault", "minor_faults", "1", 1, "page faults that the kernels resolved, whoever met them (Linux: pgfault)"},
    {"os.pgmajfault", "major_faults", "1", 1, "of minor_faults, those that read from the disk (Linux: pgmajfault)"},
    {"os.pswpin", "swapped_in", "1", 1, "pages read from the swap device (Linux: pswpin)"},
    {"os.pswpout", "swapped_out", "1", 1, "pages written to the swap device (Linux: pswpout)"},
    {"os.pgpgin", "file_read", "KiB", 1, "read from files on the disk (Linux: pgpgin)"},
    {"os.pgpgout", "file_written", "KiB", 1, "written to files on the disk (Linux: pgpgout)"},
    {"os.allocstall", "direct_reclaims", "1", 1,
     "times that a program had to reclaim memory itself (Linux: allocstall)"},
    {"os.thp_fault_alloc", "thp_faults", "1", 1,
     "of the minor faults, resolved by a 2 MiB page (Linux: thp_fault_alloc)"},
    {"os.thp_collapse_alloc", "thp_collapse_alloc", "1", 1,
     "2 MiB pages taken to collapse small pages into, also in vain (Linux: thp_collapse_alloc)"},
    {"os.khugepaged_pages_collapsed", "collapses", "1", 1,
     "2 MiB ranges collapsed (Linux: khugepaged/pages_collapsed)"},
    {"os.pgmigrate_success", "pages_migrated", "1", 1, "pages that moved to another frame (Linux: pgmigrate_success)"},
};

}  // namespace faultline::os
