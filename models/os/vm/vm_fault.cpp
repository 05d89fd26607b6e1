// SPDX-License-Identifier: Apache-2.0
// How pages come: demand-zero, copy-on-write, access flags; and populate, which is many faults in one call.
#include <algorithm>
#include <utility>

#include "models/os/vm/told_call.hpp"
#include "models/os/vm/vm.hpp"

namespace faultline::os {

sim::Task<Error> Vm::handle_fault(cpu::Execution& exec, Process& process, VirtualAddress va, bool write) {
  const bool by_vma = core_.config.kernel.has(Change::vma_locks) && Mm::of(process).space.find(va) != nullptr &&
                      Mm::of(process).lock.try_lock_vma(exec, va);
  if (!by_vma) co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  const Error error = co_await fault(exec, process, va, write, sim::Time{0});
  if (error == Error::bad_address) co_await run(exec, core_.config.fault_no_alloc);  // the trap
  const bool kept = Mm::of(process).lock.unlock_fault(exec);
  if (core_.config.kernel.has(Change::vma_locks)) {
    VmCounters& counters = core_.counters;
    ++(kept ? counters.vma_lock_success : by_vma ? counters.vma_lock_retry : counters.vma_lock_abort);
  }
  co_return error;
}

// The look at the VMA, then Linux's handle_mm_fault: only a fault that passes the look is counted.
sim::Task<Error> Vm::fault(cpu::Execution& exec, Process& process, VirtualAddress at, bool write, sim::Time owed) {
  if (process.was_killed()) co_return Error::killed;
  const VirtualAddress va = sim::page_begin(at);
  const AddressSpace& space = Mm::of(process).space;
  const auto refuses = [&](const Vma* vma) { return vma == nullptr || !vma->allows(write); };
  if (refuses(space.find(va))) {
    co_await run(exec, owed);
    co_return Error::bad_address;
  }
  const ToldCall told(core_.context, exec, process, ToldCall::kPageFault, at, 1);
  ++core_.counters.pgfault;
  ++Mm::of(process).faults.minor;
  const sim::Time short_fault = core_.config.fault_no_alloc;
  Error error = Error::again;
  while (error == Error::again) {
    const Vma* vma = space.find(va);
    const PageState* page = space.entry(va);
    if (refuses(vma)) {  // it has changed while the fault waited
      co_await run(exec, owed);
      error = Error::bad_address;
    } else if (page == nullptr && vma->hugetlb != 0) {
      error = co_await hugetlb_fault(exec, process, va, write, owed);
    } else if (page == nullptr && vma->file != nullptr) {
      error = co_await page_cache_.fault(exec, process, va, write, owed);
    } else if (page == nullptr) {
      error = co_await demand_zero(exec, process, *vma, va, write, owed);
    } else if (page->in_motion()) {
      const ToldCall wait(core_.context, exec, process, "wait for the end of the page's migration");
      co_await core_.cpu.sleep(exec, Mm::of(process).page_settled);
      continue;  // nothing has been charged
    } else if (page->entry == Entry::swapped) {
      error = co_await swap_.fault(exec, process, va, write, owed);
    } else if (page->entry == Entry::poisoned) {
      co_await run(exec, owed + short_fault);
      error = Error::poisoned;
    } else if (page->entry == Entry::hidden) {
      co_await run(exec, owed + short_fault);
      page = space.entry(va);
      if (page != nullptr && page->entry == Entry::hidden) core_.show(process, va);
    } else if (write && page->clean) {
      error = co_await dirty_fault(exec, process, va, owed);
    } else if (write && !page->writable) {
      error = co_await write_fault(exec, process, va, owed);
    } else {
      co_await run(exec, owed + short_fault);
      page = space.page(va);
      if (page != nullptr && !page->young) {
        co_await core_.make_young(exec, process, va, write);
      } else if (page != nullptr && write) {
        co_await core_.fix_spurious_fault(exec, process, va);
      }
    }
    owed = sim::Time{0};
    if (error != Error::none && process.was_killed()) error = Error::killed;
    if (error == Error::again && accessible(space.page(va), write)) error = Error::none;
  }
  if (error == Error::none) use_pages(process, {va, va + kPage}, write, nullptr);
  if (Mm::of(process).notifiers.has_to_follow()) co_await Mm::of(process).notifiers.follow(exec);
  co_return error;
}

// again: another thread's page is there. Faults of several threads go on side by side, so a page may appear while this
// one is being cleared; the later one then gives its frame back.
sim::Task<Error> Vm::demand_zero(cpu::Execution& exec, Process& process, Vma vma, VirtualAddress va, bool write,
                                 sim::Time owed) {
  const bool huge_wanted = core_.wants_huge(process, vma, va);
  if (!write && (!huge_wanted || core_.config.use_zero_page)) {
    bool huge = huge_wanted;
    if (huge && !core_.has_huge_zero_page()) {
      co_await compaction_.make_block(exec, Compaction::effort_of_advice());  // GFP_TRANSHUGE, whatever os.thp_defrag
      huge = co_await core_.make_huge_zero_page(exec);
    }
    if (huge_wanted && !huge) ++core_.counters.thp_fault_fallback;
    co_await run(exec, owed + core_.config.fault_no_alloc);
    if (Mm::of(process).space.entry(va) != nullptr) co_return Error::again;
    const Error error = huge ? core_.install_huge_zero_page(process, va) : core_.install_zero_page(process, va);
    if (error == Error::no_memory) ++core_.counters.out_of_memory;
    co_return error;
  }
  if (huge_wanted) co_await compaction_.make_block(exec, compaction_.effort_of_fault(vma));
  const bool room = reclaim_.has_room(process, 1) || co_await reclaim_.make_room(exec, process, 1);
  const auto page = room ? core_.take_page(process, vma, va, use_of(exec)) : std::nullopt;
  if (!page) {
    ++core_.counters.out_of_memory;
    co_await run(exec, owed + core_.config.anon_minor_fault);
    co_return Error::no_memory;
  }
  const bool huge = page->size == PageSize::huge;
  if (huge) ++core_.counters.thp_fault_alloc;
  if (!huge && huge_wanted) ++core_.counters.thp_fault_fallback;
  co_await run(exec, owed + (huge ? core_.config.thp_alloc : core_.config.anon_minor_fault));
  co_await core_.clear_memory(exec, *page);
  const Error error = core_.install(process, va, *page, vma.writable);
  if (error == Error::none) core_.batches.add(exec.core(), page->frame, page->size);
  if (error == Error::no_memory) ++core_.counters.out_of_memory;
  co_return error;
}

// Linux's do_wp_page: who has the page alone may write it again, others get a copy.
sim::Task<Error> Vm::write_fault(cpu::Execution& exec, Process& process, VirtualAddress va, sim::Time owed) {
  if (Mm::of(process).space.page(va)->userfault) {
    // The thread sleeps, without the lock, until the monitor has been told and has answered.
    co_await run(exec, owed + core_.config.fault_no_alloc);
    Mm::of(process).lock.unlock_fault(exec);
    co_await core_.context.loop.delay(core_.config.userfault_monitor);
    co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
    if (PageState* page = Mm::of(process).space.entry(va)) page->userfault = false;
    co_return Error::again;
  }
  if (Mm::of(process).space.find(va)->shared) co_return co_await page_cache_.make_writable(exec, process, va, owed);
  if (Mm::of(process).space.page(va)->pool) co_return co_await hugetlb_fault(exec, process, va, true, owed);
  ++core_.counters.cow_faults;
  if (!reusable(process, va)) {
    if (!Mm::of(process).space.is_huge(va)) co_return co_await copy_on_write(exec, process, va, owed);
    if (!core_.config.kernel.has(Change::huge_cow_splits)) co_return co_await copy_huge_page(exec, process, va, owed);
    co_await run(exec, owed);
    const Error error = co_await core_.split(exec, process, va);
    co_return error == Error::none ? Error::again : error;
  }
  co_await run(exec, owed + core_.config.fault_no_alloc);
  if (Mm::of(process).space.page(va) == nullptr || !reusable(process, va)) co_return Error::again;
  core_.allow_writing(process, va);
  core_.set_young(process, va);
  swap_.dirtied(Mm::of(process).space.page(va)->frame);
  // TLBs may hold that the page must not be written (arm64: ptep_set_access_flags).
  co_await core_.flush_entry(exec, process, va);
  co_return Error::again;  // the caller looks whether the page may still be used
}

// handle_pte_fault of a page that may be written by right: ptep_set_access_flags, and no more.
sim::Task<Error> Vm::dirty_fault(cpu::Execution& exec, Process& process, VirtualAddress va, sim::Time owed) {
  co_await run(exec, owed + core_.config.fault_no_alloc);
  const PageState* page = Mm::of(process).space.page(va);
  if (page == nullptr || !page->clean) co_return Error::again;
  core_.allow_writing(process, va);
  core_.set_young(process, va);
  swap_.dirtied(page->frame);
  co_await core_.flush_entry(exec, process, va);
  co_return Error::again;
}

// do_huge_pmd_wp_page before 5.8: the process gets a page of 2 MiB of its own, cleared or copied. Where none is free,
// the old one is split, as in later kernels.
sim::Task<Error> Vm::copy_huge_page(cpu::Execution& exec, Process& process, VirtualAddress at, sim::Time owed) {
  const Range range = huge_range(at);
  const VirtualAddress va = range.begin;
  const Vma vma = *Mm::of(process).space.find(va);
  const PageState old = *Mm::of(process).space.page(va);
  const auto unchanged = [&] {
    const PageState* page = Mm::of(process).space.page(va);
    return page != nullptr && Mm::of(process).space.is_huge(va) && !page->may_write() && page->frame == old.frame;
  };
  std::optional<VmCore::Hold> hold;
  if (!old.zero) hold.emplace(core_, old.frame);
  const bool allowed = core_.allows_huge(vma);
  if (allowed) co_await compaction_.make_block(exec, compaction_.effort_of_fault(vma));
  const bool room = allowed && reclaim_.has_room(process, kPagesPerHuge);
  const auto block = room ? core_.frames.allocate_huge(use_of(exec)) : std::nullopt;
  if (!block) {
    ++core_.counters.thp_fault_fallback;
    co_await run(exec, owed);
    const Error error = unchanged() ? co_await core_.split(exec, process, va) : Error::none;
    co_return error == Error::none ? Error::again : error;
  }
  ++core_.counters.thp_fault_alloc;
  co_await run(exec, owed + core_.config.thp_alloc);
  if (old.zero) {
    co_await core_.clear_memory(exec, {*block, PageSize::huge});
  } else {
    co_await core_.copy_block(exec, old.frame, *block);
  }
  co_await core_.change_begins(exec, process, range, Taker::copy);
  const bool same = unchanged();
  if (same && old.zero) {
    co_await core_.replace_huge_zero_page(exec, process, range, *block);
  } else if (same) {
    co_await replace_shared_block(exec, process, va, *block);
  }
  core_.change_ends(process, range);
  if (!same) core_.frames.free_huge(*block);
  if (same && !old.zero) core_.retire_block(process, old.frame);
  co_return same ? Error::none : Error::again;
}

// pmdp_huge_clear_flush, and the entry of the copy.
sim::Task<void> Vm::replace_shared_block(cpu::Execution& exec, Process& process, VirtualAddress va, Address block) {
  core_.hide(process, va, Entry::moving, core_.taking(exec, Taker::copy));
  co_await core_.flush(exec, process, va);
  Mm::of(process).space.for_each_page_of_leaf(va, [](PageState& page) {
    page.dirty = true;
    page.lazyfree = false;
  });
  own_block(process, va, block);
}

bool Vm::reusable(const Process& process, VirtualAddress va) const {
  const PageSize size = Mm::of(process).space.leaf_size(va);
  bool alone = true;
  Mm::of(process).space.for_each_page_of_leaf(
      va, [&](const PageState& page) { alone = alone && core_.reusable(page, size); });
  return alone;
}

// Linux's wp_page_copy: the descriptor is invalid from its clearing until the TLBs have forgotten the old page.
sim::Task<Error> Vm::copy_on_write(cpu::Execution& exec, Process& process, VirtualAddress va, sim::Time owed) {
  const PageState old = *Mm::of(process).space.page(va);
  const auto unchanged = [&] {
    const PageState* page = Mm::of(process).space.page(va);
    return page != nullptr && !page->may_write() && page->frame == old.frame && page->zero == old.zero;
  };
  std::optional<VmCore::Hold> hold;  // or reclaim would take it before it is copied
  if (!old.zero) hold.emplace(core_, old.frame);
  const auto frame = co_await core_.new_frame(exec, process, use_of(exec));
  if (!frame) ++core_.counters.out_of_memory;
  co_await run(exec, owed + (old.zero ? core_.config.anon_minor_fault : core_.config.cow_fault));
  if (!frame) co_return Error::no_memory;
  if (old.zero) {
    co_await core_.clear_memory(exec, {*frame, PageSize::small});
    core_.store.write(*frame, sim::Content::zeros(kPage));
  } else {
    co_await core_.copy_page(exec, old.frame, *frame);
  }
  co_await core_.change_begins(exec, process, {va, va + kPage}, Taker::copy);
  if (!unchanged()) {
    core_.change_ends(process, {va, va + kPage});
    core_.frames.free_page(*frame);
    co_return Error::again;
  }
  core_.hide(process, va, Entry::moving, core_.taking(exec, Taker::copy));
  co_await core_.flush(exec, process, va);
  core_.redirect(process, va, *frame);
  core_.batches.add(exec.core(), *frame, PageSize::small);
  PageState& page = *Mm::of(process).space.entry(va);
  page.writable = true;
  page.young = true;
  page.protected_by = page.aged_by = {};
  core_.show(process, va);
  core_.change_ends(process, {va, va + kPage});
  if (!old.zero) core_.retire(process, old.frame);
  co_return Error::none;
}

sim::Task<Result<std::uint64_t>> Vm::populate(cpu::Execution& exec, Process& process, Range range, Access access,
                                              WalkCost cost, Pin* pin) {
  const AddressSpace& space = Mm::of(process).space;
  sim::Time owed{0};
  VirtualAddress va = range.begin;
  Error error = Error::none;
  while (va < range.end && error == Error::none) {
    const PageState* page = space.page(va);
    // A long-term pin does not keep the zero page (FAULT_FLAG_UNSHARE).
    const bool write = access == Access::write || (access == Access::as_mapped && space.writes_privately(va)) ||
                       (pin != nullptr && page != nullptr && page->zero);
    if (!takeable(page, write)) {
      error = co_await fault(exec, process, va, write, owed);
      owed = sim::Time{0};
      co_await core_.cond_resched(exec);
      continue;
    }
    const bool huge = space.is_huge(va);
    if (huge && pin == nullptr && !accessible(page, write)) {
      co_await touch_huge(exec, process, va, write);
      continue;
    }
    const VirtualAddress next = huge ? std::min(range.end, huge_range(va).end) : va + kPage;
    owed += cost.of((next - va) / kPage, huge);
    if (pin != nullptr) {
      const WalkCost release{core_.config.unpin_per_page, core_.config.unpin_per_huge_page};
      pin->release_cost += release.of((next - va) / kPage, huge);
    }
    use_pages(process, {va, next}, write, pin);
    va = next;
  }
  co_await core_.run_giving_way(exec, owed);
  co_return Result<std::uint64_t>{.error = error, .value = (va - range.begin) / kPage};
}

// touch_pmd (FOLL_TOUCH): of a 2 MiB page the flags are set. Pins take gup_fast's way, which does not.
sim::Task<void> Vm::touch_huge(cpu::Execution& exec, Process& process, VirtualAddress va, bool write) {
  const bool dirties = write && Mm::of(process).space.page(va)->clean;
  if (dirties) core_.allow_writing(process, va);
  co_await core_.make_young(exec, process, huge_range(va).begin, write);
}

void Vm::use_pages(Process& process, Range range, bool write, Pin* pin) {
  for (VirtualAddress va = range.begin; va < range.end; va += kPage) {
    PageState& page = *Mm::of(process).space.page(va);
    page.dirty = page.dirty || write;
    page.lazyfree = page.lazyfree && !write;
    if (pin == nullptr) continue;
    core_.frame_table.add_pin(page.frame, process);
    pin->frames.push_back(page.frame);
  }
}

Range Vm::accessible_part(const Process& process, Range range, bool write) {
  range.end = Mm::of(process).space.accessible_until(range.begin, range.end, write);
  if (range.end == range.begin) range.end += kPage;  // that page is refused
  return range;
}

sim::Task<Result<std::uint64_t>> Vm::fault_in_pages(cpu::Execution& exec, Process& process, VirtualAddress va,
                                                    std::uint64_t bytes, bool write) {
  return bring_pages(exec, process, va, bytes, write, &Vm::bring_by_references);
}

sim::Task<Result<std::uint64_t>> Vm::fixup_user_faults(cpu::Execution& exec, Process& process, VirtualAddress va,
                                                       std::uint64_t bytes, bool write) {
  return bring_pages(exec, process, va, bytes, write, &Vm::bring_by_faults);
}

sim::Task<Result<std::uint64_t>> Vm::bring_pages(cpu::Execution& exec, Process& process, VirtualAddress va,
                                                 std::uint64_t bytes, bool write, Bring bring) {
  const bool by_faults = bring == &Vm::bring_by_faults;
  const ToldCall told(core_.context, exec, process, by_faults ? "fixup_user_fault" : "get_user_pages", va, bytes);
  co_await run(exec, core_.config.syscall);
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) co_return Result<std::uint64_t>{.error = range.error};
  co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  const auto brought = co_await (this->*bring)(exec, process, accessible_part(process, range.value, write), write);
  Mm::of(process).lock.unlock_shared();
  co_return brought;
}

