// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/registration/pin_cache_config.hpp"

#include <string>

namespace faultline::rdma {

using sim::Standing;

void PinCacheConfig::declare(sim::ParameterTable& table) {
  table.add_bytes("budget", budget, {0, std::uint64_t{1} << 40},
                  {"memory that the cache of a process keeps pinned while no transfer uses it",
                   "assumed: half of RLIMIT_MEMLOCK's default of 8 MiB",
                   Standing::assumed,
                   {"1 MiB", "8 MiB"}});
  table.add_count(
      "max_regions", max_regions, {0, std::uint64_t{1} << 32},
      {"regions that the cache of a process keeps pinned; 0: as many as the budget allows",
       "UCX has no limit (UCX_RCACHE_MAX_REGIONS = inf), libfabric 1024 (FI_MR_CACHE_MAX_COUNT)", Standing::published});
  table.add_choice("replacement", replacement,
                   {{"lru", Replacement::lru}, {"size-and-recency", Replacement::size_and_recency}},
                   {"which of the regions that nobody uses makes room (lru: the one that was acquired longest ago; "
                    "size-and-recency: the one with the most bytes times acquisitions since its own, assumed after the "
                    "idea of MRRC, Ou et al. 2009, of which no formula could be found)",
                    "",
                    {}});
  table.add_flag("merge", merge,
                 {"a miss pins one region around the buffer and all regions that overlap with it, in their place, as "
                  "UCX does; else regions may overlap, as libfabric's",
                  "",
                  {}});
  table.add_choice(
      "emptied_by", emptied_by,
      {{"notifier", EmptiedBy::notifier}, {"hooks", EmptiedBy::hooks}, {"nothing", EmptiedBy::nothing}},
      {"how the cache learns that memory has changed: the kernel's MMU notifier, which tells every change; hooks in "
       "the "
       "program's calls; not at all, so that a mapping at an address used before finds the frames of the earlier one",
       "",
       {}});
  table.add_fraction("hook_coverage", hook_coverage, {0.0, 1.0},
                     {"share of the program's calls that drop memory (munmap, MADV_DONTNEED) or fork that the hooks "
                      "see; the seed draws which",
                      "",
                      {}});
  table.add_time("lookup", lookup, sim::kAnyTime,
                 {"user code that looks a buffer up",
                  "UCX takes 50 ns (ucp_mm.h, UCP_RCACHE_OVERHEAD_DEFAULT); on a Cortex-A53 assumed up to 1 us",
                  Standing::assumed,
                  {"50 ns", "1 us"}});
}

std::vector<sim::Conflict> PinCacheConfig::conflicts() const {
  if (emptied_by == EmptiedBy::hooks || hook_coverage == 1) return {};
  const char* why = emptied_by == EmptiedBy::notifier ? "an MMU notifier misses nothing" : "there are no hooks";
  return {{{"strategy.pin_cache.hook_coverage", "strategy.pin_cache.emptied_by"},
           why,
           "set strategy.pin_cache.emptied_by to hooks, or leave strategy.pin_cache.hook_coverage at 1"}};
}

PinCacheCounters::PinCacheCounters(sim::Statistics& s)
    : gets(s.counter("pin_cache.gets", "count", "lookups of a transfer's buffer")),
      hits_fast(s.counter("pin_cache.hits_fast", "count", "lookups that found a region around the buffer")),
      hits_slow(s.counter("pin_cache.hits_slow", "count",
                          "lookups that found one after they had waited for another thread, which pinned it")),
      misses(s.counter("pin_cache.misses", "count", "lookups that found none, and pinned one")),
      regions_merged(s.counter("pin_cache.regions_merged", "count", "regions whose place a larger one took")),
      unmap_events(s.counter("pin_cache.unmap_events", "count", "changes of memory that the cache was told of")),
      regions_inv_unmap(s.counter("pin_cache.regions_inv_unmap", "count",
                                  "regions that are no longer found because their memory changed, or was mapped anew "
                                  "unseen")),
      puts(s.counter("pin_cache.puts", "count", "transfers that no longer use their buffer")),
      mem_regs(s.counter("pin_cache.mem_regs", "count", "attempts to pin a region")),
      mem_deregs(s.counter("pin_cache.mem_deregs", "count", "regions whose pin was let go of")),
      evictions(s.counter("pin_cache.evictions", "count",
                          "regions that went because the budget, the regions or RLIMIT_MEMLOCK were spent")),
      hooks_missed(s.counter("pin_cache.hooks_missed", "count", "unmappings and forks that no hook has seen")) {}

std::span<const sim::CounterMetric> pin_cache_metrics() {
  static constexpr sim::CounterMetric kMetrics[] = {
      {"pin_cache.gets", "cache_gets", "1", 1, "buffers that were looked up in a pin-down cache, at both ends"},
      {"pin_cache.hits_fast", "cache_hits_fast", "1", 1, "of cache_gets, those that were found pinned"},
      {"pin_cache.hits_slow", "cache_hits_slow", "1", 1,
       "of cache_gets, those that another thread pinned while they waited for it"},
      {"pin_cache.misses", "cache_misses", "1", 1, "of cache_gets, those that were not found, and were pinned"},
      {"pin_cache.regions_merged", "cache_regions_merged", "1", 1, "regions whose place a larger one took"},
      {"pin_cache.unmap_events", "cache_unmap_events", "1", 1, "changes of memory that a pin-down cache was told of"},
      {"pin_cache.regions_inv_unmap", "cache_regions_inv_unmap", "1", 1,
       "regions that are no longer found because their memory changed"},
      {"pin_cache.puts", "cache_puts", "1", 1, "buffers that a transfer no longer uses"},
      {"pin_cache.mem_regs", "cache_mem_regs", "1", 1, "attempts to pin a region"},
      {"pin_cache.mem_deregs", "cache_mem_deregs", "1", 1, "regions whose pin was let go of"},
      {"pin_cache.evictions", "cache_evictions", "1", 1,
       "regions unpinned because the budget, the regions or RLIMIT_MEMLOCK were spent"},
      {"pin_cache.hooks_missed", "hooks_missed", "1", 1, "unmappings and forks that no memory hook has seen"},
  };
  return kMetrics;
}

}  // namespace faultline::rdma
