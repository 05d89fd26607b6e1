// SPDX-License-Identifier: Apache-2.0
// The system calls that change what is mapped: advice, protection, moving.
#include "models/os/vm/told_call.hpp"
#include "models/os/vm/vm.hpp"

namespace faultline::os {
namespace {

constexpr std::uint64_t kLatencyLimit = 64 * kPage;  // LATENCY_LIMIT: what mremap moved at once

}  // namespace

sim::Task<Error> Vm::madvise(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes,
                             Advice advice) {
  const ToldCall told(core_.context, exec, process, "madvise", va, bytes);
  co_await run(exec, core_.config.syscall);
  const auto found = aligned_pages(process, va, bytes);
  if (!found.ok()) co_return found.error;
  const Range range = found.value;
  AddressSpace& space = Mm::of(process).space;

  if (maps_pool(process, range) && refused_of_pool(process, range, advice)) co_return Error::invalid;
  if (advice == Advice::collapse && !core_.config.kernel.has(Change::madv_collapse)) co_return Error::invalid;
  if (advice == Advice::collapse) co_return co_await collapse(exec, process, range);
  if (advice == Advice::dont_need_locked && !core_.config.kernel.has(Change::dontneed_locked)) co_return Error::invalid;
  if (advice == Advice::page_out) co_return co_await page_out(exec, process, range);
  const bool populates = advice == Advice::populate_read || advice == Advice::populate_write;
  if (populates && !core_.config.kernel.has(Change::madv_populate)) co_return Error::invalid;
  if (populates) co_return co_await populate_advised(exec, process, range, advice == Advice::populate_write);
  if (advice == Advice::dont_need || advice == Advice::dont_need_locked || advice == Advice::free) {
    co_return co_await drop_advised(exec, process, range, advice);
  }

  co_await core_.lock_for_change(exec, process, range);
  const Error split = co_await core_.split_edges(exec, process, range);
  if (split != Error::none) {
    Mm::of(process).lock.unlock_exclusive();
    co_return split;
  }
  space.change(range.begin, range.end, [advice](Vma& vma) {
    if (advice == Advice::hugepage) vma.advice = HugeAdvice::huge;
    if (advice == Advice::no_hugepage) vma.advice = HugeAdvice::no_huge;
    if (advice == Advice::dont_fork) vma.inherited = false;
    if (advice == Advice::do_fork) vma.inherited = true;
  });
  const Error error = space.covered(range.begin, range.end) ? Error::none : Error::bad_address;
  Mm::of(process).lock.unlock_exclusive();
  if (advice == Advice::hugepage) khugepaged_.start();
  co_return error;
}

sim::Task<Error> Vm::populate_advised(cpu::Execution& exec, Process& process, Range range, bool write) {
  co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  const AddressSpace& space = Mm::of(process).space;
  Error error = space.covered(range.begin, range.end) ? Error::none : Error::bad_address;
  if (space.accessible_until(range.begin, range.end, write) != range.end) error = Error::bad_address;
  if (error == Error::none) {
    const Access access = write ? Access::write : Access::read;
    error = (co_await populate(exec, process, range, access, gup_cost(), nullptr)).error;
  }
  Mm::of(process).lock.unlock_shared();
  co_return error;
}

sim::Task<Error> Vm::drop_advised(cpu::Execution& exec, Process& process, Range range, Advice advice) {
  co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  Error error = Mm::of(process).space.covered(range.begin, range.end) ? Error::none : Error::bad_address;
  const Error done = advice == Advice::free
                         ? co_await make_lazyfree(exec, process, range)
                         : co_await dont_need(exec, process, range, advice == Advice::dont_need_locked);
  if (done != Error::none) error = done;
  Mm::of(process).lock.unlock_shared();
  co_return error;
}

sim::Task<Error> Vm::page_out(cpu::Execution& exec, Process& process, Range range) {
  co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  Error error = Mm::of(process).space.covered(range.begin, range.end) ? Error::none : Error::bad_address;
  const bool locked = Mm::of(process).space.locked_bytes(range.begin, range.end) > 0;
  if (locked || !core_.config.kernel.has(Change::madv_pageout)) error = Error::invalid;
  if (error == Error::none) {
    Leaves aged = age_for_page_out(process, range, core_.taking(exec, Taker::reclaim));
    co_await reclaim_.page_out(exec, process, range);
    co_await core_.flush_gathered(exec, process, std::move(aged));  // tlb_finish_mmu
  }
  Mm::of(process).lock.unlock_shared();
  co_return error;
}

// madvise_cold_or_pageout_pte_range, before it left the flags to reclaim: which TLBs are told about at the end.
Leaves Vm::age_for_page_out(Process& process, Range range, Taking by) {
  Leaves aged;
  if (core_.config.kernel.has(Change::pageout_keeps_young)) return aged;
  Mm::of(process).space.for_each_leaf(range.begin, range.end, [&](VirtualAddress va, PageSize size) {
    const PageState* page = Mm::of(process).space.page(va);
    if (page == nullptr || page->zero || !page->young || core_.frame_table.find(page->frame).mappings != 1) return;
    core_.set_old(process, va, by);
    aged.add(va, size);
  });
  return aged;
}

sim::Task<Error> Vm::collapse(cpu::Execution& exec, Process& process, Range range) {
  Error error = Error::none;
  const Range blocks = whole_huge_pages(range);
  co_await core_.batches.drain(exec);  // madvise_collapse
  for (VirtualAddress va = blocks.begin; va < blocks.end; va += kHugePage) {
    co_await core_.cond_resched(exec);
    if (Mm::of(process).space.is_huge(va)) continue;
    const auto outcome = co_await khugepaged_.collapse(exec, process, va, Khugepaged::Wish::advice);
    if (outcome == Khugepaged::Outcome::no_block) co_return Error::no_memory;
    if (outcome != Khugepaged::Outcome::collapsed) error = Error::again;
  }
  co_return error;
}

sim::Task<Error> Vm::dont_need(cpu::Execution& exec, Process& process, Range range, bool locked_too) {
  if (!locked_too && Mm::of(process).space.locked_bytes(range.begin, range.end) > 0) co_return Error::invalid;
  const Error split = co_await core_.split_edges(exec, process, range);
  if (split != Error::none) co_return split;
  for (const Range part : without_cut_pages(process, range)) {
    const Error error = (co_await core_.unmap(exec, process, part, Taker::advice)).error;
    if (error != Error::none) co_return error;
    if (core_.config.kernel.has(Change::hugetlb_rereserves)) restore_reservations(process, part);
  }
  co_return Error::none;
}

// Clean pages that nobody has used since may be dropped instead of swapped out; without a hardware dirty bit a clean
// page is one that must not be written.
sim::Task<Error> Vm::make_lazyfree(cpu::Execution& exec, Process& process, Range range) {
  bool files = false;
  Mm::of(process).space.for_each_vma(range.begin, range.end,
                                     [&](const Vma& vma) { files = files || vma.file != nullptr; });
  if (files || Mm::of(process).space.locked_bytes(range.begin, range.end) > 0) co_return Error::invalid;
  const Error split = co_await core_.split_edges(exec, process, range);
  if (split != Error::none) co_return split;
  co_await core_.change_begins(exec, process, range, Taker::madv_free);
  const Taking by = core_.taking(exec, Taker::madv_free);
  Leaves leaves;
  AddressSpace& space = Mm::of(process).space;
  space.for_each_leaf(range.begin, range.end, [&](VirtualAddress va, PageSize size) {
    if (space.page(va) == nullptr || space.page(va)->zero) return;
    core_.make_clean(process, va, by);
    core_.set_old(process, va, by);
    leaves.add(va, size);
    space.for_each_page_of_leaf(va, [](PageState& page) { page.dirty = false, page.lazyfree = true; });
  });
  co_await core_.flush_gathered(exec, process, std::move(leaves));
  core_.change_ends(process, range);
  co_return Error::none;
}

sim::Task<Error> Vm::mprotect(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes,
                              Protection protection) {
  const ToldCall told(core_.context, exec, process, "mprotect", va, bytes);
  co_await run(exec, core_.config.mprotect_fixed);
  const auto found = aligned_pages(process, va, bytes);
  if (!found.ok()) co_return found.error;
  const Range range = found.value;
  AddressSpace& space = Mm::of(process).space;
  co_await core_.lock_for_change(exec, process, range);
  Error error = space.covered(range.begin, range.end) ? Error::none : Error::bad_address;
  if (error == Error::none && cuts_huge_page(process, range)) error = Error::invalid;
  if (error == Error::none) error = co_await core_.split_edges(exec, process, range);
  if (error == Error::none) {
    space.change(range.begin, range.end, [protection](Vma& vma) {
      vma.accessible = protection != Protection::none;
      vma.writable = protection == Protection::read_write;
    });
    co_await core_.change_begins(exec, process, range, Taker::mprotect);
    error = co_await protect_pages(exec, process, range, protection);
    core_.change_ends(process, range);
  }
  Mm::of(process).lock.unlock_exclusive();
  co_return error;
}

// can_change_pte_writable, can_change_pmd_writable; change_pte_range before there were those.
bool Vm::gives_writing_back(const Process& process, VirtualAddress va) const {
  const PageState& page = *Mm::of(process).space.page(va);
  const cpu::Kernel& kernel = core_.config.kernel;
  const bool all = kernel.has(Change::mprotect_writable_all);
  if (!kernel.has(Change::mprotect_writable) || page.pool || page.userfault || !reusable(process, va)) return false;
  return all || (page.dirty && !Mm::of(process).space.is_huge(va));
}

// Without hardware that sets dirty bits what may be written is dirty (pte_mkwrite).
void Vm::count_as_written(Process& process, VirtualAddress va) {
  Mm::of(process).space.for_each_page_of_leaf(va, [&](PageState& page) {
    page.lazyfree = false;
    swap_.dirtied(page.frame);
  });
}

sim::Task<Error> Vm::protect_pages(cpu::Execution& exec, Process& process, Range range, Protection protection) {
  AddressSpace& space = Mm::of(process).space;
  const Taking by = core_.taking(exec, Taker::mprotect);
  Leaves leaves;
  const bool gives_way = core_.config.kernel.has(Change::mprotect_gives_way);  // change_pmd_range
  TableWalk changed = gives_way ? TableWalk(kHugePage) : TableWalk::in_one_go();
  Error error = Error::none;
  for (VirtualAddress va = range.begin; const auto next = space.next_entry(va, range.end);) {
    if (space.entry(*next)->in_motion()) {
      co_await core_.settled(process, {*next, *next + kPage});
      continue;
    }
    if (protection == Protection::none && space.is_huge(*next) && !space.entry(*next)->pool) {
      error = co_await core_.split(exec, process, *next);
      if (error != Error::none) break;
      continue;
    }
    changed.add(*next);
    const PageSize size = space.leaf_size(*next);
    va = *next + bytes_of(size);
    const PageState& page = *space.entry(*next);
    if (page.entry == Entry::poisoned || page.entry == Entry::swapped) continue;
    if (protection == Protection::none) {
      if (page.present()) leaves.add(*next, size);
      core_.hide(process, *next, Entry::hidden, by);
      continue;
    }
    const bool hidden = page.entry == Entry::hidden;
    if (hidden) core_.show(process, *next);
    // pte_modify takes the right to write, and what was hidden has lost it in any case.
    if (protection == Protection::read_write && !hidden && page.may_write()) continue;
    const bool writable = protection == Protection::read_write && gives_writing_back(process, *next);
    if (page.writable == writable && !page.clean) continue;
    if (writable) {
      core_.allow_writing(process, *next);
      count_as_written(process, *next);
    } else {
      core_.protect(process, *next, by);
    }
    leaves.add(*next, size);
  }
  co_await core_.run_walk(exec, core_.config.mprotect_per_page, std::move(changed));
  co_await core_.flush_protected(exec, process, range, std::move(leaves));
  co_return error;
}

sim::Task<Result<VirtualAddress>> Vm::mremap(cpu::Execution& exec, Process& process, VirtualAddress va,
                                             std::uint64_t bytes) {
  const ToldCall told(core_.context, exec, process, "mremap", va, bytes);
  co_await run(exec, core_.config.mremap_fixed);
  const auto found = aligned_pages(process, va, bytes);
  if (!found.ok()) co_return Result<VirtualAddress>{.error = found.error};
  Range range = found.value;
  AddressSpace& space = Mm::of(process).space;
  co_await core_.lock_for_change(exec, process, range);
  Result<VirtualAddress> result;
  const Vma* vma = space.find(range.begin);
  // As many whole pages of the pool as the length begins.
  if (vma != nullptr && vma->hugetlb != 0) range.end = huge_page_end(range.end);
  if (vma == nullptr || vma->end < range.end) {
    result.error = Error::bad_address;
  } else if (vma->hugetlb != 0 && (!core_.config.kernel.has(Change::hugetlb_mremap) || range.begin % kHugePage != 0)) {
    result.error = Error::invalid;
  } else {
    Vma moved = *vma;
    // Huge pages move whole where both places lie alike.
    const auto gap = space.find_gap(range.end - range.begin + kHugePage, kHugePage);
    result.value = gap ? *gap + range.begin % kHugePage : 0;
    if (!gap) result.error = Error::no_memory;
    if (result.ok()) result.error = co_await core_.split_edges(exec, process, range);
    if (result.ok()) {
      moved.begin = result.value;
      moved.end = result.value + (range.end - range.begin);
      co_await core_.lock_vmas(exec, process, {moved.begin, moved.end});
      if (moved.file != nullptr || moved.hugetlb != 0) moved.file_origin += moved.begin - range.begin;
      result.error = co_await move_pages(exec, process, range, moved);
    }
  }
  Mm::of(process).lock.unlock_exclusive();
  co_return result;
}

// `moved_vma`: the VMA in its new place.
sim::Task<Error> Vm::move_pages(cpu::Execution& exec, Process& process, Range from, Vma moved_vma) {
  co_await core_.change_begins(exec, process, from, Taker::unmapping);
  co_await core_.settled(process, from);
  AddressSpace& space = Mm::of(process).space;
  // One table for each 2 MiB that is begun, one for each GiB, and one above.
  const std::uint64_t tables_needed = from.pages() / kPagesPerHuge + from.pages() / kPagesPerHuge / kPagesPerHuge + 5;
  if (core_.frames.free_pages() < tables_needed) {
    core_.change_ends(process, from);
    co_return Error::no_memory;
  }
  space.erase(from.begin, from.end);
  space.insert(moved_vma);
  const VirtualAddress to = moved_vma.begin;
  core_.huge_pool.move(process, from, to);
  Leaves leaves;
  TableWalk walk(core_.config.kernel.has(Change::mremap_by_tables) ? kHugePage : kLatencyLimit);
  sim::Vector<Address> frames;
  space.for_each_leaf(from.begin, from.end, [&](VirtualAddress va, PageSize size) {
    const PageState page = *space.entry(va);
    leaves.add(va, size);
    walk.add(va);
    for (std::uint64_t offset = 0; offset < bytes_of(size) && page.has_frame(); offset += kPage) {
      frames.push_back(page.frame + offset);
    }
    core_.move(process, va, to + (va - from.begin), size);
  });
  const sim::Vector<Address> tables = Mm::of(process).table->take_retired();
  co_await core_.run_walk(exec, core_.config.mremap_per_page, std::move(walk));
  co_await core_.flush_range(exec, process, from, std::move(leaves));
  for (const Address frame : frames) {
    const FrameRecord& record = core_.frame_table.at(frame);
    if (record.pins == 0 && record.mappings == 1) core_.stamp(frame);
  }
  Mm::of(process).table->free_tables(tables);
  core_.change_ends(process, from);
  co_return Error::none;
}

}  // namespace faultline::os