sim::Task<Result<std::uint64_t>> Vm::bring_by_references(cpu::Execution& exec, Process& process, Range range,
                                                         bool write) {
  return populate(exec, process, range, write ? Access::write : Access::read, gup_cost(), nullptr);
}

sim::Task<Result<std::uint64_t>> Vm::bring_by_faults(cpu::Execution& exec, Process& process, Range range, bool write) {
  Result<std::uint64_t> fixed;
  while (fixed.ok() && fixed.value < range.pages()) {
    fixed.error = co_await fault(exec, process, range.begin + fixed.value * kPage, write, sim::Time{0});
    if (fixed.ok()) ++fixed.value;
  }
  co_return fixed;
}

sim::Task<Error> Vm::touch(cpu::Execution& exec, Process& process, VirtualAddress va, bool write) {
  return touch_range(exec, process, va, 1, write);
}

sim::Task<Error> Vm::touch_range(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes,
                                 bool write) {
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) co_return range.error;
  sim::Time owed{0};
  for (VirtualAddress at = range.value.begin; at < range.value.end; at += kPage) {
    if (process.was_killed()) co_return Error::killed;
    if (accessible(Mm::of(process).space.page(at), write)) {
      use_pages(process, {at, at + kPage}, write, nullptr);
      owed += core_.config.resident_touch;
      continue;
    }
    // The access that follows the fault finds the line in the cache that the kernel has just cleared.
    co_await core_.cpu.run_unscaled(exec, cpu::Work::user, std::exchange(owed, sim::Time{0}));
    const Error error = co_await handle_fault(exec, process, at, write);
    if (error != Error::none) co_return error;
  }
  co_await core_.cpu.run_unscaled(exec, cpu::Work::user, owed);
  co_return Error::none;
}

}  // namespace faultline::os
