// SPDX-License-Identifier: Apache-2.0
#include "models/os/page_events.hpp"

#include <algorithm>
#include <utility>

namespace faultline::os {

using cpu::Execution;
using sim::Task;

namespace {

std::uint32_t pages_of(Range range) { return static_cast<std::uint32_t>(range.pages()); }

}  // namespace

Task<unsigned> PageEvents::migrate(Execution& exec, Process& process, Range range, Mover mover) {
  unsigned moved = 0;
  const Process::User user(process);
  AddressSpace& space = process.space_;
  for (VirtualAddress va = range.begin; const auto next = space.next_entry(va, range.end);) {
    va = *next + kPage;
    const PageState* page = space.page(*next);
    if (page == nullptr || page->zero) continue;
    if (mover == Mover::compaction) {
      const Vma* vma = space.find(*next);  // none: munmap is about to remove the page
      const bool locked = vma != nullptr && vma->locked && !core_.config.compact_unevictable_allowed;
      const bool pinned = core_.frame_table.find(page->frame).pins > 0;
      if (locked || pinned || space.is_huge(*next)) continue;
    }
    if (page->pool) {
      const bool done = co_await migrate_block(exec, huge_range(page->frame).begin);
      va = huge_range(*next).end;
      ++(done ? core_.counters.pgmigrate_success : core_.counters.pgmigrate_fail);
      if (!done) continue;
      moved += kPagesPerHuge;
      core_.on_change(process, kPagesPerHuge);
      continue;
    }
    if (space.is_huge(*next)) {
      if (!co_await split(exec, process, *next)) break;
      page = space.page(*next);
      if (page == nullptr) continue;
    }
    const bool done = co_await migrate_page(exec, page->frame);
    co_await core_.cond_resched(exec);
    ++(done ? core_.counters.pgmigrate_success : core_.counters.pgmigrate_fail);
    if (done) {
      ++moved;
      core_.on_change(process, 1);
    }
  }
  co_return moved;
}

bool PageEvents::movable(Address frame) const {
  const FrameRecord record = core_.frame_table.find(frame);
  if (record.list == LruList::none || (record.mappings == 0 && record.file == 0)) return false;
  if (record.file != 0 && core_.page_cache.page_of(frame).writing) return false;
  if (record.pins > 0 || record.isolated > 0 || core_.is_whole(frame)) return false;
  const auto mappers = core_.frame_table.mappers(frame);
  return std::none_of(mappers.begin(), mappers.end(), [](const Mapper& mapper) {
    const Vma* vma = mapper.process->space_.find(mapper.va);
    return (vma != nullptr && vma->driver) || mapper.process->space_.page(mapper.va) == nullptr;
  });
}

// Entries that are on their way to another frame.
std::size_t PageEvents::migrating(Address frame) const {
  const auto mappers = core_.frame_table.mappers(frame);
  const auto count = std::count_if(mappers.begin(), mappers.end(), [](const Mapper& mapper) {
    return mapper.process->space_.entry(mapper.va)->entry == Entry::migrating;
  });
  return static_cast<std::size_t>(count);
}

// False: no memory for the table.
Task<bool> PageEvents::split(Execution& exec, Process& process, VirtualAddress va) {
  co_await process.lock_.lock_shared(core_.cpu, exec);
  Error error = Error::none;
  if (process.space_.is_huge(va)) error = co_await core_.split(exec, process, va);
  process.lock_.unlock_shared();
  co_return error == Error::none;
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
    bool held = is_pinned_block(frame);
    if (!held) co_await core_.copy_block(exec, frame, *to);
    held = held || is_pinned_block(frame);
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

bool PageEvents::is_pinned_block(Address frame) const {
  for (Address at = frame; at < frame + kHugePage; at += kPage) {
    if (core_.frame_table.find(at).pins > 0) return true;
  }
  return false;
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
    // Of a page in the cache faults do not wait for that; and who has unmapped it may still have to flush TLBs.
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
    if (copy.list == LruList::none) core_.lru(copy).add(to, copy.inactive());  // which nobody maps
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

// The migration entries; how many they were. `to` may be the frame itself.
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

Task<unsigned> PageEvents::merge_equal(Execution& exec, Process& process, Range range) {
  unsigned merged = 0;
  AddressSpace& space = process.space_;
  for (VirtualAddress va = range.begin; const auto next = space.next_entry(va, range.end);) {
    va = *next + kPage;
    if (space.entry(*next)->zero || space.entry(*next)->pool) continue;
    if (space.is_huge(*next)) {
      // split_huge_page finds the references before it unmaps anything.
      if (core_.held(process, huge_range(*next))) continue;
      if (!co_await split(exec, process, *next)) break;
    }
    co_await core_.cond_resched(exec);
    co_await process.lock_.lock_shared(core_.cpu, exec);
    const PageState* page = space.page(*next);
    // A page of a file, or one that was collapsed anew meanwhile: left alone.
    const bool small =
        page != nullptr && !page->zero && !space.is_huge(*next) && core_.frame_table.find(page->frame).file == 0;
    if (small && co_await merge_page(exec, process, *next)) ++merged;
    process.lock_.unlock_shared();
  }
  co_return merged;
}

Task<bool> PageEvents::merge_page(Execution& exec, Process& process, VirtualAddress va) {
  const Range range{va, va + kPage};
  const Address frame = process.space_.page(va)->frame;
  const auto unchanged = [&] {
    const PageState* page = process.space_.page(va);
    return page != nullptr && page->frame == frame;
  };
  // write_protect_page
  co_await core_.change_begins(exec, process, range);
  bool shared = unchanged();
  if (shared) {
    core_.hide(process, va, Entry::moving);
    co_await core_.flush(exec, process, va);
    shared = core_.frame_table.at(frame).pins == 0;
    if (shared) process.space_.entry(va)->write_protect();
    core_.show(process, va);
  }
  core_.change_ends(process, range);
  if (!shared) co_return false;
  // The two are compared, byte by byte.
  co_await core_.cpu.memory_bulk(exec, cpu::Work::system, frame, kPage, core_.config.copy_bandwidth, false);
  // Nothing in this model moves a merged page.
  const auto equal = core_.frames.allocate_page(FrameUse::fixed);
  if (!equal) co_return false;
  // replace_page
  co_await core_.change_begins(exec, process, range);
  shared = unchanged() && !process.space_.page(va)->may_write();
  if (shared) {
    core_.hide(process, va, Entry::moving);
    co_await core_.flush(exec, process, va);
    core_.store.write(*equal, core_.store.read(frame, kPage));
    core_.frame_table.at(*equal).foreign = true;
    core_.redirect(process, va, *equal);
    core_.show(process, va);
    core_.retire(process, frame);
    ++core_.counters.ksm_merged;
    core_.on_change(process, 1);
  } else {
    core_.frames.free_page(*equal);
  }
  core_.change_ends(process, range);
  co_return shared;
}

// Mirrors are asked instead whether their device has used the page (clear_young): nothing to be dropped there.
Leaves PageEvents::used_leaves(const Process& process, Range range) {
  Leaves leaves;
  const AddressSpace& space = process.space_;
  space.for_each_leaf(range.begin, range.end, [&](VirtualAddress va, PageSize size) {
    const PageState* page = space.page(va);
    const Vma* vma = space.find(va);
    // Pages of the pool are on no list, and clear_refs passes them by.
    if (page == nullptr || !page->young || page->zero || page->pool) return;
    if (vma != nullptr && !vma->driver) leaves.add(va, size);
  });
  return leaves;
}

Task<unsigned> PageEvents::age(Execution& exec, Process& process, Range range) {
  const Process::User user(process);
  unsigned aged = 0;
  const Leaves leaves = used_leaves(process, range);
  for (const VirtualAddress va : leaves.addresses()) {
    const PageState* page = process.space_.page(va);  // others may have been at it
    const Vma* vma = process.space_.find(va);
    if (page == nullptr || !page->young || vma == nullptr || !vma->evictable()) continue;
    ++aged;
    co_await core_.clear_young(exec, process, va);
  }
  core_.on_change(process, aged);
  co_return aged;
}

Task<unsigned> PageEvents::clear_refs(Execution& exec, Process& process) {
  const bool alone = core_.config.kernel.has(Change::clear_refs_exclusive);
  if (alone) {
    co_await process.lock_.lock_exclusive(core_.cpu, exec);
  } else {
    co_await process.lock_.lock_shared(core_.cpu, exec);
  }
  const Range all{0, VirtualAddress{1} << process.page_table().va_bits()};
  Leaves leaves = used_leaves(process, all);
  for (const VirtualAddress va : leaves.addresses()) core_.set_young(process, va, false);
  const auto aged = static_cast<unsigned>(leaves.size());
  core_.on_change(process, aged);
  if (!core_.config.kernel.has(Change::clear_refs_unflushed))
    co_await core_.flush_all(exec, process, std::move(leaves));
  if (alone) {
    process.lock_.unlock_exclusive();
  } else {
    process.lock_.unlock_shared();
  }
  co_return aged;
}

unsigned PageEvents::mark_idle(Process& process, Range range) {
  const Leaves leaves = used_leaves(process, range);
  for (const VirtualAddress va : leaves.addresses()) core_.set_young(process, va, false);
  core_.on_change(process, static_cast<unsigned>(leaves.size()));
  return static_cast<unsigned>(leaves.size());
}

Task<unsigned> PageEvents::write_protect(Execution& exec, Process& process, Range range) {
  const Vma* vma = process.space_.find(range.begin);
  if (vma != nullptr && vma->shared && range.end <= vma->end) {
    const std::uint32_t first = vma->file_page(range.begin);
    co_return co_await core_.page_cache.writeback().clean(exec, *vma->file, first, first + pages_of(range));
  }
  if (vma != nullptr && vma->hugetlb != 0) co_return 0;  // nothing of all that is for pages of the pool
  co_return co_await take_right_to_write(exec, process, range);
}

Task<unsigned> PageEvents::take_right_to_write(Execution& exec, Process& process, Range range) {
  co_await core_.change_begins(exec, process, range);
  Leaves leaves;
  const AddressSpace& space = process.space_;
  space.for_each_leaf(range.begin, range.end, [&](VirtualAddress va, PageSize size) {
    const PageState* page = space.page(va);
    if (page == nullptr || !page->may_write()) return;
    core_.protect(process, va, false);
    leaves.add(va, size);
  });
  const unsigned changed = co_await flush_changed(exec, process, range, std::move(leaves));
  core_.change_ends(process, range);
  co_return changed;
}

// How many leaves they are.
Task<unsigned> PageEvents::flush_changed(Execution& exec, Process& process, Range range, Leaves leaves) {
  const auto changed = static_cast<unsigned>(leaves.size());
  core_.on_change(process, changed);
  co_await core_.flush_protected(exec, process, range, std::move(leaves));
  co_return changed;
}

Task<unsigned> PageEvents::userfault_protect(Execution& exec, Process& process, Range range) {
  AddressSpace& space = process.space_;
  space.for_each_leaf(range.begin, range.end, [&](VirtualAddress va, PageSize) {
    space.for_each_page_of_leaf(
        va, [](PageState& page) { page.userfault = page.userfault || (page.present() && !page.zero); });
  });
  return take_right_to_write(exec, process, range);
}

Task<unsigned> PageEvents::numa_hint(Execution& exec, Process& process, Range range) {
  return hide(exec, process, range, Entry::hidden);
}

Task<unsigned> PageEvents::poison(Execution& exec, Process& process, Range range) {
  return hide(exec, process, range, Entry::poisoned);
}

// change_pte_range: of private memory.
bool PageEvents::hinted(const Process& process, VirtualAddress va) const {
  const Vma* vma = process.space_.find(va);
  if (vma == nullptr || vma->shared) return true;
  const FrameRecord record = core_.frame_table.find(process.space_.page(va)->frame);
  const bool shared = record.mappings > 1;
  const bool held = shared || record.pins > 0 || record.isolated > 0;
  return !(shared && core_.config.kernel.has(Change::numa_skips_shared)) &&
         !(held && core_.config.kernel.has(Change::numa_skips_held));
}

// A failure does not ask for pins.
Task<unsigned> PageEvents::hide(Execution& exec, Process& process, Range range, Entry as) {
  co_await core_.change_begins(exec, process, range);
  Leaves leaves;
  AddressSpace& space = process.space_;
  for (VirtualAddress va = range.begin; const auto next = space.next_entry(va, range.end);) {
    va = *next + kPage;
    const PageState* page = space.page(*next);
    if (page == nullptr || page->zero || page->pool) continue;
    if (as == Entry::hidden && !hinted(process, *next)) continue;
    if (space.is_huge(*next) && core_.split_now(process, *next) != Error::none) break;
    core_.hide(process, *next, as);
    leaves.add(*next, PageSize::small);
  }
  unsigned hidden = 0;
  if (as == Entry::hidden) {
    hidden = co_await flush_changed(exec, process, range, std::move(leaves));
  } else {
    hidden = static_cast<unsigned>(leaves.size());
    core_.on_change(process, hidden);
    co_await core_.flush(exec, process, leaves.take());  // memory_failure: page by page
  }
  core_.change_ends(process, range);
  co_return hidden;
}

Task<unsigned> PageEvents::truncate(Execution& exec, Process& process, Range range) {
  const Vma* vma = process.space_.find(range.begin);
  if (vma != nullptr && vma->file != nullptr && range.end <= vma->end) {
    const std::uint32_t first = vma->file_page(range.begin);
    co_return co_await core_.page_cache.punch(exec, *vma->file, first, first + pages_of(range));
  }
  if (vma != nullptr && vma->hugetlb != 0) {
    range = {(range.begin + kHugePage - 1) / kHugePage * kHugePage, range.end / kHugePage * kHugePage};
    if (range.begin >= range.end) co_return 0;
  }
  co_await process.lock_.lock_shared(core_.cpu, exec);
  const Error split = co_await core_.split_edges(exec, process, range);
  process.lock_.unlock_shared();
  if (split != Error::none) co_return 0;
  const auto pages = static_cast<unsigned>((co_await core_.unmap(exec, process, range)).value);
  core_.on_change(process, pages);
  co_return pages;
}

}  // namespace faultline::os
