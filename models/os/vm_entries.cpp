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

Error VmCore::install(Process& process, VirtualAddress va, NewPage page, bool writable) {
  AddressSpace& space = process.space_;
  const std::uint64_t bytes = bytes_of(page.size);
  const VirtualAddress at = va / bytes * bytes;
  const bool taken = page.size == PageSize::huge ? !space.huge_range_empty(at) : space.entry(at) != nullptr;
  const Error error = taken ? Error::again : process.table_->map(at, page.frame, page.size, writable);
  if (error != Error::none) {
    give_back(page);
    return error;
  }
  const auto zeros = sim::Content::zeros(kPage);
  for (std::uint64_t offset = 0; offset < bytes; offset += kPage) {
    const Address frame = page.frame + offset;
    if (!(store.read(frame, kPage) == zeros)) store.write(frame, zeros);
    ++frame_table.at(frame).mappings;
    frame_table.add_mapper(frame, {&process, at + offset});
  }
  space.add_pages(at, {.frame = page.frame, .entry = Entry::present, .writable = writable, .young = true}, page.size);
  return Error::none;
}

Error VmCore::install_zero_page(Process& process, VirtualAddress va) {
  const Error error = process.table_->map(va, zero_page_, PageSize::small, false);
  if (error != Error::none) return error;
  process.space_.add_pages(va, {.frame = zero_page_, .entry = Entry::present, .young = true, .zero = true},
                           PageSize::small);
  return Error::none;
}

Error VmCore::share(Process& process, VirtualAddress va, const PageState& page, PageSize size) {
  const Error error = process.table_->map(va, page.frame, size, false);
  if (error != Error::none) return error;
  if (!page.young) process.table_->set_young(va, false);
  PageState shared = page;
  shared.writable = false;
  process.space_.add_pages(va, shared, size);
  if (page.entry == Entry::hidden) process.table_->leave_note(va, size);
  for (std::uint64_t offset = 0; offset < bytes_of(size) && !page.zero; offset += kPage) {
    ++frame_table.at(page.frame + offset).mappings;
    frame_table.add_mapper(page.frame + offset, {&process, va + offset});
  }
  return Error::none;
}

void VmCore::move(Process& process, VirtualAddress from, VirtualAddress to, PageSize size) {
  const PageState page = state(process, from);
  if (page.present()) {
    process.table_->unmap(from);
  } else {
    process.table_->drop_note(from, size);
  }
  process.space_.remove_pages(from);
  if (process.table_->map(to, page.frame, size, page.writable) != Error::none) {
    throw std::logic_error("no frame for a table that was counted on");
  }
  if (!page.young) process.table_->set_young(to, false);
  process.space_.add_pages(to, page, size);
  if (!page.present()) process.table_->leave_note(to, size);
  for (std::uint64_t offset = 0; offset < bytes_of(size) && !page.zero; offset += kPage) {
    frame_table.remove_mapper(page.frame + offset, {&process, from + offset});
    frame_table.add_mapper(page.frame + offset, {&process, to + offset});
  }
}

void VmCore::protect(Process& process, VirtualAddress va, bool writable) {
  process.table_->protect(va, writable);
  if (!process.space_.is_huge(va)) {
    state(process, va).writable = writable;
    return;
  }
  const Range whole = huge_range(va);
  for (VirtualAddress at = whole.begin; at < whole.end; at += kPage) state(process, at).writable = writable;
}

void VmCore::set_young(Process& process, VirtualAddress va, bool young) {
  process.table_->set_young(va, young);
  if (!process.space_.is_huge(va)) {
    state(process, va).young = young;
    return;
  }
  const Range whole = huge_range(va);
  for (VirtualAddress at = whole.begin; at < whole.end; at += kPage) state(process, at).young = young;
}

void VmCore::hide(Process& process, VirtualAddress va, Entry as) {
  PageState& page = state(process, va);
  if (page.in_motion()) throw std::logic_error("a page that is in motion is hidden");
  if (page.present()) process.table_->leave_note(va, PageSize::small);
  set_entry(process, page, as);
}

void VmCore::show(Process& process, VirtualAddress va) {
  PageState& page = state(process, va);
  // The note's table is there, so this cannot fail.
  process.table_->map(va, page.frame, PageSize::small, page.writable);
  if (!page.young) process.table_->set_young(va, false);
  set_entry(process, page, Entry::present);
}

void VmCore::redirect(Process& process, VirtualAddress va, Address frame) {
  PageState& page = state(process, va);
  if (page.zero) {
    process.space_.zero_page_replaced(va);
  } else {
    frame_table.remove_mapper(page.frame, {&process, va});
  }
  page.frame = frame;
  ++frame_table.at(frame).mappings;
  frame_table.add_mapper(frame, {&process, va});
}

