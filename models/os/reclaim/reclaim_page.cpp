// SPDX-License-Identifier: Apache-2.0
// What becomes of a page that reclaim has chosen, or that somebody has named.
#include <algorithm>

#include "models/os/reclaim/reclaim.hpp"

namespace faultline::os {

using cpu::Execution;
using sim::Task;

// shrink_folio_list, for one page of the list.
Task<Reclaim::Outcome> Reclaim::shrink_page(Execution& exec, Address frame, Batch& batch) {
  co_await core_.cond_resched(exec);
  const Outcome outcome = co_await reclaim_page(exec, frame, batch);
  // try_to_unmap_flush_dirty: no CPU may write to the page while it goes to the device.
  if (outcome == Outcome::writing) co_await core_.finish_unmapping(exec, batch.unmapped);
  finish(frame, outcome, batch);
  co_return outcome;
}

Task<void> Reclaim::end(Execution& exec, Batch& batch) {
  co_await core_.finish_unmapping(exec, batch.unmapped);
  for (const Address frame : batch.freed) core_.put_back(frame, /*active=*/false);  // where nothing holds it any more
}

Task<Reclaim::Outcome> Reclaim::reclaim_page(Execution& exec, Address frame, Batch& batch) {
  if (!core_.evictable(frame)) co_return Outcome::unevictable;
  if (!batch.used_or_not) {
    const unsigned references = co_await take_references(exec, frame);
    FrameRecord& record = core_.frame_table.at(frame);
    const bool once = !record.on_file_lists() && !core_.config.kernel.has(Change::anon_starts_inactive);
    const bool activate = references > 1 || (references > 0 && (record.referenced || once));
    record.referenced = references > 0;
    if (references > 0) co_return activate ? Outcome::activate : Outcome::keep;
  }
  if (core_.frame_table.find(frame).file != 0) co_return co_await reclaim_file(exec, frame, batch);
  co_return co_await reclaim_anon(exec, frame, batch);
}

Task<Reclaim::Outcome> Reclaim::reclaim_anon(Execution& exec, Address frame, Batch& batch) {
  const FrameRecord& record = core_.frame_table.at(frame);
  // folio_maybe_dma_pinned, asked of pages that are to be swapped; or a fault is about to map the page. No kernel
  // splits a huge page that is held.
  const bool asks = core_.config.kernel.has(Change::reclaim_sees_pins) && !is_lazyfree(frame);
  if ((is_pinned(frame) && (asks || core_.is_whole(frame))) || record.isolated > 1) co_return Outcome::keep;
  co_await core_.split_frame(exec, frame);  // its other pages are looked at in their turn
  const bool discard = is_lazyfree(frame);
  if (!discard && !swap_.assign(frame)) co_return Outcome::activate;
  co_await core_.run(exec, core_.config.reclaim_page);
  const auto owners = co_await unmap(exec, frame, discard ? Unmap::discard : Unmap::to_swap, batch.unmapped);
  if (record.mappings > 0) co_return core_.evictable(frame) ? Outcome::activate : Outcome::unevictable;
  // A pin that found the page in the swap cache, or a fault that has.
  if (record.pins > 0 || record.isolated > 1) co_return Outcome::keep;
  for (const MmUser& owner : owners) core_.on_change(owner.process(), 1);
  if (record.slot != 0 && swap_.wanted(frame) && !swap_.is_clean(frame)) co_return Outcome::writing;
  co_return Outcome::freed;
}

// Unmapped first; then it is found whether it may go. A dirty one is for the flusher to write.
Task<Reclaim::Outcome> Reclaim::reclaim_file(Execution& exec, Address frame, Batch& batch) {
  const FrameRecord& record = core_.frame_table.at(frame);
  if (record.isolated > 1 || page_cache_.page_of(frame).writing) co_return Outcome::keep;
  if (record.swap_backed && record.slot == 0 && !swap_.has_free_slots()) co_return Outcome::activate;
  co_await core_.run(exec, core_.config.reclaim_page);
  const auto owners = co_await unmap(exec, frame, Unmap::file, batch.unmapped);
  for (const MmUser& owner : owners) core_.on_change(owner.process(), 1);
  if (record.mappings > 0) co_return core_.evictable(frame) ? Outcome::activate : Outcome::unevictable;
  if (record.pins > 0) co_return Outcome::activate;
  if (record.file == 0) co_return Outcome::freed;  // cut off meanwhile
  if (record.swap_backed) {
    // shmem_writepage, once nobody maps it: the slot takes the page's place in the file.
    if (record.isolated > 1) co_return Outcome::keep;
    if (!swap_.assign(frame)) co_return Outcome::activate;
    page_cache_.hand_to_swap(frame);
    co_return Outcome::writing;
  }
  const File::Page& page = page_cache_.page_of(frame);
  if (page.dirty) page_cache_.writeback().wake();
  co_return page.dirty || page.writing || record.isolated > 1 ? Outcome::keep : Outcome::freed;
}

void Reclaim::finish(Address frame, Outcome outcome, Batch& batch) {
  switch (outcome) {
    case Outcome::keep:
    case Outcome::activate:
      if (outcome == Outcome::activate) ++core_.counters.pgactivate;
      core_.put_back(frame, outcome == Outcome::activate);
      swap_.economize(frame);
      break;
    case Outcome::unevictable:
      ++core_.counters.unevictable_culled;
      core_.put_back(frame, /*active=*/false);
      break;
    case Outcome::writing:
      ++writing_;
      tasks_.start(write_and_free(frame, batch.counted));
      break;
    case Outcome::freed:
      if (take_from_caches(frame, batch.counted)) batch.freed.push_back(frame);
  }
}

Task<void> Reclaim::write_and_free(Address frame, bool counted) {
  co_await swap_.write(frame);
  --writing_;
  if (take_from_caches(frame, counted)) core_.put_back(frame, /*active=*/false);
  progress_.notify_all();
}

// Takes the page out of the caches, and leaves it to the caller to let go of. False: somebody has found it in the swap
// cache meanwhile, and it is back on its list.
bool Reclaim::take_from_caches(Address frame, bool counted) {
  const FrameRecord& record = core_.frame_table.at(frame);
  if (record.swap_backed && record.slot != 0) {  // shared memory that has been brought back meanwhile
    core_.put_back(frame, /*active=*/false);
    swap_.forget(frame);
    return false;
  }
  if (record.mappings > 0 || record.pins > 0 || record.isolated > 1 ||
      (swap_.wanted(frame) && !swap_.is_clean(frame))) {
    core_.put_back(frame, /*active=*/false);
    return false;
  }
  if (record.slot != 0) swap_.evict(frame);
  if (record.file != 0) page_cache_.remove(frame);
  ++freed_;
  ++core_.groups[record.group]->freed;
  if (counted) ++core_.counters.pgsteal;
  failures_ = 0;
  return true;
}

// folio_referenced: clears the access flags, and counts those that were set.
Task<unsigned> Reclaim::take_references(Execution& exec, Address frame) {
  unsigned found = 0;
  for (const Mapper& mapper : core_.frame_table.mappers(frame)) {
    if (!core_.frame_table.has_mapper(frame, mapper)) continue;
    Process& process = *mapper.process;
    const PageState* page = Mm::of(process).space.page(mapper.va);
    if (page == nullptr || page->frame != frame || !page->young) continue;
    const MmUser user(process);
    ++found;
    co_await core_.clear_young(exec, process, mapper.va);
  }
  co_return found;
}

// Any page of a huge one.
bool Reclaim::is_pinned(Address frame) const {
  return core_.frame_table.any_pinned(frame, core_.is_whole(frame) ? PageSize::huge : PageSize::small);
}

bool Reclaim::is_lazyfree(Address frame) const {
  const auto mappers = core_.frame_table.mappers(frame);
  return !mappers.empty() && std::all_of(mappers.begin(), mappers.end(), [](const Mapper& mapper) {
    return Mm::of(*mapper.process).space.entry(mapper.va)->lazyfree;
  });
}

// try_to_unmap: entries become references to the slot, or go. Those that are in motion or have failed keep
// the page, and so do those that were written since MADV_FREE: it is an ordinary page again; and those whose notifiers
// refuse. Whose entries they were.
Task<sim::Vector<MmUser>> Reclaim::unmap(Execution& exec, Address frame, Unmap how, UnmapBatch& batch) {
  sim::Vector<MmUser> owners;
  const auto unmap_there = [&](Process& process, VirtualAddress va) -> Task<void> {
    const PageState* page = Mm::of(process).space.entry(va);
    const Vma* vma = Mm::of(process).space.find(va);
    const bool there = page != nullptr && page->has_frame() && page->frame == frame &&
                       !Mm::of(process).space.is_huge(va) && (page->present() || page->entry == Entry::hidden) &&
                       (how != Unmap::discard || page->lazyfree) && (vma == nullptr || vma->evictable());
    if (there && co_await clear(exec, process, va, how, batch)) owners.emplace_back(process);
  };
  co_await core_.for_each_mapper(exec, frame, Taker::reclaim, Notice::asked, unmap_there);
  co_return owners;
}

// try_to_unmap_one. False: somebody has pinned the page, and the descriptor, which was cleared already, is put back.
// That happens to pages that were to be dropped (MADV_FREE), which are ordinary ones again. Since
// page_try_share_anon_rmap it also happens to pages that are pinned after reclaim has looked; before, such a pin found
// its page in the swap cache.
Task<bool> Reclaim::clear(Execution& exec, Process& process, VirtualAddress va, Unmap how, UnmapBatch& batch) {
  if (how == Unmap::file) {
    const VmCore::Zapped zapped = core_.zap(process, {va, va + kPage}, core_.taking(exec, Taker::reclaim));
    co_await core_.flush_unmapped(exec, process, va, batch);
    // An empty table is freed here, and translations of a pinned page count as stale from here on.
    const bool pinned = core_.frame_table.find(zapped.frames.front()).pins > 0;
    if (pinned || !zapped.tables.empty()) co_await core_.finish_unmapping(exec, batch);
    core_.retire(process, zapped);
    co_return true;
  }
  const PageState& page = *Mm::of(process).space.entry(va);
  const Entry before = page.entry;
  const Taking hidden_by = page.hidden_by;
  core_.hide(process, va, Entry::moving, core_.taking(exec, Taker::reclaim));
  co_await core_.flush_unmapped(exec, process, va, batch);
  const bool sees_pins = how == Unmap::discard || core_.config.kernel.has(Change::exclusive_pages);
  if (sees_pins && core_.frame_table.at(page.frame).pins > 0) {
    Mm::of(process).space.entry(va)->lazyfree = false;
    if (before == Entry::present) {
      core_.show(process, va);
    } else {
      VmCore::set_entry(process, *Mm::of(process).space.entry(va), before, hidden_by);
    }
    co_return false;
  }
  if (how == Unmap::discard) {
    VmCore::set_entry(process, *Mm::of(process).space.entry(va), Entry::hidden);
    const VmCore::Zapped zapped = core_.zap(process, {va, va + kPage}, core_.taking(exec, Taker::reclaim));
    if (!zapped.tables.empty()) co_await core_.flush(exec, process, va);
    core_.retire(process, zapped);
  } else {
    core_.swap_out(process, va);
  }
  co_return true;
}

// madvise_cold_or_pageout_pte_range, by page tables, and reclaim_pages.
Task<unsigned> Reclaim::page_out(Execution& exec, Process& process, Range range) {
  const MmUser user(process);
  unsigned gone = 0;
  for (VirtualAddress va = range.begin; va < range.end;) {
    const Range part{va, std::min(huge_range(va).end, range.end)};
    va = part.end;
    const auto frames = co_await isolate_range(exec, process, part);
    Batch batch{.used_or_not = true, .counted = false};
    for (const Address frame : frames) {
      const Outcome outcome = co_await shrink_page(exec, frame, batch);
      if (outcome == Outcome::writing || outcome == Outcome::freed) ++gone;
    }
    co_await end(exec, batch);
  }
  co_return gone;
}

// Pages that nobody else maps.
Task<sim::Vector<Address>> Reclaim::isolate_range(Execution& exec, Process& process, Range range) {
  AddressSpace& space = Mm::of(process).space;
  sim::Vector<Address> frames;
  for (VirtualAddress va = range.begin; const auto next = space.next_entry(va, range.end);) {
    va = *next + kPage;
    if (space.entry(*next)->zero || space.entry(*next)->pool) continue;
    if (space.is_huge(*next) && co_await core_.split(exec, process, *next, Notice::asked) == Error::again) {
      va = huge_range(*next).end;
      continue;
    }
    const PageState* page = space.page(*next);
    if (page == nullptr || !page->has_frame()) continue;
    const Address frame = page->frame;
    if (core_.frame_table.find(frame).mappings == 1 && core_.isolate(frame)) frames.push_back(frame);
  }
  co_return frames;
}

}  // namespace faultline::os
