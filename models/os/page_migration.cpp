// SPDX-License-Identifier: Apache-2.0
// Page migration: the entries, the copy, and who finds a page held. Linux mm/migrate.c.
#include "models/os/page_events.hpp"

#include <algorithm>

namespace faultline::os {

using cpu::Execution;
using sim::Task;

Task<unsigned> PageEvents::migrate(Execution& exec, Process& process, Range range, Mover mover) {
  unsigned moved = 0;
  const Process::User user(process);
  AddressSpace& space = process.space_;
  for (VirtualAddress va = range.begin; const auto next = space.next_entry(va, range.end);) {
    va = *next + kPage;
    const PageState* page = space.page(*next);
    if (page == nullptr || page->zero) continue;
    if (mover == Mover::compaction && is_spared_by_compaction(process, *next)) continue;
    if (page->pool) {
      va = huge_range(*next).end;
      const bool done = co_await migrate_block(exec, huge_page_begin(page->frame));
      moved += count_migration(process, done, kPagesPerHuge);
      continue;
    }
    if (space.is_huge(*next)) {
      if (!co_await split(exec, process, *next)) break;
      page = space.page(*next);
      if (page == nullptr) continue;
    }
    const bool done = co_await migrate_page(exec, page->frame);
    co_await core_.cond_resched(exec);
    moved += count_migration(process, done, 1);
  }
  co_return moved;
}

bool PageEvents::is_spared_by_compaction(const Process& process, VirtualAddress va) const {
  const AddressSpace& space = process.space_;
  const Vma* vma = space.find(va);  // none: munmap is about to remove the page
  const bool locked = vma != nullptr && vma->locked && !core_.config.compact_unevictable_allowed;
  return locked || core_.frame_table.find(space.page(va)->frame).pins > 0 || space.is_huge(va);
}

// How many pages have moved.
unsigned PageEvents::count_migration(const Process& process, bool done, unsigned pages) {
  ++(done ? core_.counters.pgmigrate_success : core_.counters.pgmigrate_fail);
  if (!done) return 0;
  core_.on_change(process, pages);
  return pages;
}

bool PageEvents::movable(Address frame) const {
  const FrameRecord record = core_.frame_table.find(frame);
  if (record.list == LruList::none || (record.mappings == 0 && record.file == 0)) return false;
  if (record.file != 0 && core_.page_cache.page_of(frame).writing) return false;
  if (record.has_extra_references() || core_.is_whole(frame)) return false;
  const auto mappers = core_.frame_table.mappers(frame);
  return std::none_of(mappers.begin(), mappers.end(), [](const Mapper& mapper) {
    const Vma* vma = mapper.process->space_.find(mapper.va);
    return (vma != nullptr && vma->driver) || mapper.process->space_.page(mapper.va) == nullptr;
  });
}

// How many migration entries lead to the frame.
std::size_t PageEvents::migrating(Address frame) const {
  const auto mappers = core_.frame_table.mappers(frame);
  const auto count = std::count_if(mappers.begin(), mappers.end(), [](const Mapper& mapper) {
    return mapper.process->space_.entry(mapper.va)->entry == Entry::migrating;
  });
  return static_cast<std::size_t>(count);
}

Task<bool> PageEvents::migrate_page(Execution& exec, Address frame) {
  const auto to = core_.frames.allocate_page();
  if (!to) co_return false;
  const FrameRecord& record = core_.frame_table.at(frame);
  const bool active = record.is_active();
  const bool writing = record.file != 0 && core_.page_cache.page_of(frame).writing;
  if (writing || !core_.isolate(frame)) {
    core_.frames.free_page(*to);
    co_return false;
  }
  co_return co_await move_isolated(exec, frame, active, *to, core_.config.migrate_passes);
}

// unmap_and_move_huge_page: a page of the pool, to another one that nobody has reserved.
Task<bool> PageEvents::migrate_block(Execution& exec, Address frame) {
  const auto to = core_.huge_pool.take_available();
  if (!to) co_return false;
  const VmCore::Hold hold(core_, frame);
  bool moved = false;
  for (unsigned pass = 0; pass < core_.config.migrate_passes && !moved; ++pass) {
    if (co_await unmap_block(exec, frame) == 0) break;  // whoever had it has let go
    co_await core_.run(exec, core_.config.migrate_page);
    bool held = core_.frame_table.any_pinned(frame, PageSize::huge);
    if (!held) co_await core_.copy_block(exec, frame, *to);
    held = held || core_.frame_table.any_pinned(frame, PageSize::huge);
    if (held) ++core_.counters.migrate_restored;
    for (const Mapper& mapper : core_.frame_table.mappers(frame)) {
      Process& process = *mapper.process;
      if (process.space_.entry(mapper.va)->entry != Entry::migrating) continue;
      if (!held) core_.redirect_block(process, mapper.va, *to);
      core_.show(process, mapper.va);
      if (!held) core_.retire_block(process, frame);
      moved = !held;
    }
  }
  if (!moved) core_.huge_pool.give_back(*to);
  co_return moved;
}

// How many entries are migration entries now.
Task<unsigned> PageEvents::unmap_block(Execution& exec, Address frame) {
  unsigned unmapped = 0;
  for (const Mapper& mapper : core_.frame_table.mappers(frame)) {
    if (!core_.frame_table.has_mapper(frame, mapper)) continue;
    Process& process = *mapper.process;
    const Process::User user(process);
    const Range range = huge_range(mapper.va);
    co_await core_.change_begins(exec, process, range);
    const PageState* page = process.space_.page(mapper.va);
    if (page != nullptr && page->frame == frame) {
      core_.hide(process, mapper.va, Entry::migrating);
      co_await core_.flush(exec, process, mapper.va);
      ++unmapped;
    }
    core_.change_ends(process, range);
  }
  co_return unmapped;
}

Task<bool> PageEvents::move_isolated(Execution& exec, Address frame, bool active, Address to, unsigned passes) {
  const FrameRecord& record = core_.frame_table.at(frame);
  bool moved = false;
  for (unsigned pass = 0; pass < passes && !moved; ++pass) {
    const sim::Time away = core_.config.migrate_page / 2;  // the walk that puts the entries back
    co_await core_.run(exec, core_.config.migrate_page - away);
    const unsigned unmapped = co_await unmap_for_migration(exec, frame);
    if (unmapped == 0 && record.file == 0) break;  // whoever had it has let go
    co_await core_.run(exec, away);
    bool held = record.pins > 0;
    if (!held) co_await core_.copy_page(exec, frame, to);
    // Faults that map a page of the page cache do not wait for its migration. And whoever has unmapped the page may
    // still have to flush TLBs.
    held = held || (record.file != 0 && (record.pins > 0 || record.mappings != migrating(frame)));
    if (held) ++core_.counters.migrate_restored;
    const bool cached = !held && record.file != 0;
    if (cached) core_.page_cache.replace(frame, to);
    moved = (remap(frame, held ? frame : to) > 0 && !held) || cached;
  }
  core_.put_back(frame, active);
  const FrameRecord& copy = core_.frame_table.at(to);
  if (!copy.held()) {
    core_.frames.free_page(to);
  } else {
    if (copy.list == LruList::none) core_.lru(copy).add(to, copy.inactive());  // nobody maps the copy
    const bool stays = copy.is_active() == active || !core_.evictable(to);
    if (!stays) core_.lru(copy).move(to, active ? copy.active() : copy.inactive());
  }
  co_return moved;
}

Task<unsigned> PageEvents::unmap_for_migration(Execution& exec, Address frame) {
  unsigned unmapped = 0;
  const auto unmap_there = [&](Process& process, VirtualAddress va) -> Task<void> {
    const PageState* page = process.space_.page(va);
    if (page == nullptr || page->frame != frame || process.space_.is_huge(va)) co_return;
    core_.hide(process, va, Entry::migrating);
    co_await core_.flush(exec, process, va);
    ++unmapped;
  };
  co_await core_.for_each_mapper(exec, frame, unmap_there);
  co_return unmapped;
}

// Makes migration entries of the frame lead to `to`, which may be the frame itself. How many they were.
unsigned PageEvents::remap(Address frame, Address to) {
  unsigned remapped = 0;
  for (const Mapper& mapper : core_.frame_table.mappers(frame)) {
    PageState* page = mapper.process->space_.entry(mapper.va);
    if (page->entry != Entry::migrating) continue;
    page->young = page->young && core_.config.kernel.has(Change::migration_keeps_young);
    if (page->may_write()) {
      const bool writable = core_.config.kernel.has(Change::migration_writable);
      page->dirty = page->dirty || (writable && page->clean);
      page->lazyfree = page->lazyfree && !writable;
      page->writable = writable;
      page->clean = !writable;
    }
    if (to != frame) {
      core_.redirect(*mapper.process, mapper.va, to);
      core_.retire(*mapper.process, frame);
    }
    core_.show(*mapper.process, mapper.va);
    ++remapped;
  }
  return remapped;
}

}  // namespace faultline::os
