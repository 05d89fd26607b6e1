// SPDX-License-Identifier: Apache-2.0
#include "models/os/events/page_events.hpp"

#include <utility>

namespace faultline::os {

using cpu::Execution;
using sim::Task;

namespace {

std::uint32_t pages_of(Range range) { return static_cast<std::uint32_t>(range.pages()); }

}  // namespace

// As of VmCore, of a page that may be small by now.
Task<Error> PageEvents::split(Execution& exec, Process& process, VirtualAddress va, Notice notice) {
  co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  Error error = Error::none;
  if (Mm::of(process).space.is_huge(va)) error = co_await core_.split(exec, process, va, notice);
  Mm::of(process).lock.unlock_shared();
  co_return error;
}

// Pages whose access flag is set. Mirrors drop nothing for that: Linux asks them whether their device has used a page.
Leaves PageEvents::used_leaves(const Process& process, Range range) {
  Leaves leaves;
  const AddressSpace& space = Mm::of(process).space;
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
  const MmUser user(process);
  unsigned aged = 0;
  const Leaves leaves = used_leaves(process, range);
  for (const VirtualAddress va : leaves.addresses()) {
    const PageState* page = Mm::of(process).space.page(va);  // which may have changed while others ran
    const Vma* vma = Mm::of(process).space.find(va);
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
    co_await Mm::of(process).lock.lock_exclusive(core_.cpu, exec);
  } else {
    co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  }
  Leaves leaves = used_leaves(process, Mm::of(process).space.all());
  const Taking by = core_.taking(exec, Taker::clear_refs);
  for (const VirtualAddress va : leaves.addresses()) core_.set_old(process, va, by);
  const auto aged = static_cast<unsigned>(leaves.size());
  core_.on_change(process, aged);
  if (!core_.config.kernel.has(Change::clear_refs_unflushed))
    co_await core_.flush_all(exec, process, std::move(leaves));
  if (alone) {
    Mm::of(process).lock.unlock_exclusive();
  } else {
    Mm::of(process).lock.unlock_shared();
  }
  co_return aged;
}

unsigned PageEvents::mark_idle(const Execution& exec, Process& process, Range range) {
  const Taking by = core_.taking(exec, Taker::idle_tracking);
  const Leaves leaves = used_leaves(process, range);
  for (const VirtualAddress va : leaves.addresses()) core_.set_old(process, va, by);
  core_.on_change(process, static_cast<unsigned>(leaves.size()));
  return static_cast<unsigned>(leaves.size());
}

Task<unsigned> PageEvents::write_protect(Execution& exec, Process& process, Range range) {
  const Vma* vma = Mm::of(process).space.find(range.begin);
  if (vma != nullptr && vma->shared && range.end <= vma->end) {
    const std::uint32_t first = vma->file_page(range.begin);
    co_return co_await page_cache_.writeback().clean(exec, *vma->file, first, first + pages_of(range));
  }
  if (vma != nullptr && vma->hugetlb != 0) co_return 0;  // no such mechanism works on pages of the pool
  co_return co_await take_right_to_write(exec, process, range, Taker::mprotect);
}

Task<unsigned> PageEvents::take_right_to_write(Execution& exec, Process& process, Range range, Taker taker) {
  co_await core_.change_begins(exec, process, range, taker);
  const Taking by = core_.taking(exec, taker);
  Leaves leaves;
  const AddressSpace& space = Mm::of(process).space;
  space.for_each_leaf(range.begin, range.end, [&](VirtualAddress va, PageSize size) {
    const PageState* page = space.page(va);
    if (page == nullptr || !page->may_write()) return;
    core_.protect(process, va, by);
    leaves.add(va, size);
  });
  const unsigned changed = co_await flush_changed(exec, process, range, std::move(leaves));
  core_.change_ends(process, range);
  co_return changed;
}

// How many leaves have changed.
Task<unsigned> PageEvents::flush_changed(Execution& exec, Process& process, Range range, Leaves leaves) {
  const auto changed = static_cast<unsigned>(leaves.size());
  core_.on_change(process, changed);
  co_await core_.flush_protected(exec, process, range, std::move(leaves));
  co_return changed;
}

Task<unsigned> PageEvents::userfault_protect(Execution& exec, Process& process, Range range) {
  AddressSpace& space = Mm::of(process).space;
  space.for_each_leaf(range.begin, range.end, [&](VirtualAddress va, PageSize) {
    space.for_each_page_of_leaf(
        va, [](PageState& page) { page.userfault = page.userfault || (page.present() && !page.zero); });
  });
  return take_right_to_write(exec, process, range, Taker::userfaultfd);
}

Task<unsigned> PageEvents::numa_hint(Execution& exec, Process& process, Range range) {
  return hide(exec, process, range, Entry::hidden, Taker::numa);
}

Task<unsigned> PageEvents::poison(Execution& exec, Process& process, Range range) {
  return hide(exec, process, range, Entry::poisoned, Taker::memory_failure);
}

// Whether a page gets a NUMA hint (change_pte_range, which leaves out only private pages).
bool PageEvents::hinted(const Process& process, VirtualAddress va) const {
  const Vma* vma = Mm::of(process).space.find(va);
  if (vma == nullptr || vma->shared) return true;
  const FrameRecord record = core_.frame_table.find(Mm::of(process).space.page(va)->frame);
  const bool shared = record.mappings > 1;
  const bool held = shared || record.has_extra_references();
  return !(shared && core_.config.kernel.has(Change::numa_skips_shared)) &&
         !(held && core_.config.kernel.has(Change::numa_skips_held));
}

// For NUMA hints and memory failure, which does not ask for pins.
Task<unsigned> PageEvents::hide(Execution& exec, Process& process, Range range, Entry as, Taker taker) {
  co_await core_.change_begins(exec, process, range, taker);
  const Taking by = core_.taking(exec, taker);
  Leaves leaves;
  AddressSpace& space = Mm::of(process).space;
  for (VirtualAddress va = range.begin; const auto next = space.next_entry(va, range.end);) {
    va = *next + kPage;
    const PageState* page = space.page(*next);
    if (page == nullptr || page->zero || page->pool) continue;
    if (as == Entry::hidden && !hinted(process, *next)) continue;
    if (space.is_huge(*next) && core_.split_now(process, *next) != Error::none) break;
    core_.hide(process, *next, as, by);
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
  const Vma* vma = Mm::of(process).space.find(range.begin);
  if (vma != nullptr && vma->file != nullptr && range.end <= vma->end) {
    const std::uint32_t first = vma->file_page(range.begin);
    co_return co_await page_cache_.punch(exec, *vma->file, first, first + pages_of(range));
  }
  if (vma != nullptr && vma->hugetlb != 0) {
    range = whole_huge_pages(range);
    if (range.begin >= range.end) co_return 0;
  }
  co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  const Error split = co_await core_.split_edges(exec, process, range);
  Mm::of(process).lock.unlock_shared();
  if (split != Error::none) co_return 0;
  const auto pages = static_cast<unsigned>((co_await core_.unmap(exec, process, range, Taker::truncation)).value);
  core_.on_change(process, pages);
  co_return pages;
}

}  // namespace faultline::os
