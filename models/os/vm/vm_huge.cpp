// SPDX-License-Identifier: Apache-2.0
// The entries of huge pages: how one is split into small ones, replaced, or made of small ones.
#include "models/os/vm/vm_core.hpp"

namespace faultline::os {
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

sim::Task<void> VmCore::replace_huge_zero_page(cpu::Execution& exec, Process& process, Range range, Address block) {
  Mm::of(process).table->leave_note(range.begin, PageSize::huge);
  set_entries(process, range.begin, Entry::moving, taking(exec, Taker::copy));
  co_await flush(exec, process, range.begin);
  map_in_place_of_note(process, range, block);
}

void VmCore::replace_huge_zero_page_now(Process& process, Range range, Address block) {
  Mm::of(process).table->leave_note(range.begin, PageSize::huge);
  drop(process, range, {range.begin});
  map_in_place_of_note(process, range, block);
}

void VmCore::map_in_place_of_note(Process& process, Range range, Address block) {
  fill_with_zeros({block, PageSize::huge});
  set_entries(process, range.begin, Entry::hidden);
  Mm::of(process).space.remove_pages(range.begin);
  const PageState own{.frame = block, .entry = Entry::present, .writable = true, .young = true};
  add_entry(process, range.begin, own, PageSize::huge);  // the note's table is there
  add_mappings(process, range.begin, block, PageSize::huge);
}

void VmCore::replace_by_block(Process& process, Range range, Address block, Address table) {
  AddressSpace& space = Mm::of(process).space;
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
  Mm::of(process).table->free_detached(table);
}

sim::Task<Error> VmCore::split_edges(cpu::Execution& exec, Process& process, Range range) {
  for (const VirtualAddress edge : cuts(Mm::of(process).space, range)) {
    const Error error = co_await split(exec, process, edge);
    if (error != Error::none) co_return error;
  }
  co_return Error::none;
}

Error VmCore::split_edges_now(Process& process, Range range) {
  for (const VirtualAddress edge : cuts(Mm::of(process).space, range)) {
    const Error error = Mm::of(process).space.is_huge(edge) ? split_now(process, edge) : Error::none;
    if (error != Error::none) return error;
  }
  return Error::none;
}

sim::Task<Error> VmCore::split(cpu::Execution& exec, Process& process, VirtualAddress va, Notice notice) {
  const Range whole = huge_range(va);
  if (!co_await change_begins(exec, process, whole, Taker::split, notice)) co_return Error::again;
  co_await settled(process, whole);
  Error error = Error::none;
  if (Mm::of(process).space.is_huge(va)) {  // no other thread was faster
    const auto table = Mm::of(process).table->prepare_split(va);
    if (table) {
      Mm::of(process).table->leave_note(va, PageSize::huge);
      set_entries(process, va, Entry::moving, taking(exec, Taker::split));
      co_await flush(exec, process, whole.begin);
      co_await run(exec, config.thp_split);
      Mm::of(process).table->attach_pages(va, *table);
      set_entries(process, va, Entry::present);
      Mm::of(process).space.huge_split(va);
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

sim::Task<Error> VmCore::split_frame(cpu::Execution& exec, Address frame) {
  for (const Mapper& mapper : frame_table.mappers(frame)) {
    if (!frame_table.has_mapper(frame, mapper) || !Mm::of(*mapper.process).space.is_huge(mapper.va)) continue;
    const MmUser user(*mapper.process);
    const Error error = co_await split(exec, *mapper.process, mapper.va, Notice::asked);
    if (error != Error::none) co_return error;
  }
  co_return Error::none;
}

bool VmCore::is_whole(Address frame) const {
  const Mapper mapper = frame_table.find(frame).first;
  return mapper.process != nullptr && Mm::of(*mapper.process).space.is_huge(mapper.va);
}

Error VmCore::split_now(Process& process, VirtualAddress va) {
  const auto table = Mm::of(process).table->prepare_split(va);
  if (!table) {
    ++counters.out_of_memory;
    return Error::no_memory;
  }
  Mm::of(process).table->attach_pages(va, *table);
  Mm::of(process).space.huge_split(va);
  list_tails(process, huge_range(va));
  return Error::none;
}

// A huge page is on a list by its first frame; after the split each of the 512 pages is.
void VmCore::list_tails(const Process& process, Range range) {
  for (VirtualAddress va = range.begin; va < range.end; va += kPage) {
    list_frame(process, va, Mm::of(process).space.entry(va)->frame);
  }
}

}  // namespace faultline::os
