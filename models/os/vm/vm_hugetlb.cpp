// SPDX-License-Identifier: Apache-2.0
// Mappings of the pool of huge pages (MAP_HUGETLB, private): their faults and their copies. Linux mm/hugetlb.c.
#include <algorithm>

#include "models/os/vm/vm.hpp"

namespace faultline::os {

// hugetlb_fault: of a page that is absent, or is to be written and must not be. Either ends with the page there or
// with an error; `again`: look once more.
sim::Task<Error> Vm::hugetlb_fault(cpu::Execution& exec, Process& process, VirtualAddress at, bool write,
                                   sim::Time owed) {
  const VirtualAddress va = huge_range(at).begin;
  const Vma vma = *Mm::of(process).space.find(va);
  const HugePool::PageKey key{vma.hugetlb, (va - vma.file_origin) / kHugePage};
  co_await run(exec, owed + core_.config.fault_no_alloc);
  co_await core_.huge_pool.lock(core_.cpu, exec, key);
  Error error = Error::again;
  const PageState* page = Mm::of(process).space.entry(va);
  if (page == nullptr) {
    error = co_await hugetlb_no_page(exec, process, va, write);
  } else if (write && page->present() && !page->writable) {
    error = co_await hugetlb_wp(exec, process, va, key);
  }
  core_.huge_pool.unlock(key);
  co_return error;
}

// There is no zero page: reads bring a page of the mapping's own, too, which must not be written yet.
sim::Task<Error> Vm::hugetlb_no_page(cpu::Execution& exec, Process& process, VirtualAddress va, bool write) {
  const Vma vma = *Mm::of(process).space.find(va);
  const auto page = vma.lost_pages ? std::nullopt : core_.huge_pool.take(process, va);
  if (!page) {
    ++core_.counters.hugetlb_refused;
    co_return Error::no_huge_page;
  }
  ++core_.counters.hugetlb_fault_alloc;
  co_await run(exec, core_.config.hugetlb_fault);
  co_await core_.clear_memory(exec, {page->block, PageSize::huge});
  const Error error = core_.install(process, va, {page->block, PageSize::huge}, write && vma.writable);
  if (error != Error::none && page->reserved) core_.huge_pool.restore(process, va);
  if (error == Error::no_memory) ++core_.counters.out_of_memory;  // for a table
  co_return error;
}

// hugetlb_wp: who has the page alone may write it again. A copy is not taken from what others have reserved; where the
// pool has none to spare the mapping's maker takes the page from those who share it, and a child is refused.
sim::Task<Error> Vm::hugetlb_wp(cpu::Execution& exec, Process& process, VirtualAddress va, HugePool::PageKey key) {
  const Address old = Mm::of(process).space.page(va)->frame;
  const Vma vma = *Mm::of(process).space.find(va);
  const auto unchanged = [&] {
    const PageState* page = Mm::of(process).space.page(va);
    return page != nullptr && page->frame == old && !page->writable;
  };
  ++core_.counters.cow_faults;
  for (;;) {
    if (!unchanged()) co_return Error::again;
    if (core_.frame_table.find(old).mappings == 1) {
      core_.allow_writing(process, va);
      core_.set_young(process, va);
      co_await core_.flush_entry(exec, process, va);
      co_return Error::again;  // the caller looks whether the page may still be used
    }
    if (const auto block = core_.huge_pool.take_available()) {
      co_return co_await hugetlb_copy(exec, process, va, *block);
    }
    ++core_.counters.hugetlb_refused;
    if (!vma.reserves) co_return Error::no_huge_page;
    core_.huge_pool.unlock(key);
    co_await unmap_from_others(exec, process, va);
    co_await core_.huge_pool.lock(core_.cpu, exec, key);
  }
}

sim::Task<Error> Vm::hugetlb_copy(cpu::Execution& exec, Process& process, VirtualAddress va, Address block) {
  const Address old = Mm::of(process).space.page(va)->frame;
  const Range range = huge_range(va);
  const VmCore::Hold hold(core_, old);
  ++core_.counters.hugetlb_fault_alloc;
  co_await run(exec, core_.config.hugetlb_fault);
  co_await core_.copy_block(exec, old, block);
  co_await core_.change_begins(exec, process, range, Taker::copy);
  const PageState* page = Mm::of(process).space.page(va);
  const bool unchanged = page != nullptr && page->frame == old && !page->writable;
  if (unchanged) {
    core_.hide(process, va, Entry::moving, core_.taking(exec, Taker::copy));
    co_await core_.flush(exec, process, va);
    own_block(process, va, block);
  } else {
    core_.huge_pool.give_back(block);
  }
  core_.change_ends(process, range);
  if (unchanged) core_.retire_block(process, old);
  co_return Error::again;  // the caller looks whether the page may still be used
}

// A page that is moving is this block from now on, and may be written.
void Vm::own_block(Process& process, VirtualAddress va, Address block) {
  core_.redirect_block(process, va, block);
  Mm::of(process).space.for_each_page_of_leaf(va, [](PageState& page) {
    page.writable = page.young = true;
    page.protected_by = page.aged_by = {};
  });
  core_.show(process, va);
}

// unmap_ref_private: processes without reservations lose this page. Their next fault on it is refused, because a page
// of zeros in place of their data would be worse.
sim::Task<void> Vm::unmap_from_others(cpu::Execution& exec, Process& process, VirtualAddress va) {
  const Address frame = Mm::of(process).space.page(va)->frame;
  for (const Mapper& mapper : core_.frame_table.mappers(frame)) {
    if (mapper.process == &process || !core_.frame_table.has_mapper(frame, mapper)) continue;
    Process& other = *mapper.process;
    const MmUser user(other);
    const Vma* theirs = Mm::of(other).space.find(mapper.va);
    if (theirs == nullptr || theirs->reserves) continue;
    Mm::of(other).space.change(theirs->begin, theirs->end, [](Vma& vma) { vma.lost_pages = true; });
    co_await core_.unmap(exec, other, huge_range(mapper.va), Taker::copy);
    ++core_.counters.hugetlb_unmapped;
  }
}

// copy_hugetlb_page_range, of one page under a pin: the child gets a copy, not from what others have reserved.
sim::Task<Error> Vm::copy_block_for_child(cpu::Execution& exec, Process& parent, Process& child, VirtualAddress va) {
  const Address old = Mm::of(parent).space.entry(va)->frame;
  const bool hidden = Mm::of(parent).space.entry(va)->entry == Entry::hidden;
  const Taking hidden_by = Mm::of(parent).space.entry(va)->hidden_by;
  const auto block = core_.huge_pool.take_available();
  if (!block) {
    ++core_.counters.hugetlb_refused;
    co_return Error::no_memory;
  }
  const VmCore::Hold hold(core_, old);  // or it would be gone with its pin
  co_await core_.copy_block(exec, old, *block);
  const Error error = core_.adopt(child, va, {*block, PageSize::huge}, Mm::of(parent).space.find(va)->writable);
  if (error == Error::none && hidden) core_.hide(child, va, Entry::hidden, hidden_by);
  co_return error;
}

// hugetlb_vm_op_split: neither end may lie in the midst of a huge page.
bool Vm::cuts_huge_page(const Process& process, Range range) {
  bool cut = false;
  Mm::of(process).space.for_each_vma(range.begin, range.end, [&](const Vma& vma) {
    const bool begins = range.begin > vma.begin && range.begin % kHugePage != 0;
    const bool ends = range.end < vma.end && range.end % kHugePage != 0;
    cut = cut || (vma.hugetlb != 0 && (begins || ends));
  });
  return cut;
}

bool Vm::maps_pool(const Process& process, Range range) {
  bool found = false;
  Mm::of(process).space.for_each_vma(range.begin, range.end,
                                     [&](const Vma& vma) { found = found || vma.hugetlb != 0; });
  return found;
}

// can_madv_lru_vma, hugepage_madvise, madvise_dontneed_free_valid_vma.
bool Vm::refused_of_pool(const Process& process, Range range, Advice advice) const {
  switch (advice) {
    case Advice::populate_read:
    case Advice::populate_write: return false;
    case Advice::dont_fork:
    case Advice::do_fork: return cuts_huge_page(process, range);
    case Advice::dont_need:
    case Advice::dont_need_locked: {
      if (!core_.config.kernel.has(Change::hugetlb_dont_need)) return true;
      const Vma* first = process.space().find(range.begin);
      return first != nullptr && first->hugetlb != 0 && range.begin % kHugePage != 0;
    }
    default: return true;
  }
}

// The range without the pages of the pool that its ends cut: such pages are dropped whole or not at all.
sim::SmallVector<Range, 2> Vm::without_cut_pages(const Process& process, Range range) {
  sim::SmallVector<Range, 2> parts;
  const auto add = [&parts](VirtualAddress begin, VirtualAddress end) {
    if (begin < end) parts.push_back({begin, end});
  };
  VirtualAddress from = range.begin;
  process.space().for_each_vma(range.begin, range.end, [&](const Vma& vma) {
    if (vma.hugetlb == 0) return;
    add(from, std::max(range.begin, vma.begin));
    const Range whole = whole_huge_pages({std::max(range.begin, vma.begin), std::min(range.end, vma.end)});
    add(whole.begin, whole.end);
    from = std::min(range.end, vma.end);
  });
  add(from, range.end);
  return parts;
}

// Reserves pages anew where the maker of a mapping has lost one that it had reserved, as long as any are free.
void Vm::restore_reservations(Process& process, Range range) {
  Mm::of(process).space.for_each_vma(range.begin, range.end, [&](const Vma& vma) {
    if (!vma.reserves) return;
    const VirtualAddress end = std::min(range.end, vma.end);
    for (VirtualAddress va = std::max(range.begin, vma.begin); va + kHugePage <= end; va += kHugePage) {
      if (Mm::of(process).space.huge_range_empty(va) && core_.huge_pool.available_pages() > 0) {
        core_.huge_pool.restore(process, va);
      }
    }
  });
}

// For set-up.

Result<VirtualAddress> Vm::map_huge(Process& process, std::uint64_t bytes) {
  const std::uint64_t length = huge_page_end(bytes);
  const auto gap = length < bytes || length == 0 ? std::nullopt : Mm::of(process).space.find_gap(length, kHugePage);
  if (!gap) return {.error = Error::no_memory};
  const Range range{*gap, *gap + length};
  if (!core_.huge_pool.reserve(process, range)) return {.error = Error::no_huge_page};
  Mm::of(process).space.insert(Vma{.begin = range.begin,
                                   .end = range.end,
                                   .reserves = true,
                                   .hugetlb = core_.huge_pool.new_mapping(),
                                   .file_origin = range.begin});
  return {.value = range.begin};
}

Error Vm::bring_block(Process& process, VirtualAddress at) {
  const VirtualAddress va = huge_range(at).begin;
  const Vma& vma = *Mm::of(process).space.find(va);
  const auto page = vma.lost_pages ? std::nullopt : core_.huge_pool.take(process, va);
  if (!page) return Error::no_huge_page;
  return core_.install(process, va, {page->block, PageSize::huge}, vma.writable);
}

Error Vm::own_block_now(Process& process, VirtualAddress at) {
  const VirtualAddress va = huge_range(at).begin;
  const Address old = Mm::of(process).space.page(va)->frame;
  if (core_.frame_table.find(old).mappings == 1) {
    core_.allow_writing(process, va);
    core_.drop(process, huge_range(va), {va});
    return Error::none;
  }
  const auto block = core_.huge_pool.take_available();
  if (!block) return Error::no_huge_page;
  core_.copy_block_now(old, *block);
  core_.hide(process, va, Entry::moving, {Taker::copy, false});
  core_.drop(process, huge_range(va), {va});
  own_block(process, va, *block);
  core_.retire_block(process, old);
  return Error::none;
}

}  // namespace faultline::os
