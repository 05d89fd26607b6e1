// SPDX-License-Identifier: Apache-2.0
// Same-page merging (PageEvents::merge_equal). Linux mm/ksm.c.
#include "models/os/events/page_events.hpp"

namespace faultline::os {

using cpu::Execution;
using sim::Task;

Task<unsigned> PageEvents::merge_equal(Execution& exec, Process& process, Range range) {
  unsigned merged = 0;
  AddressSpace& space = Mm::of(process).space;
  for (VirtualAddress va = range.begin; const auto next = space.next_entry(va, range.end);) {
    va = *next + kPage;
    if (space.entry(*next)->zero || space.entry(*next)->pool) continue;
    if (space.is_huge(*next)) {
      // split_huge_page finds the references before it unmaps anything.
      if (core_.held(process, huge_range(*next))) continue;
      if (co_await split(exec, process, *next, Notice::told) != Error::none) break;
    }
    co_await core_.cond_resched(exec);
    co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
    const PageState* page = space.page(*next);
    // Pages of files, and pages that have become part of a huge page meanwhile, are left alone.
    const bool small =
        page != nullptr && !page->zero && !space.is_huge(*next) && core_.frame_table.find(page->frame).file == 0;
    if (small && co_await merge_page(exec, process, *next)) ++merged;
    Mm::of(process).lock.unlock_shared();
  }
  co_return merged;
}

Task<bool> PageEvents::merge_page(Execution& exec, Process& process, VirtualAddress va) {
  const Range range{va, va + kPage};
  const Taking by = core_.taking(exec, Taker::ksm);
  const Address frame = Mm::of(process).space.page(va)->frame;
  const auto unchanged = [&] {
    const PageState* page = Mm::of(process).space.page(va);
    return page != nullptr && page->frame == frame;
  };
  // write_protect_page
  co_await core_.change_begins(exec, process, range, Taker::ksm);
  bool shared = unchanged();
  if (shared) {
    core_.hide(process, va, Entry::moving, by);
    co_await core_.flush(exec, process, va);
    shared = core_.frame_table.at(frame).pins == 0;
    if (shared) Mm::of(process).space.entry(va)->write_protect(by);
    core_.show(process, va);
  }
  core_.change_ends(process, range);
  if (!shared) co_return false;
  // The page and its equal are compared, byte by byte.
  co_await core_.cpu.memory_bulk(exec, cpu::Work::system, frame, kPage, core_.config.copy_bandwidth, false);
  // Nothing in this model moves a merged page.
  const auto equal = core_.frames.allocate_page(FrameUse::fixed);
  if (!equal) co_return false;
  // replace_page
  co_await core_.change_begins(exec, process, range, Taker::ksm);
  shared = unchanged() && !Mm::of(process).space.page(va)->may_write();
  if (shared) {
    core_.hide(process, va, Entry::moving, by);
    co_await core_.flush(exec, process, va);
    core_.store.write(*equal, core_.store.read(frame, kPage));
    core_.frame_table.at(*equal).foreign = true;
    core_.redirect(process, va, *equal);
    core_.show(process, va);
    core_.retire(process, frame);
    ++core_.counters.ksm_merged;
    core_.on_change(process, 1);
  } else {
    core_.frames.free_page(*equal);
  }
  core_.change_ends(process, range);
  co_return shared;
}

}  // namespace faultline::os
