// SPDX-License-Identifier: Apache-2.0
// The entries of process tables: each function changes the descriptor, the page's state, the frame's record and the
// reverse mapping together, so that they agree between any two instants.
#include <stdexcept>

#include "models/os/vm_core.hpp"

namespace faultline::os {

PageState& VmCore::state(Process& process, VirtualAddress va) {
  PageState* entry = process.space_.entry(va);
  if (entry == nullptr) throw std::logic_error("there is no page");
  return *entry;
}

// The frame's side of a new entry.
void VmCore::add_mappings(Process& process, VirtualAddress va, Address frame, PageSize size) {
  for (std::uint64_t offset = 0; offset < bytes_of(size); offset += kPage) {
    FrameRecord& record = frame_table.at(frame + offset);
    charge(process, frame + offset, record);
    ++record.mappings;
    frame_table.add_mapper(frame + offset, {&process, va + offset});
  }
  list_frame(process, va, frame);
}

// A frame that is new to the lists (and nobody works on it, who would put it back) begins as an old page (anonymous
// ones since 5.9 only); only one that is used while it gets there stays. What comes into a locked VMA is not to be
// taken.
void VmCore::list_frame(const Process& process, VirtualAddress va, Address frame) {
  const FrameRecord& record = frame_table.at(frame);
  const Vma* vma = process.space_.find(va);
  const bool evictable = vma == nullptr || vma->evictable();
  if (record.list != LruList::none) {
    if (!evictable) lru(record).move(frame, LruList::unevictable);
  } else if (record.isolated == 0 && !record.foreign && !record.pool) {
    const bool active = record.file == 0 && !config.kernel.has(Change::anon_starts_inactive);
    const LruList own = active ? record.active() : record.inactive();
    lru(record).add(frame, evictable ? own : LruList::unevictable);
  }
}

// The process's side of it.
Error VmCore::add_entry(Process& process, VirtualAddress va, const PageState& page, PageSize size) {
  // What is swapped leads nowhere; there must be a table for its note.
  const Address frame = page.entry == Entry::swapped ? zero_page_ : page.frame;
  const Error error = process.table_->map(va, frame, size, page.writable);
  if (error != Error::none) return error;
  if (!page.young) process.table_->set_young(va, false);
  if (!page.present()) process.table_->leave_note(va, size);
  process.space_.add_pages(va, page, size);
  return Error::none;
}

void VmCore::set_entry(Process& process, PageState& page, Entry entry) {
  const bool was_in_motion = page.in_motion();
  page.entry = entry;
  if (page.in_motion() == was_in_motion) return;
  if (was_in_motion) {
    --process.in_motion_;
    process.page_settled_.notify_all();
  } else {
    ++process.in_motion_;
  }
}

void VmCore::fill_with_zeros(NewPage page) {
  const auto zeros = sim::Content::zeros(kPage);
  for (std::uint64_t offset = 0; offset < bytes_of(page.size); offset += kPage) {
    const Address frame = page.frame + offset;
    if (!(store.read(frame, kPage) == zeros)) store.write(frame, zeros);
  }
}

Error VmCore::install(Process& process, VirtualAddress va, NewPage page, bool writable) {
  fill_with_zeros(page);
  return adopt(process, va, page, writable);
}

Error VmCore::adopt(Process& process, VirtualAddress va, NewPage page, bool writable) {
  const AddressSpace& space = process.space_;
  const VirtualAddress at = va / bytes_of(page.size) * bytes_of(page.size);
  const bool taken = page.size == PageSize::huge ? !space.huge_range_empty(at) : space.entry(at) != nullptr;
  const PageState fresh{.frame = page.frame,
                        .entry = Entry::present,
                        .writable = writable,
                        .young = true,
                        .pool = frame_table.find(page.frame).pool};
  const Error error = taken ? Error::again : add_entry(process, at, fresh, page.size);
  if (error == Error::none) {
    add_mappings(process, at, page.frame, page.size);
  } else {
    give_back(page);
  }
  return error;
}

Error VmCore::install_zero_page(Process& process, VirtualAddress va) {
  return add_entry(process, va, {.frame = zero_page_, .entry = Entry::present, .young = true, .zero = true},
                   PageSize::small);
}

Error VmCore::install_huge_zero_page(Process& process, VirtualAddress va) {
  if (!process.space_.huge_range_empty(va)) return Error::again;
  const PageState page{.frame = *huge_zero_page_, .entry = Entry::present, .young = true, .zero = true};
  return add_entry(process, huge_range(va).begin, page, PageSize::huge);
}

Error VmCore::share(Process& process, VirtualAddress va, PageState page, PageSize size) {
  page.write_protect();
  const Error error = add_entry(process, va, page, size);
  if (error != Error::none) return error;
  if (page.has_frame()) add_mappings(process, va, page.frame, size);
  if (page.entry == Entry::swapped) swap.retain(page.slot());
  return Error::none;
}

void VmCore::move(Process& process, VirtualAddress from, VirtualAddress to, PageSize size) {
  const PageState page = remove_entry(process, from, size);
  if (add_entry(process, to, page, size) != Error::none) {
    throw std::logic_error("no frame for a table that was counted on");
  }
  for (std::uint64_t offset = 0; offset < bytes_of(size) && page.has_frame(); offset += kPage) {
    frame_table.add_mapper(page.frame + offset, {&process, to + offset});
  }
}

// Descriptor, page state and reverse mapping; frames keep their mapping count.
PageState VmCore::remove_entry(Process& process, VirtualAddress va, PageSize size) {
  const PageState page = state(process, va);
  if (page.in_motion()) throw std::logic_error("a page that is in motion is unmapped");
  if (page.present()) {
    process.table_->unmap(va);
  } else {
    process.table_->drop_note(va, size);
  }
  process.space_.remove_pages(va);
  for (std::uint64_t offset = 0; offset < bytes_of(size) && page.has_frame(); offset += kPage) {
    frame_table.remove_mapper(page.frame + offset, {&process, va + offset});
  }
  return page;
}

void VmCore::protect(Process& process, VirtualAddress va, bool writable) {
  process.table_->protect(va, writable);
  process.space_.for_each_page_of_leaf(va, [writable](PageState& page) {
    page.writable = writable;
    page.clean = false;
  });
}

void VmCore::make_clean(Process& process, VirtualAddress va) {
  if (!state(process, va).writable) return;
  process.table_->protect(va, false);
  process.space_.for_each_page_of_leaf(va, [](PageState& page) {
    page.writable = false;
    page.clean = true;
  });
}

void VmCore::set_young(Process& process, VirtualAddress va, bool young) {
  process.table_->set_young(va, young);
  process.space_.for_each_page_of_leaf(va, [young](PageState& page) { page.young = young; });
}

void VmCore::hide(Process& process, VirtualAddress va, Entry as) {
  PageState& page = state(process, va);
  if (page.in_motion()) throw std::logic_error("a page that is in motion is hidden");
  if (page.present()) process.table_->leave_note(va, process.space_.is_huge(va) ? PageSize::huge : PageSize::small);
  set_entries(process, va, as);
}

void VmCore::show(Process& process, VirtualAddress at) {
  const PageSize size = process.space_.is_huge(at) ? PageSize::huge : PageSize::small;
  const VirtualAddress va = at / bytes_of(size) * bytes_of(size);
  const PageState& page = state(process, va);
  // The note's table is there, so this cannot fail.
  process.table_->map(va, page.frame, size, page.writable);
  if (!page.young) process.table_->set_young(va, false);
  set_entries(process, va, Entry::present);
}

void VmCore::redirect(Process& process, VirtualAddress va, Address frame) {
  PageState& page = state(process, va);
  if (page.zero) {
    process.space_.zero_page_replaced(va);
  } else {
    frame_table.remove_mapper(page.frame, {&process, va});
  }
  page.frame = frame;
  add_mappings(process, va, frame, PageSize::small);
}

void VmCore::redirect_block(Process& process, VirtualAddress va, Address block) {
  for (std::uint64_t offset = 0; offset < kHugePage; offset += kPage) {
    PageState& page = state(process, va + offset);
    frame_table.remove_mapper(page.frame, {&process, va + offset});
    page.frame = block + offset;
  }
  add_mappings(process, va, block, PageSize::huge);
}

void VmCore::swap_out(Process& process, VirtualAddress va) {
  PageState& page = state(process, va);
  const Address frame = page.frame;
  const SwapSlot slot = frame_table.at(frame).slot;
  swap.retain(slot, page.dirty || page.writable);
  frame_table.remove_mapper(frame, {&process, va});
  --frame_table.at(frame).mappings;
  set_entry(process, page, Entry::swapped);
  page = {.frame = slot, .entry = Entry::swapped, .userfault = page.userfault};
  process.space_.swapped_out();
}

void VmCore::swap_in(Process& process, VirtualAddress va, Address frame) {
  PageState& page = state(process, va);
  const SwapSlot slot = page.slot();
  page = {.frame = frame, .entry = Entry::swapped, .young = true, .userfault = page.userfault};
  show(process, va);
  process.space_.swapped_in();
  add_mappings(process, va, frame, PageSize::small);
  if (!config.kernel.has(Change::anon_starts_inactive) && evictable(frame)) {
    lru(frame_table.at(frame)).move(frame, LruList::active_anon);
  }
  swap.release(slot);
}

sim::Task<void> VmCore::replace_huge_zero_page(cpu::Execution& exec, Process& process, Range range, Address block) {
  process.table_->leave_note(range.begin, PageSize::huge);
  set_entries(process, range.begin, Entry::moving);
  co_await flush(exec, process, range.begin);
  map_in_place_of_note(process, range, block);
}

void VmCore::replace_huge_zero_page_now(Process& process, Range range, Address block) {
  process.table_->leave_note(range.begin, PageSize::huge);
  drop(process, range, {range.begin});
  map_in_place_of_note(process, range, block);
}

void VmCore::map_in_place_of_note(Process& process, Range range, Address block) {
  fill_with_zeros({block, PageSize::huge});
  set_entries(process, range.begin, Entry::hidden);
  process.space_.remove_pages(range.begin);
  const PageState own{.frame = block, .entry = Entry::present, .writable = true, .young = true};
  add_entry(process, range.begin, own, PageSize::huge);  // the note's table is there
  add_mappings(process, range.begin, block, PageSize::huge);
}

void VmCore::replace_by_block(Process& process, Range range, Address block, Address table) {
  AddressSpace& space = process.space_;
  sim::Vector<Address> old;
  bool dirty = false;
  space.for_each_leaf(range.begin, range.end, [&](VirtualAddress va, PageSize) {
    PageState& page = state(process, va);
    dirty = dirty || page.dirty;
    set_entry(process, page, Entry::hidden);
    if (page.has_frame()) {
      frame_table.remove_mapper(page.frame, {&process, va});
      old.push_back(page.frame);
    }
    space.remove_pages(va);
  });
  const PageState merged{.frame = block,
                         .entry = Entry::present,
                         .writable = space.find(range.begin)->writable,
                         .young = true,
                         .dirty = dirty};
  add_entry(process, range.begin, merged, PageSize::huge);  // the note's table is there
  add_mappings(process, range.begin, block, PageSize::huge);
  for (const Address frame : old) retire(process, frame);
  process.table_->free_detached(table);
}

VmCore::Zapped VmCore::zap(Process& process, Range range) {
  Zapped zapped;
  process.space_.for_each_leaf(range.begin, range.end, [&](VirtualAddress va, PageSize size) {
    const PageState page = remove_entry(process, va, size);
    // Where there was no valid descriptor, too: a walk cache may hold the table.
    zapped.leaves.add(va, size);
    if (page.entry == Entry::swapped) swap.release(page.slot());
    for (std::uint64_t offset = 0; offset < bytes_of(size) && page.has_frame(); offset += kPage) {
      zapped.frames.push_back(page.frame + offset);
    }
  });
  zapped.tables = process.table_->take_retired();
  return zapped;
}

sim::Task<Result<std::uint64_t>> VmCore::unmap(cpu::Execution& exec, Process& process, Range range) {
  co_await change_begins(exec, process, range);
  co_await settled(process, range);
  Result<std::uint64_t> unmapped{.error = split_edges_now(process, range)};
  if (unmapped.ok()) {
    const Zapped zapped = zap(process, range);
    co_await flush_gathered(exec, process, zapped.leaves, zapped.tables.size());
    retire(process, zapped);
    unmapped.value = zapped.frames.size();
  }
  change_ends(process, range);
  co_return unmapped;
}

// exit_mmap. An address space that goes needs no invalidation for its pages: who has its ASID next makes TLBs forget
// it.
sim::Task<void> VmCore::unmap_all(cpu::Execution& exec, Process& process) {
  const Range all{0, VirtualAddress{1} << process.page_table().va_bits()};
  co_await change_begins(exec, process, all);
  co_await settled(process, all);
  const Zapped zapped = zap(process, all);
  if (!config.kernel.has(Change::tlb_strides)) {
    drop(process, all, zapped.leaves.addresses());
    co_await tlbs.flush_tables(exec, zapped.tables.size());
  } else if (!zapped.leaves.empty()) {
    co_await flush_all(exec, process, zapped.leaves, zapped.tables.size());
  }
  retire(process, zapped);
  change_ends(process, all);
}

void VmCore::retire(Process& process, const Zapped& zapped) {
  for (const Address frame : zapped.frames) retire(process, frame);
  process.table_->free_tables(zapped.tables);
}

void VmCore::retire(const Process& process, Address frame) {
  FrameRecord& record = frame_table.at(frame);
  --record.mappings;
  // Who had locked it may have gone.
  if (record.list == LruList::unevictable && (record.mappings > 0 || record.file != 0) && evictable(frame)) {
    lru(record).move(frame, record.inactive());
  }
  // Devices still reach it through private tables as the page of a process that has pinned it and maps it no more: what
  // they do there that process does not see. Others that map it, and come and go (a child), do not matter.
  const bool cut_off = record.pins > 0 && frame_table.pins(process, frame) && !frame_table.maps(process, frame);
  if (cut_off && record.file == 0) stamp(frame);
  put_frame(frame);
}

void VmCore::retire_block(const Process& process, Address block) {
  for (std::uint64_t offset = 0; offset < kHugePage; offset += kPage) retire(process, block + offset);
}

namespace {

// Where the ends of the range cut huge pages.
sim::SmallVector<VirtualAddress, 2> cuts(const AddressSpace& space, Range range) {
  sim::SmallVector<VirtualAddress, 2> found;
  for (const VirtualAddress edge : {range.begin, range.end}) {
    // Pages of the pool are never split: who may not cut them has been refused.
    if (edge % kHugePage != 0 && space.is_huge(edge) && !space.entry(edge)->pool) found.push_back(edge);
  }
  return found;
}

}  // namespace

sim::Task<Error> VmCore::split_edges(cpu::Execution& exec, Process& process, Range range) {
  for (const VirtualAddress edge : cuts(process.space_, range)) {
    const Error error = co_await split(exec, process, edge);
    if (error != Error::none) co_return error;
  }
  co_return Error::none;
}

Error VmCore::split_edges_now(Process& process, Range range) {
  for (const VirtualAddress edge : cuts(process.space_, range)) {
    const Error error = process.space_.is_huge(edge) ? split_now(process, edge) : Error::none;
    if (error != Error::none) return error;
  }
  return Error::none;
}

sim::Task<Error> VmCore::split(cpu::Execution& exec, Process& process, VirtualAddress va) {
  const Range whole = huge_range(va);
  co_await change_begins(exec, process, whole);
  co_await settled(process, whole);
  Error error = Error::none;
  if (process.space_.is_huge(va)) {  // no other thread was faster
    const auto table = process.table_->prepare_split(va);
    if (table) {
      process.table_->leave_note(va, PageSize::huge);
      set_entries(process, va, Entry::moving);
      co_await flush(exec, process, whole.begin);
      co_await run(exec, config.thp_split);
      process.table_->attach_pages(va, *table);
      set_entries(process, va, Entry::present);
      process.space_.huge_split(va);
      list_tails(process, whole);
      ++counters.thp_split_pmd;
    } else {
      ++counters.out_of_memory;
      error = Error::no_memory;
    }
  }
  change_ends(process, whole);
  co_return error;
}

void VmCore::set_entries(Process& process, VirtualAddress va, Entry entry) {
  process.space_.for_each_page_of_leaf(va, [&](PageState& page) { set_entry(process, page, entry); });
}

sim::Task<Error> VmCore::split_frame(cpu::Execution& exec, Address frame) {
  for (const Mapper& mapper : frame_table.mappers(frame)) {
    if (!frame_table.has_mapper(frame, mapper) || !mapper.process->space_.is_huge(mapper.va)) continue;
    const Process::User user(*mapper.process);
    const Error error = co_await split(exec, *mapper.process, mapper.va);
    if (error != Error::none) co_return error;
  }
  co_return Error::none;
}

bool VmCore::is_whole(Address frame) const {
  const Mapper mapper = frame_table.find(frame).first;
  return mapper.process != nullptr && mapper.process->space_.is_huge(mapper.va);
}

Error VmCore::split_now(Process& process, VirtualAddress va) {
  const auto table = process.table_->prepare_split(va);
  if (!table) {
    ++counters.out_of_memory;
    return Error::no_memory;
  }
  process.table_->attach_pages(va, *table);
  process.space_.huge_split(va);
  list_tails(process, huge_range(va));
  return Error::none;
}

// What was on a list as one page is there as 512 now.
void VmCore::list_tails(const Process& process, Range range) {
  for (VirtualAddress va = range.begin; va < range.end; va += kPage) {
    list_frame(process, va, process.space_.entry(va)->frame);
  }
}

}  // namespace faultline::os
