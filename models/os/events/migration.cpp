// SPDX-License-Identifier: Apache-2.0
#include "models/os/events/migration.hpp"

#include <algorithm>
#include <utility>

namespace faultline::os {

using cpu::Execution;
using sim::Task;

namespace {

constexpr std::size_t kMostBatched = 512;  // NR_MAX_BATCHED_MIGRATION
constexpr unsigned kAsyncPasses = 3;       // NR_MAX_MIGRATE_ASYNC_RETRY

void add(Migration::Result& sum, const Migration::Result& part) {
  sum.moved += part.moved;
  sum.out_of_memory = sum.out_of_memory || part.out_of_memory;
}

}  // namespace

bool Migration::movable(Address frame) const {
  const FrameRecord record = core_.frame_table.find(frame);
  if (record.list == LruList::none || (record.mappings == 0 && record.file == 0)) return false;
  if (record.file != 0 && page_cache_.page_of(frame).writing) return false;
  if (record.has_extra_references() || core_.is_whole(frame)) return false;
  const auto mappers = core_.frame_table.mappers(frame);
  return std::none_of(mappers.begin(), mappers.end(), [](const Mapper& mapper) {
    const Vma* vma = Mm::of(*mapper.process).space.find(mapper.va);
    return (vma != nullptr && vma->driver) || Mm::of(*mapper.process).space.page(mapper.va) == nullptr;
  });
}

void Migration::put_back(Sources& sources) {
  for (const Source& source : sources) core_.put_back(source.frame, source.active);
  sources.clear();
}

Task<Migration::Result> Migration::migrate(Execution& exec, Sources& sources, Mode mode, Targets& targets) {
  Result result;
  Sources left;
  while (!sources.empty() && !result.out_of_memory) {
    const auto end = sources.begin() + static_cast<std::ptrdiff_t>(std::min(sources.size(), kMostBatched));
    Sources portion(sources.begin(), end);
    sources.erase(sources.begin(), end);
    add(result, co_await migrate_portion(exec, portion, mode, targets));
    core_.counters.pgmigrate_fail += result.out_of_memory ? 1 : portion.size();  // those that were tried
    left.insert(left.end(), portion.begin(), portion.end());
  }
  sources.insert(sources.begin(), left.begin(), left.end());
  co_return result;
}

Task<Migration::Result> Migration::migrate_portion(Execution& exec, Sources& sources, Mode mode, Targets& targets) {
  const unsigned passes = core_.config.migrate_passes;
  if (!core_.config.kernel.has(Change::batched_migration)) {
    Result result;
    for (unsigned pass = 0; pass < passes && !sources.empty() && !result.out_of_memory; ++pass) {
      add(result, co_await migrate_each(exec, sources, {.batched = false, .defers = false, .passes = 1}, targets));
    }
    co_return result;
  }
  const unsigned in_batch = mode == Mode::async ? passes : std::min(kAsyncPasses, passes);
  Result result = co_await migrate_batch(exec, sources, {.batched = true, .defers = true, .passes = in_batch}, targets);
  if (result.out_of_memory || in_batch == passes) co_return result;
  // migrate_pages_sync
  const Way alone{.batched = true, .defers = false, .passes = passes - in_batch};
  add(result, co_await migrate_each(exec, sources, alone, targets));
  co_return result;
}

// Each page is a batch.
Task<Migration::Result> Migration::migrate_each(Execution& exec, Sources& sources, Way way, Targets& targets) {
  Result result;
  Sources left;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    Sources one(1, sources[i]);
    if (!result.out_of_memory) add(result, co_await migrate_batch(exec, one, way, targets));
    left.insert(left.end(), one.begin(), one.end());
  }
  sources = std::move(left);
  co_return result;
}

