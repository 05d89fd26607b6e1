// SPDX-License-Identifier: Apache-2.0
// Page migration: pages that somebody has isolated go to other frames. Their entries become migration entries, TLBs
// forget them, what nobody holds is copied, and the entries lead to the copy. From the first step to the last the page
// is not mapped, and faults on it wait. Linux mm/migrate.c, migrate_pages().
//
// Up to 6.2 a page is unmapped, copied and mapped again before the next one is touched. Since 6.3 all pages of a batch
// are unmapped first, and copied and mapped again one by one after that: each is away for as long as the batch needs.
//
// A pin of an anonymous page is seen when its entry has been cleared; since 5.19 the entry comes back at once. Other
// pins are seen when the page is to be copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "models/os/files/page_cache.hpp"
#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

class Migration {
 public:
  // async (MIGRATE_ASYNC) works in batches alone; sync tries a page that its batch has left by itself, too.
  enum class Mode : std::uint8_t { async, sync };
  // A page that the caller has isolated.
  struct Source {
    Address frame;
    bool active;
  };
  using Sources = sim::Vector<Source>;
  // As many as compaction and CMA isolate before they have them moved.
  static constexpr std::size_t kCluster = 32;  // COMPACT_CLUSTER_MAX
  // Frames for the copies, by the rules of whoever wants the pages moved (new_folio_t, free_folio_t).
  class Targets {
   public:
    virtual ~Targets() = default;
    // Empty: there is none, and migration ends with what has been unmapped.
    virtual sim::Task<std::optional<Address>> take(cpu::Execution& exec) = 0;
    virtual void give_back(Address frame) = 0;
    // The page has left the frame, which is free if nobody else holds it.
    virtual void left([[maybe_unused]] Address frame) {}
  };
  struct Result {
    unsigned moved = 0;
    bool out_of_memory = false;
  };

  Migration(VmCore& core, PageCache& page_cache) : core_(core), page_cache_(page_cache) {}

  // Those of the list that are still in it afterwards could not be moved, or were not tried for want of memory; they
  // are still isolated, and the caller's to try again or to put_back(). Costs fall on `exec`.
  sim::Task<Result> migrate(cpu::Execution& exec, Sources& sources, Mode mode, Targets& targets);
  // putback_movable_pages
  void put_back(Sources& sources);

  // Whether compaction and CMA choose a page: it is on a list, only page tables refer to it, and it is neither a
  // driver's nor part of a huge page. That may have changed when they get to it.
  bool movable(Address frame) const;

  // What has become of a page that was to be unmapped.
  enum class Unmapping : std::uint8_t {
    nobody_maps_it,
    unmapped,
    refused,  // its entry is what it was
  };
  // Whether a page whose entry has been cleared, and flushed, gets it back as it was: an anonymous one that is pinned
  // (folio_try_share_anon_rmap_pte, hugetlb_try_share_anon_rmap).
  bool keeps_entry(Address frame, PageSize size) const;

 private:
  struct Way {
    bool batched;     // the kernel batches: others may run between two pages
    bool defers;      // TLBs are waited for once, when all pages are unmapped
    unsigned passes;  // tries for a page that somebody holds: to unmap it, and once it is unmapped to move it
  };
  // A page that is unmapped.
  struct Unmapped {
    Source source;
    Address to;
  };
  using UnmappedPages = sim::Vector<Unmapped>;

  sim::Task<Result> migrate_portion(cpu::Execution& exec, Sources& sources, Mode mode, Targets& targets);
  sim::Task<Result> migrate_each(cpu::Execution& exec, Sources& sources, Way way, Targets& targets);
  sim::Task<Result> migrate_batch(cpu::Execution& exec, Sources& sources, Way way, Targets& targets);
  sim::Task<UnmappedPages> unmap_batch(cpu::Execution& exec, Sources& sources, Way way, Targets& targets,
                                       Result& result);
  sim::Task<Sources> unmap_each(cpu::Execution& exec, const Sources& sources, Way way, Targets& targets,
                                UnmapBatch& batch, UnmappedPages& unmapped, Result& result);
  sim::Task<Unmapping> unmap(cpu::Execution& exec, Address frame, UnmapBatch& batch, bool defers);
  sim::Task<void> put_back_entries(cpu::Execution& exec, Address frame);
  sim::Task<bool> move(cpu::Execution& exec, const Unmapped& page);
  void let_go(Source source);
  std::size_t migrating(Address frame) const;
  void remap(Address frame, Address to);
  void put_in_place(const Unmapped& page);

  VmCore& core_;
  PageCache& page_cache_;
};

}  // namespace faultline::os
