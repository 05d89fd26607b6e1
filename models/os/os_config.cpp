// SPDX-License-Identifier: Apache-2.0
#include "models/os/os_config.hpp"

#include "models/os/vm/page_table.hpp"

namespace faultline::os {
namespace {

using sim::ParameterTable;
using sim::Standing;
using sim::Time;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint64_t kLargestMemory = 1024 * kGiB;

void declare_faults(OsConfig& c, ParameterTable& table) {
  table.add_time("syscall", c.syscall, sim::kAnyTime,
                 {"entering and leaving the kernel by a system call",
                  "TI lmbench on five boards with Cortex-A53: 0.44 to 0.52 us; rounded",
                  Standing::derived,
                  {"370 ns", "600 ns"}});
  table.add_time("resident_touch", c.resident_touch, sim::kAnyTime,
                 {"user access to a present page: one load from DDR",
                  "assumed: 110 to 200 ns on Zynq UltraScale+",
                  Standing::assumed,
                  {"0 ps", "200 ns"}});
  table.add_time(
      "anon_minor_fault", c.anon_minor_fault, sim::kAnyTime,
      {"demand-zero fault of a 4 KiB page: trap, VMA walk, allocation, mapping; without the zeroing",
       "assumed, above TI AM62Px lmbench lat_pagefault (0.47 to 1.7 us: a file's pages, where nothing is allocated)",
       Standing::assumed,
       {"1 us", "3.5 us"}});
  table.add_time("fault_no_alloc", c.fault_no_alloc, sim::kAnyTime,
                 {"fault that allocates nothing, because the page is there by now or no VMA is: trap and VMA walk",
                  "TI AM62x lmbench lat_pagefault, 0.47 to 1.7 us",
                  Standing::derived,
                  {"470 ns", "1.7 us"}});
  table.add_byte_rate("zero_bandwidth", c.zero_bandwidth, sim::kAnyByteRate,
                      {"rate at which a core clears new pages while DDR is free",
                       "below TI AM62Px lmbench bzero, 7.9 GB/s alone: less beside other traffic",
                       Standing::fitted,
                       {"1.7 GB/s", "8.2 GB/s"}});
  table.add_time("cow_fault", c.cow_fault, sim::kAnyTime,
                 {"write fault on a page that somebody else maps, too; without the copying",
                  "assumed, as anon_minor_fault",
                  Standing::assumed,
                  {"1 us", "3 us"}});
  table.add_time(
      "hugetlb_fault", c.hugetlb_fault, sim::kAnyTime,
      {"fault that takes a 2 MiB page from the pool of huge pages, on top of fault_no_alloc: reservation, pool, "
       "reverse mapping; without the clearing or copying",
       "assumed: with fault_no_alloc as much as thp_alloc",
       Standing::assumed,
       {"1 us", "50 us"}});
  table.add_byte_rate("copy_bandwidth", c.copy_bandwidth, sim::kAnyByteRate,
                      {"rate at which a core copies pages, a byte counted once, while DDR is free",
                       "TI AM62Px lmbench bcopy: 1.88 GB/s; other boards with Cortex-A53 0.68 to 1.96",
                       Standing::fitted,
                       {"700 MB/s", "2 GB/s"}});
  table.add_time("userfault_monitor", c.userfault_monitor, sim::kAnyTime,
                 {"from a fault that userfaultfd hands to a monitor until that has answered by a system call",
                  "assumed: a wake-up each way (an AF_UNIX round trip, 27.3 us with TI AM62Px lmbench), and the "
                  "monitor's read and ioctl",
                  Standing::assumed,
                  {"20 us", "100 us"}});
  table.add_time("thp_split", c.thp_split, sim::kAnyTime,
                 {"splitting a 2 MiB descriptor into 4 KiB ones, TLB invalidation excluded",
                  "assumed: 10 ns for each",
                  Standing::assumed,
                  {"1 us", "50 us"}});
  table.add_time("thp_alloc", c.thp_alloc, sim::kAnyTime,
                 {"demand-zero fault of a 2 MiB page, in place of anon_minor_fault; without the zeroing",
                  "assumed; 198 us were measured on x86 when memory had to be reclaimed first",
                  Standing::assumed,
                  {"2 us", "200 us"}});
}

void declare_pins(OsConfig& c, ParameterTable& table) {
  table.add_time("gup_per_page", c.gup_per_page, sim::kAnyTimePerPage,
                 {"get_user_pages, pin or populate: each page on top of its fault, if it had one",
                  "Linux gup_test on a server (62 ns), scaled to a Cortex-A53",
                  Standing::derived,
                  {"150 ns", "450 ns"}});
  table.add_time("gup_per_huge_page", c.gup_per_huge_page, sim::kAnyTimePerPage,
                 {"the most that get_user_pages spends on the pages of one 2 MiB page",
                  "Linux gup_test on a server (1.2 to 3.5 us), scaled to a Cortex-A53",
                  Standing::derived,
                  {"3 us", "18 us"}});
  table.add_time("pin_fixed", c.pin_fixed, sim::kAnyTime,
                 {"fixed part of pinning a buffer, system call included",
                  "assumed: an ioctl, accounting, an array for the pages",
                  Standing::assumed,
                  {"2 us", "10 us"}});
  table.add_time("unpin_per_page", c.unpin_per_page, sim::kAnyTimePerPage,
                 {"releasing one pinned page (the call itself costs os.syscall)",
                  "Linux gup_test on a server (15 ns), scaled to a Cortex-A53; an estimate for ExaNeSt says 200 ns",
                  Standing::derived,
                  {"40 ns", "400 ns"}});
  table.add_time("unpin_per_huge_page", c.unpin_per_huge_page, sim::kAnyTimePerPage,
                 {"the most that unpinning spends on the pages of one 2 MiB page",
                  "Linux gup_test on a server (2.7 us), scaled to a Cortex-A53",
                  Standing::derived,
                  {"2 us", "40 us"}});
  table.add_time("mlock_fixed", c.mlock_fixed, sim::kAnyTime,
                 {"fixed part of mlock and munlock, system call included",
                  "assumed: VMAs are split and merged",
                  Standing::assumed,
                  {"2 us", "10 us"}});
  table.add_time("mlock_per_page", c.mlock_per_page, sim::kAnyTimePerPage,
                 {"mlock: each page (4 KiB or 2 MiB) on top of its fault, if it had one",
                  "assumed",
                  Standing::assumed,
                  {"150 ns", "800 ns"}});
  table.add_time("munlock_per_page", c.munlock_per_page, sim::kAnyTimePerPage,
                 {"munlock: each present page (4 KiB or 2 MiB)", "assumed", Standing::assumed, {"100 ns", "600 ns"}});
  table.add_time("private_map_per_page", c.private_map_per_page, sim::kAnyTimePerPage,
                 {"writing or clearing one descriptor of a private device table",
                  "assumed: the walker does not see the CPU's cache, so that each is cleaned to memory and waited for",
                  Standing::assumed,
                  {"100 ns", "700 ns"}});
}

void declare_mappings(OsConfig& c, ParameterTable& table) {
  table.add_time("mmap_fixed", c.mmap_fixed, sim::kAnyTime,
                 {"one mmap call, system call included, pages excluded",
                  "assumed; TI lmbench lat_mmap, 52 us with an munmap and seven faults, suggests more",
                  Standing::assumed,
                  {"1.5 us", "10 us"}});
  table.add_time("munmap_fixed", c.munmap_fixed, sim::kAnyTime,
                 {"one munmap call, system call included, TLB invalidation excluded",
                  "assumed, as mmap_fixed",
                  Standing::assumed,
                  {"1.5 us", "10 us"}});
  table.add_time("mprotect_fixed", c.mprotect_fixed, sim::kAnyTime,
                 {"one mprotect call, system call included, TLB invalidation excluded",
                  "assumed, from Linux arm64 mprotect timing on a server (2.85 us without the flush), which a "
                  "Cortex-A53 takes 2 to 4 times as long for",
                  Standing::assumed,
                  {"5 us", "13 us"}});
  table.add_time("mprotect_per_page", c.mprotect_per_page, sim::kAnyTimePerPage,
                 {"mprotect: each page (4 KiB or 2 MiB) whose descriptor may change",
                  "assumed; 60 ns on a server",
                  Standing::assumed,
                  {"20 ns", "300 ns"}});
  table.add_time("mremap_fixed", c.mremap_fixed, sim::kAnyTime,
                 {"one mremap call, system call included, TLB invalidation excluded",
                  "assumed, as munmap_fixed",
                  Standing::assumed,
                  {"1.5 us", "10 us"}});
  table.add_time(
      "mremap_per_page", c.mremap_per_page, sim::kAnyTimePerPage,
      {"mremap: moving one descriptor (of 4 KiB or 2 MiB)", "assumed", Standing::assumed, {"50 ns", "500 ns"}});
}

void declare_processes(OsConfig& c, ParameterTable& table) {
  table.add_time(
      "fork_fixed", c.fork_fixed, sim::kAnyTime,
      {"one fork of a small process, its pages excluded",
       "with exit_fixed fitted to TI AM62Px lmbench lat_proc fork, 612 us at 1.4 GHz with exit, wait and the "
       "faults of both in it; the split is ours; other boards with Cortex-A53 607 to 1105 us",
       Standing::fitted,
       {"200 us", "700 us"}});
  table.add_time(
      "fork_per_page", c.fork_per_page, sim::kAnyTimePerPage,
      {"fork: each page (4 KiB or 2 MiB) that the child gets", "assumed", Standing::assumed, {"30 ns", "300 ns"}});
  table.add_time("exit_fixed", c.exit_fixed, sim::kAnyTime,
                 {"end of a process, its pages excluded", "as fork_fixed", Standing::fitted, {"100 us", "350 us"}});
  table.add_time("exec_fixed", c.exec_fixed, sim::kAnyTime,
                 {"one execve, the pages of the old program and of the new one excluded",
                  "fitted to TI AM62Px lmbench lat_proc at 1.4 GHz: exec takes 86 us more than fork",
                  Standing::fitted,
                  {"20 us", "800 us"}});
}

void declare_flushes(OsConfig& c, ParameterTable& table) {
  table.add_choice(
      "tlb_shootdown", c.tlb_shootdown,
      {{"broadcast", TlbShootdown::broadcast}, {"interrupt", TlbShootdown::interrupt}},
      {"how other cores forget a translation: by instructions that all of them obey, or by an interrupt of each core "
       "that may hold it, as Linux does on x86",
       "Armv8-A: TLBI to the inner shareable domain; Linux arch/x86/mm/tlb.c", Standing::published});
  table.add_time("cpu_tlbi", c.cpu_tlbi, sim::kAnyTimePerPage,
                 {"one TLB invalidation, of a page or of a whole address space; of a broadcast one the issuing alone: "
                  "os.cpu_dsb is the wait",
                  "assumed: an instruction that leaves the core",
                  Standing::assumed,
                  {"15 ns", "100 ns"}});
  table.add_time("cpu_dsb", c.cpu_dsb, sim::kAnyTime,
                 {"waiting until the broadcast TLB invalidations before are done (DSB ISH)",
                  "assumed, from Linux arm64 mprotect timing with and without the flush: 0.35 us on a server",
                  Standing::assumed,
                  {"200 ns", "800 ns"}});
  table.add_count(
      "tlbi_page_limit", c.tlbi_page_limit, {0u, 1U << 28},
      {"from this many invalidations for one flush on CPUs and SMMU invalidate the whole address space at "
       "once; 0: as os.kernel does, 1025 up to 4.19, 512 since; with os.tlb_shootdown = interrupt 34",
       "Linux arm64, MAX_TLB_RANGE and MAX_TLBI_OPS; x86, tlb_single_page_flush_ceiling; the SMMU's driver is "
       "assumed to do the same",
       Standing::derived});
}

void declare_khugepaged(OsConfig& c, ParameterTable& table) {
  table.add_flag(
      "khugepaged", c.khugepaged,
      {"khugepaged runs, where os.thp is not never", "Linux: runs as soon as THP is enabled", Standing::published});
  table.add_flag("khugepaged_defrag", c.khugepaged_defrag,
                 {"khugepaged compacts memory, and reclaims for it, when no 2 MiB page is free "
                  "(transparent_hugepage/khugepaged/defrag)",
                  "Linux's default, Documentation/admin-guide/mm/transhuge.rst", Standing::published});
  table.add_time("khugepaged_scan_sleep", c.khugepaged_scan_sleep, {1us, 10000s},
                 {"pause between two rounds (scan_sleep_millisecs)", "Linux mm/khugepaged.c", Standing::published});
  table.add_time(
      "khugepaged_alloc_sleep", c.khugepaged_alloc_sleep, {1us, 10000s},
      {"pause after no 2 MiB page was free (alloc_sleep_millisecs)", "Linux mm/khugepaged.c", Standing::published});
  table.add_count(
      "khugepaged_pages_to_scan", c.khugepaged_pages_to_scan, {std::uint64_t{1}, std::uint64_t{1} << 28},
      {"4 KiB pages that one round looks at (pages_to_scan)", "Linux mm/khugepaged.c", Standing::published});
  // A table has 512 entries, of which one at least must be there.
  table.add_count("khugepaged_max_ptes_none", c.khugepaged_max_ptes_none, {0u, 511u},
                  {"absent pages that a 2 MiB range may have to be collapsed (max_ptes_none)", "Linux mm/khugepaged.c",
                   Standing::published});
  table.add_count("khugepaged_max_ptes_swap", c.khugepaged_max_ptes_swap, {0u, 511u},
                  {"pages of it that may be on the swap device, and are read back first (max_ptes_swap)",
                   "Linux mm/khugepaged.c", Standing::published});
  table.add_count("khugepaged_max_ptes_shared", c.khugepaged_max_ptes_shared, {0u, 511u},
                  {"pages of it that other processes may map, too (max_ptes_shared)", "Linux mm/khugepaged.c",
                   Standing::published});
  table.add_count("khugepaged_time_scale", c.khugepaged_time_scale, {1u, 1'000'000u},
                  {"khugepaged's pauses are this many times shorter than said, because a run is much shorter than they "
                   "are; what it does takes its full time",
                   "", Standing::setting});
  table.add_time(
      "khugepaged_scan_per_page", c.khugepaged_scan_per_page, sim::kAnyTimePerPage,
      {"khugepaged: looking at one page, before any is touched", "assumed", Standing::assumed, {"10 ns", "300 ns"}});
  table.add_time("khugepaged_isolate_per_page", c.khugepaged_isolate_per_page, sim::kAnyTimePerPage,
                 {"khugepaged: locking, testing and isolating one page while the range is not mapped",
                  "assumed",
                  Standing::assumed,
                  {"100 ns", "1 us"}});
  table.add_time("khugepaged_free_per_page", c.khugepaged_free_per_page, sim::kAnyTimePerPage,
                 {"khugepaged: freeing one old page while the range is not mapped",
                  "assumed",
                  Standing::assumed,
                  {"100 ns", "1 us"}});
}

void declare_migration(OsConfig& c, ParameterTable& table) {
  table.add_time(
      "migrate_page", c.migrate_page, sim::kAnyTime,
      {"migrating one page: isolation, migration entry, remapping; half of it while the page is away; without "
       "copying and TLB invalidation",
       "assumed: two walks of the reverse mapping",
       Standing::assumed,
       {"3 us", "12 us"}});
  table.add_time(
      "drain_core", c.drain_core, sim::kAnyTime,
      {"a core's share of a drain of all cores (lru_add_drain_all): its kworker gives back the batches of pages; "
       "to wake it and to wait for it come on top",
       "assumed: some 15 to 60 pages",
       Standing::assumed,
       {"1 us", "10 us"}});
  table.add_count("migrate_passes", c.migrate_passes, {1u, 1000u},
                  {"passes after which a page that somebody holds is given up",
                   "Linux mm/migrate.c, NR_MAX_MIGRATE_PAGES_RETRY; since 6.3 three in its batch and seven by itself",
                   Standing::published});
  table.add_time("compact_scan_per_page", c.compact_scan_per_page, sim::kAnyTimePerPage,
                 {"compaction: looking at one page that might be moved",
                  "assumed: one struct page, mostly from DDR",
                  Standing::assumed,
                  {"10 ns", "300 ns"}});
  table.add_time("compact_free_scan_per_page", c.compact_free_scan_per_page, sim::kAnyTimePerPage,
                 {"compaction: looking at one page that might be free to move to",
                  "assumed, as compact_scan_per_page",
                  Standing::assumed,
                  {"10 ns", "300 ns"}});
  table.add_flag("compact_unevictable_allowed", c.compact_unevictable_allowed,
                 {"compaction moves mlocked pages, too (vm.compact_unevictable_allowed)",
                  "Linux's default; 0 with PREEMPT_RT", Standing::published});
}

void declare_reclaim(OsConfig& c, ParameterTable& table) {
  table.add_bytes("swap_bytes", c.swap_bytes, {0, kLargestMemory},
                  {"size of the swap device; 0: there is none, and reclaim can take the pages of files only", "",
                   Standing::setting});
  table.add_time("disk_read_latency", c.disk_read_latency, sim::kAnyTime,
                 {"the node's disk (swap device, files): its time for a read before the data move",
                  "assumed, NVMe with NAND; 10 us Optane, 100 to 200 us SATA SSD, 0.3 to 2 ms eMMC and SD cards",
                  Standing::assumed,
                  {"5 us", "2 ms"}});
  table.add_time("disk_write_latency", c.disk_write_latency, sim::kAnyTime,
                 {"the disk's time for a write before the data move",
                  "assumed, NVMe with a write buffer",
                  Standing::assumed,
                  {"5 us", "2 ms"}});
  table.add_byte_rate("disk_bandwidth", c.disk_bandwidth, sim::kAnyByteRate,
                      {"rate of the disk's data, shared by all commands",
                       "assumed: NVMe over four lanes of PCIe 2; 0.5 GB/s SATA, 0.1 to 0.3 eMMC",
                       Standing::assumed,
                       {"20 MB/s", "8 GB/s"}});
  table.add_count(
      "disk_queue_depth", c.disk_queue_depth, sim::kAnyEntries,
      {"commands that the disk works on at once", "assumed; SATA and eMMC queues hold 32", Standing::assumed});
  table.add_time("disk_fault", c.disk_fault, sim::kAnyTime,
                 {"kernel's share of a fault or a read(2) that reads from the disk, block layer and interrupt included",
                  "assumed; 5 to 10 us on x86",
                  Standing::assumed,
                  {"5 us", "40 us"}});
  // Linux's readahead in a VMA goes no further (SWAP_RA_ORDER_CEILING).
  table.add_count("page_cluster", c.page_cluster, {0u, 5u},
                  {"two to this power is the most pages that one swap-in reads (vm.page-cluster)",
                   "Linux's default, Documentation/admin-guide/sysctl/vm.rst", Standing::published});
  table.add_time(
      "reclaim_scan_per_page", c.reclaim_scan_per_page, sim::kAnyTimePerPage,
      {"reclaim: taking one page from a list and looking at it", "assumed", Standing::assumed, {"50 ns", "1 us"}});
  table.add_time("reclaim_page", c.reclaim_page, sim::kAnyTime,
                 {"reclaim: unmapping one page and handing it to the block layer; TLB invalidation and device excluded",
                  "assumed: the reverse mapping, a slot, a bio",
                  Standing::assumed,
                  {"5 us", "18 us"}});
  // The range that Linux accepts.
  table.add_count("watermark_scale_factor", c.watermark_scale_factor, {1u, 1000u},
                  {"distance of the watermarks from each other, in 1/10000 of the memory (vm.watermark_scale_factor)",
                   "Linux's default, Documentation/admin-guide/sysctl/vm.rst", Standing::published});
  table.add_bytes(
      "min_free_bytes", c.min_free_bytes, {0, kLargestMemory},
      {"memory that only reclaim itself may use (vm.min_free_kbytes), where there is a swap device or a file; "
       "0: as much as Linux would choose, 4 times the root of the memory in KiB, and where os.thp is not never 22 MiB "
       "a zone if that is more (2 zones above 2 GiB; 5 % of the memory at most)",
       "Linux mm/page_alloc.c, init_per_zone_wmark_min; mm/khugepaged.c, set_recommended_min_free_kbytes",
       Standing::published});
}

void declare_files(OsConfig& c, ParameterTable& table) {
  constexpr const char* kVm = "Linux's default, Documentation/admin-guide/sysctl/vm.rst";
  table.add_count(
      "swappiness", c.swappiness, {0u, 200u},
      {"how much reclaim prefers anonymous pages to those of files, of 200 (vm.swappiness)", kVm, Standing::published});
  table.add_bytes("read_ahead_bytes", c.read_ahead_bytes, {0, kGiB},
                  {"most that the kernel reads ahead of a program in a file (read_ahead_kb)",
                   "Linux mm/readahead.c, VM_READAHEAD_PAGES", Standing::published});
  // One page at least, and no more than one page table maps.
  table.add_bytes("fault_around_bytes", c.fault_around_bytes, {kPage, kHugePage},
                  {"aligned part of a mapped file of which a read fault maps what is in memory (fault_around_bytes), "
                   "rounded down to a power of two; 4 KiB: the faulting page only",
                   "Linux mm/memory.c, 4.9 to 6.12: 64 KiB", Standing::published});
  table.add_time(
      "fault_around_page", c.fault_around_page, sim::kAnyTimePerPage,
      {"mapping one more page in such a fault",
       "fitted to TI AM62Px lmbench lat_pagefault: 0.44 us a page at 1.4 GHz, with its share of the fault, of "
       "the unmapping and of the load",
       Standing::fitted,
       {"50 ns", "1 us"}});
  table.add_count("dirty_background_ratio", c.dirty_background_ratio, {0u, 100u},
                  {"per cent of the memory that files may use, from which on dirty pages are written "
                   "(vm.dirty_background_ratio)",
                   kVm, Standing::published});
  table.add_count(
      "dirty_ratio", c.dirty_ratio, {1u, 100u},
      {"per cent of it from which on programs that write wait for that (vm.dirty_ratio)", kVm, Standing::published});
  table.add_time("dirty_writeback_interval", c.dirty_writeback_interval, {1us, 10000s},
                 {"time between two looks for pages that have been dirty for long (vm.dirty_writeback_centisecs)", kVm,
                  Standing::published});
  table.add_time("dirty_expire", c.dirty_expire, {0ns, 10000s},
                 {"age at which a dirty page is written whatever the ratios (vm.dirty_expire_centisecs)", kVm,
                  Standing::published});
  table.add_time("writeback_page", c.writeback_page, sim::kAnyTimePerPage,
                 {"write-back: one dirty page made ready for the disk; TLB invalidation and disk excluded",
                  "assumed",
                  Standing::assumed,
                  {"200 ns", "5 us"}});
}

void declare_kernel(OsConfig& c, ParameterTable& table) {
  table.add_choice("kernel", c.kernel.version,
                   {{"4.9", KernelVersion::linux_4_9},
                    {"4.14", KernelVersion::linux_4_14},
                    {"4.19", KernelVersion::linux_4_19},
                    {"5.4", KernelVersion::linux_5_4},
                    {"5.10", KernelVersion::linux_5_10},
                    {"5.15", KernelVersion::linux_5_15},
                    {"6.1", KernelVersion::linux_6_1},
                    {"6.6", KernelVersion::linux_6_6},
                    {"6.12", KernelVersion::linux_6_12}},
                   {"Linux's version: what fork, faults, reclaim, migration and the scheduler do where kernels differ "
                    "(models/os/README.md has the table)",
                    "the newest kernel with long-term support that has CFS and no per-VMA locks: between what boards "
                    "were shipped with (Xilinx 2017.1: 4.9) and what they get today",
                    Standing::setting});
  table.add_choice("thp", c.thp,
                   {{"always", ThpMode::always}, {"madvise", ThpMode::madvise}, {"never", ThpMode::never}},
                   {"transparent huge pages on first touch, of each 2 MiB at a multiple of 2 MiB that lies whole in a "
                    "buffer: none in a smaller one",
                    "Xilinx zynqmp defconfig", Standing::published});
  table.add_choice("thp_defrag", c.thp_defrag,
                   {{"always", ThpDefrag::always},
                    {"defer", ThpDefrag::defer},
                    {"defer+madvise", ThpDefrag::defer_madvise},
                    {"madvise", ThpDefrag::madvise},
                    {"never", ThpDefrag::never}},
                   {"faults that want a 2 MiB page when none is free compact and reclaim themselves (always; madvise: "
                    "where advised), let kcompactd do it for later ones (defer), or take a small page at once "
                    "(transparent_hugepage/defrag)",
                    "Linux's default, Documentation/admin-guide/mm/transhuge.rst", Standing::published});
  table.add_flag(
      "use_zero_page", c.use_zero_page,
      {"reads of untouched memory that may have 2 MiB pages map the huge zero page; false: a page of their own "
       "(transparent_hugepage/use_zero_page)",
       "Linux's default, Documentation/admin-guide/mm/transhuge.rst", Standing::published});
}

void declare_memory(OsConfig& c, ParameterTable& table) {
  table.add_choice("va_bits", c.va_bits, {{"39", VaBits::bits39}, {"48", VaBits::bits48}},
                   {"size of virtual addresses; a walk has 3 levels with 39 bits, 4 with 48",
                    "older Xilinx kernels 39, recent ones 48", Standing::assumed});
  table.add_bytes("rlimit_memlock", c.rlimit_memlock, {0, kUnlimited},
                  {"RLIMIT_MEMLOCK of every process, for its locked bytes and again for its pinned bytes; "
                   "1073741824 GiB stands for unlimited",
                   "Linux since 5.16; 64 KiB before", Standing::published});
  table.add_bytes("kernel_reserved", c.kernel_reserved, {kPage, kLargestMemory},
                  {"physical memory at the low end that the kernel keeps for itself; its last page is the zero page",
                   "assumed", Standing::assumed});
  table.add_bytes(
      "user_memory", c.user_memory, {0, kUnlimited},
      {"physical memory for processes and page tables, where that is less than the rest", "", Standing::setting});
  table.add_bytes(
      "cma_bytes", c.cma_bytes, {0, kLargestMemory},
      {"CMA area at the top of that memory: for drivers, lent to pages that can be moved; long-term pins move "
       "them out of it. 256 MiB in Xilinx's zynqmp defconfig",
       "", Standing::setting});
  table.add_count(
      "nr_hugepages", c.nr_hugepages, {std::uint64_t{0}, kLargestMemory / kHugePage},
      {"2 MiB pages that each node takes from that memory at boot for hugetlbfs (vm.nr_hugepages): nothing else "
       "gets them, and only mappings that ask for them use them (workload.memory = hugetlb)",
       "", Standing::setting});
}

}  // namespace

void OsConfig::declare(ParameterTable& table) {
  const auto group = table.group("os");
  declare_faults(*this, table);
  declare_pins(*this, table);
  declare_mappings(*this, table);
  declare_processes(*this, table);
  declare_flushes(*this, table);
  declare_khugepaged(*this, table);
  declare_migration(*this, table);
  declare_reclaim(*this, table);
  declare_files(*this, table);
  declare_waiting(table);
  declare_kernel(*this, table);
  declare_memory(*this, table);
}

}  // namespace faultline::os
