// SPDX-License-Identifier: Apache-2.0
// What the Linux-like kernel of a node costs and how it is set up.
#pragma once

#include <cstdint>

#include "models/cpu/kernel.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/time.hpp"

namespace faultline::os {

using namespace std::chrono_literals;
using cpu::Change;
using cpu::KernelVersion;

enum class ThpMode : std::uint8_t { always, madvise, never };  // transparent_hugepage/enabled
// transparent_hugepage/defrag: what a fault does that finds no huge frame free.
enum class ThpDefrag : std::uint8_t { always, defer, defer_madvise, madvise, never };
// How a core makes the others forget translations: by TLB invalidations that all cores obey, or by interrupting them.
enum class TlbShootdown : std::uint8_t { broadcast, interrupt };
enum class VaBits : std::uint8_t { bits39 = 39, bits48 = 48 };

// Above every memory that can be configured; stands for RLIM_INFINITY.
inline constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 60;

struct OsConfig {
  // Costs on a Cortex-A53 at cpu.stated_clock, about 1.2 GHz; the core that runs the caller is busy for them.
  sim::Time syscall = 500ns;
  sim::Time resident_touch = 145ns;
  sim::Time anon_minor_fault = 1700ns;
  sim::Time fault_no_alloc = 1200ns;
  sim::ByteRate zero_bandwidth{6'000'000'000};
  sim::Time thp_alloc = 5us;
  sim::Time gup_per_page = 300ns;
  sim::Time gup_per_huge_page = 6us;
  sim::Time pin_fixed = 4us;
  sim::Time unpin_per_page = 80ns;
  sim::Time unpin_per_huge_page = 14us;
  sim::Time mlock_fixed = 4us;
  sim::Time mlock_per_page = 350ns;
  sim::Time munlock_per_page = 300ns;
  sim::Time mmap_fixed = 3us;
  sim::Time munmap_fixed = 4us;
  sim::Time mprotect_fixed = 8us;
  sim::Time mprotect_per_page = 60ns;
  sim::Time mremap_fixed = 4us;
  sim::Time mremap_per_page = 200ns;
  sim::Time fork_fixed = 380us;
  sim::Time fork_per_page = 100ns;
  sim::Time exit_fixed = 200us;
  sim::Time exec_fixed = 65us;
  sim::Time cow_fault = 1700ns;
  sim::Time hugetlb_fault = 3800ns;
  sim::ByteRate copy_bandwidth{1'800'000'000};
  sim::Time thp_split = 5us;
  sim::Time khugepaged_scan_per_page = 50ns;
  sim::Time khugepaged_isolate_per_page = 300ns;
  sim::Time khugepaged_free_per_page = 400ns;
  sim::Time userfault_monitor = 35us;
  sim::Time migrate_page = 6us;
  sim::Time drain_core = 3us;
  sim::Time compact_scan_per_page = 100ns;
  sim::Time compact_free_scan_per_page = 100ns;
  sim::Time cpu_tlbi = 30ns;
  sim::Time cpu_dsb = 350ns;
  TlbShootdown tlb_shootdown = TlbShootdown::broadcast;
  unsigned tlbi_page_limit = 0;
  sim::Time private_map_per_page = 300ns;

  // Reclaim and swap.
  std::uint64_t swap_bytes = 0;
  sim::Time disk_read_latency = 90us;
  sim::Time disk_write_latency = 30us;
  sim::ByteRate disk_bandwidth{1'500'000'000};
  unsigned disk_queue_depth = 32;
  sim::Time disk_fault = 20us;
  unsigned page_cluster = 3;
  sim::Time reclaim_scan_per_page = 300ns;
  sim::Time reclaim_page = 9us;
  unsigned swappiness = 60;
  unsigned watermark_scale_factor = 10;
  std::uint64_t min_free_bytes = 0;

  // Files.
  std::uint64_t read_ahead_bytes = std::uint64_t{128} << 10;
  std::uint64_t fault_around_bytes = std::uint64_t{64} << 10;
  sim::Time fault_around_page = 270ns;
  unsigned dirty_background_ratio = 10;
  unsigned dirty_ratio = 20;
  sim::Time dirty_writeback_interval = 5s;
  sim::Time dirty_expire = 30s;
  sim::Time writeback_page = 1us;

  // Processes that wait for each other.
  sim::Time wake_up = 6800ns;
  sim::Time pipe_write = 800ns;
  sim::Time pipe_read = 800ns;
  sim::Time socket_write = 3us;
  sim::Time socket_read = 2us;
  sim::Time signal_catch = 6650ns;

  // Policy.
  cpu::Kernel kernel;
  ThpMode thp = ThpMode::madvise;
  ThpDefrag thp_defrag = ThpDefrag::madvise;
  bool use_zero_page = true;
  bool khugepaged = true;
  bool khugepaged_defrag = true;
  sim::Time khugepaged_scan_sleep = 10s;
  sim::Time khugepaged_alloc_sleep = 60s;
  std::uint64_t khugepaged_pages_to_scan = 4096;
  unsigned khugepaged_max_ptes_none = 511;
  unsigned khugepaged_max_ptes_swap = 64;
  unsigned khugepaged_max_ptes_shared = 256;
  unsigned khugepaged_time_scale = 1;
  bool compact_unevictable_allowed = true;
  unsigned migrate_passes = 10;
  VaBits va_bits = VaBits::bits39;
  std::uint64_t rlimit_memlock = std::uint64_t{8} << 20;
  std::uint64_t kernel_reserved = std::uint64_t{256} << 20;
  std::uint64_t user_memory = kUnlimited;
  std::uint64_t cma_bytes = 0;
  std::uint64_t nr_hugepages = 0;

  void declare(sim::ParameterTable& table);  // under "os."

  // At which a copy reads, and at which it writes: copy_bandwidth counts a byte once, DDR sees it twice, each time in
  // half of the time.
  sim::ByteRate copy_rate_each_way() const { return {copy_bandwidth.bytes_per_second * 2}; }

 private:
  void declare_waiting(sim::ParameterTable& table);
};

}  // namespace faultline::os
