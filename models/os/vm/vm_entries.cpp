// SPDX-License-Identifier: Apache-2.0
// The entries of process tables: each function changes the descriptor, the page's state, the frame's record and the
// reverse mapping together, so that they agree between any two instants.
#include <stdexcept>

#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

PageState& VmCore::state(Process& process, VirtualAddress va) {
  PageState* entry = Mm::of(process).space.entry(va);
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

// Puts a newly mapped frame on a list, unless a mechanism has isolated it and will put it back. The page begins on the
// inactive list, anonymous ones before 5.9 on the active one; in a locked VMA, on the list of unevictable pages.
void VmCore::list_frame(const Process& process, VirtualAddress va, Address frame) {
  const FrameRecord& record = frame_table.at(frame);
  const Vma* vma = Mm::of(process).space.find(va);
  const bool evictable = vma == nullptr || vma->evictable();
  if (record.list != LruList::none) {
    if (!evictable) lru(record).move(frame, LruList::unevictable);
  } else if (record.isolated == 0 && !record.foreign && !record.pool) {
    const bool active = record.file == 0 && !config.kernel.has(Change::anon_starts_inactive);
    const LruList own = active ? record.active() : record.inactive();
    lru(record).add(frame, evictable ? own : LruList::unevictable);
    note_arrival(record);
  }
}

// The process's side of it.
Error VmCore::add_entry(Process& process, VirtualAddress va, const PageState& page, PageSize size) {
  // What is swapped leads nowhere; there must be a table for its note.
  const Address frame = page.entry == Entry::swapped ? zero_page_ : page.frame;
  const Error error = Mm::of(process).table->map(va, frame, size, page.writable);
  if (error != Error::none) return error;
  if (!page.young) Mm::of(process).table->set_young(va, false);
  if (!page.present()) Mm::of(process).table->leave_note(va, size);
  Mm::of(process).space.add_pages(va, page, size);
  if (page.present()) Mm::of(process).notifiers.usable(va);
  return Error::none;
}

void VmCore::set_entry(Process& process, PageState& page, Entry entry, Taking by) {
  const bool was_in_motion = page.in_motion();
  page.entry = entry;
  page.hidden_by = by;
  if (page.in_motion() == was_in_motion) return;
  if (was_in_motion) {
    --Mm::of(process).in_motion;
    Mm::of(process).page_settled.notify_all();
  } else {
    ++Mm::of(process).in_motion;
  }
}

void VmCore::set_entries(Process& process, VirtualAddress va, Entry entry, Taking by) {
  Mm::of(process).space.for_each_page_of_leaf(va, [&](PageState& page) { set_entry(process, page, entry, by); });
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
  const AddressSpace& space = Mm::of(process).space;
  const VirtualAddress at = page_range(va, page.size).begin;
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
  if (!Mm::of(process).space.huge_range_empty(va)) return Error::again;
  const PageState page{.frame = *huge_zero_page_, .entry = Entry::present, .young = true, .zero = true};
  return add_entry(process, huge_range(va).begin, page, PageSize::huge);
}

Error VmCore::share(Process& process, VirtualAddress va, PageState page, PageSize size, Taking by) {
  page.write_protect(by);
  const Error error = add_entry(process, va, page, size);
  if (error != Error::none) return error;
  if (page.has_frame()) add_mappings(process, va, page.frame, size);
  if (page.entry == Entry::swapped) swap_->retain(page.slot(), /*written=*/false);
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
    Mm::of(process).table->unmap(va);
  } else {
    Mm::of(process).table->drop_note(va, size);
  }
  Mm::of(process).space.remove_pages(va);
  for (std::uint64_t offset = 0; offset < bytes_of(size) && page.has_frame(); offset += kPage) {
    frame_table.remove_mapper(page.frame + offset, {&process, va + offset});
  }
  return page;
}

void VmCore::protect(Process& process, VirtualAddress va, Taking by) {
  Mm::of(process).table->protect(va, false);
  Mm::of(process).space.for_each_page_of_leaf(va, [by](PageState& page) { page.write_protect(by); });
}

void VmCore::allow_writing(Process& process, VirtualAddress va) {
  Mm::of(process).table->protect(va, true);
  Mm::of(process).space.for_each_page_of_leaf(va, [](PageState& page) {
    page.writable = true;
    page.clean = false;
    page.protected_by = {};
  });
  Mm::of(process).notifiers.usable(va);
}

void VmCore::make_clean(Process& process, VirtualAddress va, Taking by) {
  if (!state(process, va).writable) return;
  Mm::of(process).table->protect(va, false);
  Mm::of(process).space.for_each_page_of_leaf(va, [by](PageState& page) {
    page.writable = false;
    page.clean = true;
    page.protected_by = by;
  });
}

void VmCore::set_young(Process& process, VirtualAddress va) {
  Mm::of(process).table->set_young(va, true);
  Mm::of(process).space.for_each_page_of_leaf(va, [](PageState& page) {
    page.young = true;
    page.aged_by = {};
  });
  Mm::of(process).notifiers.usable(va);
}

void VmCore::set_old(Process& process, VirtualAddress va, Taking by) {
  Mm::of(process).table->set_young(va, false);
  Mm::of(process).space.for_each_page_of_leaf(va, [by](PageState& page) {
    page.young = false;
    page.aged_by = by;
  });
}

void VmCore::hide(Process& process, VirtualAddress va, Entry as, Taking by) {
  PageState& page = state(process, va);
  if (page.in_motion()) throw std::logic_error("a page that is in motion is hidden");
  if (page.present()) Mm::of(process).table->leave_note(va, Mm::of(process).space.leaf_size(va));
  set_entries(process, va, as, by);
}

void VmCore::show(Process& process, VirtualAddress at) {
  const PageSize size = Mm::of(process).space.leaf_size(at);
  const VirtualAddress va = page_range(at, size).begin;
  const PageState& page = state(process, va);
  // The note's table is there, so this cannot fail.
  Mm::of(process).table->map(va, page.frame, size, page.writable);
  if (!page.young) Mm::of(process).table->set_young(va, false);
  set_entries(process, va, Entry::present);
  Mm::of(process).notifiers.usable(va);
}

void VmCore::redirect(Process& process, VirtualAddress va, Address frame) {
  PageState& page = state(process, va);
  if (page.zero) {
    Mm::of(process).space.zero_page_replaced(va);
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
  swap_->retain(slot, page.dirty || page.writable);
  frame_table.remove_mapper(frame, {&process, va});
  --frame_table.at(frame).mappings;
  const Taking by = page.hidden_by;
  set_entry(process, page, Entry::swapped);
  page = {.frame = slot, .entry = Entry::swapped, .userfault = page.userfault, .hidden_by = by};
  Mm::of(process).space.swapped_out();
}

void VmCore::swap_in(Process& process, VirtualAddress va, Address frame) {
  PageState& page = state(process, va);
  const SwapSlot slot = page.slot();
  page = {.frame = frame, .entry = Entry::swapped, .young = true, .userfault = page.userfault};
  show(process, va);
  Mm::of(process).space.swapped_in();
  add_mappings(process, va, frame, PageSize::small);
  if (!config.kernel.has(Change::anon_starts_inactive) && evictable(frame)) {
    lru(frame_table.at(frame)).move(frame, LruList::active_anon);
    note_arrival(frame_table.at(frame));
  }
  swap_->release(slot);
}

}  // namespace faultline::os