void VmCore::replace_by_block(Process& process, Range range, Address block, Address table) {
  AddressSpace& space = process.space_;
  sim::Vector<Address> old;
  bool dirty = false;
  for (VirtualAddress va = range.begin; const auto next = space.next_entry(va, range.end);) {
    va = *next + kPage;
    const PageState page = *space.entry(*next);
    dirty = dirty || page.dirty;
    set_entry(process, *space.entry(*next), Entry::hidden);
    space.remove_pages(*next);
    if (page.zero) continue;
    frame_table.remove_mapper(page.frame, {&process, *next});
    old.push_back(page.frame);
  }
  const bool writable = space.find(range.begin)->writable;
  process.table_->map(range.begin, block, PageSize::huge, writable);
  space.add_pages(range.begin,
                  {.frame = block, .entry = Entry::present, .writable = writable, .young = true, .dirty = dirty},
                  PageSize::huge);
  for (std::uint64_t offset = 0; offset < kHugePage; offset += kPage) {
    ++frame_table.at(block + offset).mappings;
    frame_table.add_mapper(block + offset, {&process, range.begin + offset});
  }
  for (const Address frame : old) retire(frame);
  process.table_->free_detached(table);
}

VmCore::Zapped VmCore::zap(Process& process, Range range) {
  Zapped zapped;
  AddressSpace& space = process.space_;
  VirtualAddress va = range.begin;
  while (const auto next = space.next_entry(va, range.end)) {
    const PageState page = *space.entry(*next);
    const PageSize size = space.is_huge(*next) ? PageSize::huge : PageSize::small;
    if (page.in_motion()) throw std::logic_error("a page that is in motion is unmapped");
    if (page.present()) {
      process.table_->unmap(*next);
    } else {
      process.table_->drop_note(*next, size);
    }
    // Where there was no valid descriptor, too: a walk cache may hold the table.
    zapped.leaves.push_back(*next);
    space.remove_pages(*next);
    for (std::uint64_t offset = 0; offset < bytes_of(size) && !page.zero; offset += kPage) {
      frame_table.remove_mapper(page.frame + offset, {&process, *next + offset});
      zapped.frames.push_back(page.frame + offset);
    }
    va = *next + bytes_of(size);
  }
  zapped.tables = process.table_->take_retired();
  return zapped;
}

void VmCore::retire(Process& process, const Zapped& zapped) {
  for (const Address frame : zapped.frames) retire(frame);
  process.table_->free_tables(zapped.tables);
}

void VmCore::retire(Address frame) {
  FrameRecord& record = frame_table.at(frame);
  --record.mappings;
  // Devices still reach it through private tables, and what they do there the process does not see.
  if (record.pins > 0) stamp(frame);
  put_frame(frame);
}

sim::Task<Error> VmCore::split_edges(cpu::Execution& exec, Process& process, Range range) {
  for (const VirtualAddress edge : {range.begin, range.end}) {
    if (edge % kHugePage == 0 || !process.space_.is_huge(edge)) continue;
    const Error error = co_await split(exec, process, edge);
    if (error != Error::none) co_return error;
  }
  co_return Error::none;
}

sim::Task<Error> VmCore::split(cpu::Execution& exec, Process& process, VirtualAddress va) {
  const auto table = process.table_->prepare_split(va);
  if (!table) {
    ++counters.out_of_memory;
    co_return Error::no_memory;
  }
  const Range whole = huge_range(va);
  process.table_->leave_note(va, PageSize::huge);
  for (VirtualAddress at = whole.begin; at < whole.end; at += kPage) {
    set_entry(process, state(process, at), Entry::moving);
  }
  process.space_.huge_split(va);
  co_await change_begins(exec, process, whole);
  co_await flush(exec, process, whole.begin);
  co_await run(exec, config.thp_split);
  process.table_->attach_pages(va, *table);
  for (VirtualAddress at = whole.begin; at < whole.end; at += kPage) {
    set_entry(process, state(process, at), Entry::present);
  }
  ++counters.thp_split_pmd;
  change_ends(process);
  co_return Error::none;
}

Error VmCore::split_edges_now(Process& process, Range range) {
  for (const VirtualAddress edge : {range.begin, range.end}) {
    if (edge % kHugePage == 0 || !process.space_.is_huge(edge)) continue;
    const Error error = split_now(process, edge);
    if (error != Error::none) return error;
  }
  return Error::none;
}

Error VmCore::split_now(Process& process, VirtualAddress va) {
  const auto table = process.table_->prepare_split(va);
  if (!table) {
    ++counters.out_of_memory;
    return Error::no_memory;
  }
  process.table_->attach_pages(va, *table);
  process.space_.huge_split(va);
  return Error::none;
}

}  // namespace faultline::os