// migrate_pages_batch; of one page, and with one pass, unmap_and_move.
Task<Migration::Result> Migration::migrate_batch(Execution& exec, Sources& sources, Way way, Targets& targets) {
  Result result;
  UnmappedPages held = co_await unmap_batch(exec, sources, way, targets, result);
  for (unsigned pass = 0; pass < way.passes && !held.empty(); ++pass) {
    UnmappedPages again;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const Unmapped& page = held[i];
      if (way.batched) co_await core_.cond_resched(exec);
      if (!co_await move(exec, page)) {
        again.push_back(page);
        continue;
      }
      ++result.moved;
      targets.left(page.source.frame);
    }
    held = std::move(again);
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    const Unmapped& page = held[i];
    co_await put_back_entries(exec, page.source.frame);
    targets.give_back(page.to);
    sources.push_back(page.source);
  }
  co_return result;
}

// What is unmapped leaves `sources`. Those that refuse are tried again when all others are unmapped, and TLBs are
// waited for after that.
Task<Migration::UnmappedPages> Migration::unmap_batch(Execution& exec, Sources& sources, Way way, Targets& targets,
                                                      Result& result) {
  UnmappedPages unmapped;
  UnmapBatch batch;
  for (unsigned pass = 0; pass < way.passes && !sources.empty() && !result.out_of_memory; ++pass) {
    sources = co_await unmap_each(exec, sources, way, targets, batch, unmapped, result);
  }
  co_await core_.finish_unmapping(exec, batch);
  co_return unmapped;
}

// migrate_folio_unmap, of each. Which could not be unmapped, or were not tried for want of memory.
Task<Migration::Sources> Migration::unmap_each(Execution& exec, const Sources& sources, Way way, Targets& targets,
                                               UnmapBatch& batch, UnmappedPages& unmapped, Result& result) {
  Sources left;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Source source = sources[i];
    co_await core_.cond_resched(exec);
    const auto to = co_await targets.take(exec);
    if (!to) {
      result.out_of_memory = true;
      left.insert(left.end(), sources.begin() + static_cast<std::ptrdiff_t>(i), sources.end());
      break;
    }
    co_await core_.run(exec, core_.config.migrate_page - core_.config.migrate_page / 2);
    switch (co_await unmap(exec, source.frame, batch, way.defers)) {
      case Unmapping::unmapped: unmapped.push_back({source, *to}); break;
      case Unmapping::refused:
        co_await put_back_entries(exec, source.frame);
        targets.give_back(*to);
        left.push_back(source);
        break;
      case Unmapping::nobody_maps_it:
        targets.give_back(*to);
        let_go(source);
        targets.left(source.frame);
        break;
    }
  }
  co_return left;
}

// Nobody maps the page any more, which is as good as moved if nobody holds it either.
void Migration::let_go(Source source) {
  core_.put_back(source.frame, source.active);
  ++(core_.frame_table.at(source.frame).held() ? core_.counters.pgmigrate_fail : core_.counters.pgmigrate_success);
}

bool Migration::keeps_entry(Address frame, PageSize size) const {
  return core_.config.kernel.has(Change::exclusive_pages) && core_.frame_table.at(frame).file == 0 &&
         core_.frame_table.any_pinned(frame, size);
}

// try_to_migrate.
Task<Migration::Unmapping> Migration::unmap(Execution& exec, Address frame, UnmapBatch& batch, bool defers) {
  auto outcome = Unmapping::nobody_maps_it;
  const auto unmap_there = [&](Process& process, VirtualAddress va) -> Task<void> {
    const PageState* page = Mm::of(process).space.page(va);
    if (page == nullptr || page->frame != frame || Mm::of(process).space.is_huge(va)) co_return;
    if (outcome == Unmapping::refused) co_return;
    core_.hide(process, va, Entry::migrating, core_.taking(exec, Taker::migration));
    if (defers) {
      co_await core_.flush_unmapped(exec, process, va, batch);
    } else {
      co_await core_.flush(exec, process, va);
    }
    const bool stays = keeps_entry(frame, PageSize::small);
    if (stays) core_.show(process, va);
    outcome = stays ? Unmapping::refused : Unmapping::unmapped;
  };
  const bool granted = co_await core_.for_each_mapper(exec, frame, Taker::migration, Notice::asked, unmap_there);
  if (!granted) outcome = Unmapping::refused;
  // A page of the page cache is moved even if nobody maps it.
  const bool cached = outcome == Unmapping::nobody_maps_it && core_.frame_table.at(frame).file != 0;
  co_return cached ? Unmapping::unmapped : outcome;
}

