// SPDX-License-Identifier: Apache-2.0
#include "models/os/events/khugepaged.hpp"

#include "models/os/reclaim/swap.hpp"

namespace faultline::os {

using cpu::Execution;
using sim::Task;

Khugepaged::Khugepaged(VmCore& core, Compaction& compaction, Swap& swap)
    : core_(core), compaction_(compaction), swap_(swap) {}

void Khugepaged::start() {
  if (thread_ != nullptr || !core_.config.khugepaged || core_.config.thp == ThpMode::never) return;
  constexpr int kNice = 19;
  thread_ = &core_.cpu.new_thread("khugepaged", {}, cpu::SchedClass::fair, kNice);
  tasks_.start(serve());
}

Task<void> Khugepaged::serve() {
  for (;;) {
    const sim::Time pause = found_memory_ ? core_.config.khugepaged_scan_sleep : core_.config.khugepaged_alloc_sleep;
    co_await core_.context.loop.idle(sim::Time{pause.count() / core_.config.khugepaged_time_scale});
    found_memory_ = co_await scan_some();
  }
}

// Goes on where the last round ended; not more than once through everything.
Task<bool> Khugepaged::scan_some() {
  const std::uint64_t budget = core_.config.khugepaged_pages_to_scan;
  const std::size_t first = next_process_;
  bool wrapped = false;
  for (std::uint64_t scanned = 0; scanned < budget && !core_.processes.empty();) {
    co_await core_.cond_resched(*thread_);
    if (next_process_ >= core_.processes.size()) next_process_ = 0;
    Process& process = *core_.processes[next_process_];
    const auto found = Mm::of(process).space.next_huge_range(next_range_);
    if (!found) {
      next_range_ = 0;
      ++next_process_;
      if (wrapped && next_process_ > first) break;
      if (next_process_ >= core_.processes.size()) {
        if (wrapped) break;
        wrapped = true;
        next_process_ = 0;
      }
      continue;
    }
    next_range_ = *found + kHugePage;
    scanned += kPagesPerHuge;
    if (Mm::of(process).space.is_huge(*found)) continue;
    if (co_await collapse(*thread_, process, *found, Wish::scan) == Outcome::no_block) co_return false;
  }
  co_return true;
}

Task<Khugepaged::Outcome> Khugepaged::collapse(Execution& exec, Process& process, VirtualAddress va, Wish wish) {
  const Range range = huge_range(va);
  const MmUser user(process);
  // hpage_collapse_scan_pmd, with the lock shared.
  co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  co_await core_.run(exec, core_.config.khugepaged_scan_per_page * kPagesPerHuge);
  const bool chosen = fit(process, range, wish, Step::scan) && !core_.held(process, range);
  Mm::of(process).lock.unlock_shared();
  if (!chosen) {
    ++core_.counters.collapse_refused;
    co_return Outcome::unfit;
  }
  // Without a lock: what the scan saw may change from here on.
  co_await core_.run(exec, core_.config.thp_alloc);
  co_await compaction_.make_block(
      exec, wish == Wish::advice ? Compaction::effort_of_advice() : compaction_.effort_of_khugepaged());
  const auto block = core_.reclaim().has_room(process, kPagesPerHuge) ? core_.frames.allocate_huge() : std::nullopt;
  if (!block) {
    ++core_.counters.thp_collapse_alloc_failed;
    co_return Outcome::no_block;
  }
  ++core_.counters.thp_collapse_alloc;
  if (!co_await swap_in(exec, process, range)) {
    core_.frames.free_huge(*block);
    ++core_.counters.collapse_refused;
    co_return Outcome::unfit;
  }
  co_await core_.lock_for_change(exec, process, range);
  Outcome outcome = Outcome::unfit;
  if (fit(process, range, wish, Step::collapse))
    outcome = co_await collapse_under_lock(exec, process, range, *block, wish);
  Mm::of(process).lock.unlock_exclusive();
  if (outcome == Outcome::collapsed) {
    ++core_.counters.khugepaged_collapsed;
    core_.on_change(process, kPagesPerHuge);
  } else {
    core_.frames.free_huge(*block);
    ++(outcome == Outcome::undone ? core_.counters.collapse_undone : core_.counters.collapse_refused);
  }
  co_return outcome;
}

// __collapse_huge_page_swapin, with the lock shared. What has to be read from the device is read without the lock, and
// the collapse given up.
Task<bool> Khugepaged::swap_in(Execution& exec, Process& process, Range range) {
  if (Mm::of(process).space.swapped_bytes() == 0) co_return true;
  bool all = true;
  co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  const auto is_swapped = [&](VirtualAddress va) {
    const PageState* page = Mm::of(process).space.entry(va);
    return page != nullptr && page->entry == Entry::swapped;
  };
  for (VirtualAddress va = range.begin; va < range.end && all; va += kPage) {
    if (!is_swapped(va)) continue;
    all = swap_.in_memory(process, va);
    const Error error = co_await swap_.fault(exec, process, va, /*write=*/false, sim::Time{0});
    all = all && error == Error::again;
  }
  Mm::of(process).lock.unlock_shared();
  co_return all;
}

// The window: from the cleared PMD to the new one, or to the old one put back.
Task<Khugepaged::Outcome> Khugepaged::collapse_under_lock(Execution& exec, Process& process, Range range, Address block,
                                                          Wish wish) {
  co_await core_.change_begins(exec, process, range, Taker::collapse);
  // Mechanisms that need no lock may have been at it while mirrors were told.
  if (!fit(process, range, wish, Step::collapse)) {
    core_.change_ends(process, range);
    co_return Outcome::unfit;
  }
  const Address table = Mm::of(process).table->detach_pages(range.begin);
  co_await core_.flush_range(exec, process, range, hide_range(exec, process, range));  // pmdp_collapse_flush
  // Before the new mapping exists: who mirrors the table and faults now waits for the lock.
  core_.change_ends(process, range);
  co_await core_.run(exec, core_.config.khugepaged_isolate_per_page * kPagesPerHuge);
  if (core_.held(process, range)) {
    show_range(process, range, table);
    co_return Outcome::undone;
  }
  co_await copy_pages(exec, process, range, block);
  co_await core_.run(exec, core_.config.khugepaged_free_per_page * kPagesPerHuge);
  core_.replace_by_block(process, range, block, table);
  co_return Outcome::collapsed;
}

Task<void> Khugepaged::copy_pages(Execution& exec, Process& process, Range range, Address block) {
  for (VirtualAddress va = range.begin; va < range.end; va += kPage) {
    const Address to = block + (va - range.begin);
    const PageState* page = Mm::of(process).space.entry(va);
    if (page != nullptr && !page->zero) {
      co_await core_.copy_page(exec, page->frame, to);
    } else {
      co_await core_.clear_memory(exec, {to, PageSize::small});
      core_.store.write(to, sim::Content::zeros(kPage));
    }
  }
}

// The pages that TLBs may hold.
Leaves Khugepaged::hide_range(const Execution& exec, Process& process, Range range) const {
  Leaves leaves;
  for (VirtualAddress va = range.begin; va < range.end; va += kPage) {
    PageState* page = Mm::of(process).space.entry(va);
    if (page == nullptr) continue;
    VmCore::set_entry(process, *page, Entry::moving, core_.taking(exec, Taker::collapse));
    leaves.add(va, PageSize::small);
  }
  return leaves;
}

void Khugepaged::show_range(Process& process, Range range, Address table) {
  Mm::of(process).table->attach_pages(range.begin, table);
  for (VirtualAddress va = range.begin; va < range.end; va += kPage) {
    PageState* page = Mm::of(process).space.entry(va);
    if (page == nullptr) continue;
    VmCore::set_entry(process, *page, Entry::present);
    Mm::of(process).notifiers.usable(va);
  }
}

// One VMA that may have huge pages; at least one page that may be written and one that was used (half of them, if some
// are to be swapped in); not more holes, nor more pages on the swap device or that others share, than the limits allow.
bool Khugepaged::fit(const Process& process, Range range, Wish wish, Step step) const {
  const AddressSpace& space = Mm::of(process).space;
  const Vma* vma = space.find(range.begin);
  if (vma == nullptr || vma->end < range.end || !vma->accessible || vma->file != nullptr || vma->hugetlb != 0 ||
      vma->driver)  // VM_NO_KHUGEPAGED
    return false;
  if (wish == Wish::scan && !core_.allows_huge(*vma)) return false;
  if (space.is_huge(range.begin)) return false;
  unsigned none = 0;
  unsigned shared = 0;
  unsigned swapped = 0;
  unsigned young = 0;
  bool writable = false;
  for (VirtualAddress va = range.begin; va < range.end; va += kPage) {
    const PageState* page = space.entry(va);
    if (page == nullptr || page->zero) {
      ++none;
      continue;
    }
    if (step == Step::scan && page->entry == Entry::swapped && !page->userfault) {
      ++swapped;
      continue;
    }
    if (!page->present() || page->userfault) return false;
    if (core_.frame_table.find(page->frame).mappings > 1) ++shared;
    writable = writable || page->may_write();
    if (page->young) ++young;
  }
  // MADV_COLLAPSE does not ask for used pages, nor for the limits.
  if (wish == Wish::advice) return writable;
  const bool used = swapped > 0 ? young >= kPagesPerHuge / 2 : young > 0;
  return writable && used && none <= core_.config.khugepaged_max_ptes_none &&
         swapped <= core_.config.khugepaged_max_ptes_swap && shared <= core_.config.khugepaged_max_ptes_shared;
}

}  // namespace faultline::os