// migrate_folio_undo_src. The reverse mapping is walked even if no entry has become a migration entry.
Task<void> Migration::put_back_entries(Execution& exec, Address frame) {
  co_await core_.run(exec, core_.config.migrate_page / 2);
  remap(frame, frame);
  ++core_.counters.migrate_restored;
}

// move_to_new_folio and what follows where it succeeds. False: somebody holds the page, which costs no time to see.
// Since 5.19 only pages of files are found held here: an anonymous page without an entry cannot be pinned.
Task<bool> Migration::move(Execution& exec, const Unmapped& page) {
  const Address frame = page.source.frame;
  const FrameRecord& record = core_.frame_table.at(frame);
  if (record.pins > 0) co_return false;
  co_await core_.copy_page(exec, frame, page.to);
  co_await core_.run(exec, core_.config.migrate_page / 2);  // the walk that puts the entries back
  if (record.file != 0) {
    // A fault may have mapped the page meanwhile. In Linux that fault waits for the page's lock, but it holds a
    // reference, so that the page stays for this pass there, too. And whoever has unmapped the page may still have to
    // flush TLBs.
    if (record.pins > 0 || record.mappings != migrating(frame)) co_return false;
    page_cache_.replace(frame, page.to);
  }
  remap(frame, page.to);
  put_in_place(page);
  co_return true;
}

// How many migration entries lead to the frame.
std::size_t Migration::migrating(Address frame) const {
  const auto mappers = core_.frame_table.mappers(frame);
  const auto count = std::count_if(mappers.begin(), mappers.end(), [](const Mapper& mapper) {
    return Mm::of(*mapper.process).space.entry(mapper.va)->entry == Entry::migrating;
  });
  return static_cast<std::size_t>(count);
}

// remove_migration_ptes: migration entries of the frame lead to `to`, which may be the frame itself.
void Migration::remap(Address frame, Address to) {
  for (const Mapper& mapper : core_.frame_table.mappers(frame)) {
    PageState* page = Mm::of(*mapper.process).space.entry(mapper.va);
    if (page->entry != Entry::migrating) continue;
    if (!core_.config.kernel.has(Change::migration_keeps_young) && std::exchange(page->young, false)) {
      page->aged_by = page->hidden_by;
    }
    if (page->may_write()) {
      const bool writable = core_.config.kernel.has(Change::migration_writable);
      page->dirty = page->dirty || (writable && page->clean);
      page->lazyfree = page->lazyfree && !writable;
      page->writable = writable;
      page->clean = !writable;
      page->protected_by = writable ? Taking{} : page->hidden_by;
    }
    if (to != frame) {
      core_.redirect(*mapper.process, mapper.va, to);
      core_.retire(*mapper.process, frame);
    }
    core_.show(*mapper.process, mapper.va);
  }
}

// The copy takes the page's place on the lists.
void Migration::put_in_place(const Unmapped& page) {
  core_.put_back(page.source.frame, page.source.active);
  ++core_.counters.pgmigrate_success;
  const FrameRecord& copy = core_.frame_table.at(page.to);
  if (!copy.held()) {
    core_.frames.free_page(page.to);
    return;
  }
  if (copy.list == LruList::none) core_.lru(copy).add(page.to, copy.inactive());  // nobody maps the copy
  const bool stays = copy.is_active() == page.source.active || !core_.evictable(page.to);
  if (!stays) core_.lru(copy).move(page.to, page.source.active ? copy.active() : copy.inactive());
  for (const Mapper& mapper : core_.frame_table.mappers(page.to)) core_.on_change(*mapper.process, 1);
}

}  // namespace faultline::os
