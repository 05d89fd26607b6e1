// SPDX-License-Identifier: Apache-2.0
// Processes that come from others, and how processes end.
#include <algorithm>
#include <utility>

#include "models/os/vm/told_call.hpp"
#include "models/os/vm/vm.hpp"

namespace faultline::os {

sim::Task<Result<Process*>> Vm::fork(cpu::Execution& exec, Process& parent) {
  const ToldCall told(core_.context, exec, parent, "fork");
  Process* child = core_.create_process(parent.name() + "'s child");
  if (child == nullptr) {
    co_await run(exec, core_.config.syscall);
    co_return Result<Process*>{.error = Error::no_memory};
  }
  Mm::of(*child).forming = true;
  Mm::of(*child).group = Mm::of(parent).group;
  Mm::of(*child).oom_score_adj = Mm::of(parent).oom_score_adj;
  co_await run(exec, core_.config.fork_fixed);
  co_await Mm::of(parent).lock.lock_exclusive(core_.cpu, exec);
  co_await Mm::of(*child).lock.lock_exclusive(core_.cpu, exec);
  Leaves leaves;
  Error error = Error::none;
  const auto vmas = Mm::of(parent).space.vmas();
  for (const auto& [begin, vma] : vmas) {
    if (error != Error::none) break;
    co_await core_.lock_vmas(exec, parent, {vma.begin, vma.end});
    if (!vma.inherited) continue;
    Vma inherited = vma;
    inherited.locked = false;
    inherited.reserves = inherited.lost_pages = false;
    Mm::of(*child).space.insert(inherited);
    co_await core_.change_begins(exec, parent, {vma.begin, vma.end}, Taker::fork);
    error = co_await copy_vma(exec, parent, *child, {vma.begin, vma.end}, leaves);
    core_.change_ends(parent, {vma.begin, vma.end});
  }
  co_await core_.flush_all(exec, parent, std::move(leaves));  // dup_mmap
  Mm::of(*child).forming = false;
  Mm::of(*child).lock.unlock_exclusive();
  Mm::of(parent).lock.unlock_exclusive();
  if (error == Error::none) co_return Result<Process*>{.value = child};
  ++core_.counters.out_of_memory;
  co_await exit(exec, *child);
  co_return Result<Process*>{.error = error};
}

// `leaves`: where the parent's descriptors were write-protected.
sim::Task<Error> Vm::copy_vma(cpu::Execution& exec, Process& parent, Process& child, Range range, Leaves& leaves) {
  AddressSpace& space = Mm::of(parent).space;
  std::int64_t copied = 0;
  bool room = false;  // for a table of the child
  for (VirtualAddress va = range.begin; const auto next = space.next_entry(va, range.end);) {
    if (space.entry(*next)->in_motion()) {
      co_await core_.settled(parent, {*next, *next + kPage});
      continue;
    }
    if (!room && !reclaim_.has_room(1)) {
      room = co_await reclaim_.make_room_for_tables(exec, parent, 1);
      if (!room) co_return Error::no_memory;
      continue;  // it may have waited
    }
    room = false;
    const PageState& page = *space.entry(*next);
    const Range whole = page_range(*next, space.leaf_size(*next));
    const bool copies = copies_for_child(parent, whole);
    if (copies && space.is_huge(*next) && !page.pool) {
      const Error error = co_await core_.split(exec, parent, *next);
      if (error != Error::none) co_return error;
      continue;
    }
    va = whole.end;
    // The child's own faults find a file's pages.
    const bool of_file = page.has_frame() && core_.frame_table.find(page.frame).file != 0;
    if (page.entry == Entry::poisoned || of_file) continue;
    ++copied;
    Error error = Error::none;
    if (copies && page.pool) {
      error = co_await copy_block_for_child(exec, parent, child, *next);
    } else if (copies) {
      error = co_await copy_page_for_child(exec, parent, child, *next);
    } else {
      error = share_with_child(parent, child, *next, core_.taking(exec, Taker::fork), leaves);
    }
    if (error != Error::none) co_return error;
  }
  co_await core_.run_giving_way(exec, core_.config.fork_per_page * copied);
  co_return Error::none;
}

// Whether the child gets a copy of a page instead of sharing it. A page under a pin stays the parent's, because the
// device goes on with it.
bool Vm::copies_for_child(const Process& parent, Range page) const {
  const cpu::Kernel& kernel = core_.config.kernel;
  const bool pool = Mm::of(parent).space.entry(page.begin)->pool;
  return kernel.has(Change::fork_copies_pinned) && (!pool || kernel.has(Change::hugetlb_fork_copies)) &&
         core_.pinned(parent, page);
}

// copy_present_page: of 4 KiB.
sim::Task<Error> Vm::copy_page_for_child(cpu::Execution& exec, Process& parent, Process& child, VirtualAddress va) {
  const PageState page = *Mm::of(parent).space.entry(va);
  const VmCore::Hold hold(core_, page.frame);  // or it would be gone with its pin
  const auto frame = co_await core_.new_frame(exec, parent);
  if (!frame) co_return Error::no_memory;
  co_await core_.copy_page(exec, page.frame, *frame);
  const Error error = core_.adopt(child, va, {*frame, PageSize::small}, page.may_write());
  if (error == Error::none && page.entry == Entry::hidden) core_.hide(child, va, Entry::hidden, page.hidden_by);
  co_return error;
}

// copy_present_pte, copy_huge_pmd. `leaves`: where the parent's descriptors were write-protected.
Error Vm::share_with_child(Process& parent, Process& child, VirtualAddress va, Taking by, Leaves& leaves) {
  PageState page = *Mm::of(parent).space.entry(va);
  const PageSize size = Mm::of(parent).space.leaf_size(va);
  // In the child (copy_present_pte; copy_hugetlb_page_range keeps it).
  if (!page.pool && std::exchange(page.young, false)) page.aged_by = by;
  const Error error = core_.share(child, va, page, size, page.may_write() ? by : page.protected_by);
  if (error != Error::none || !page.may_write()) return error;
  core_.protect(parent, va, by);
  if (page.present() && page.writable) leaves.add(va, size);
  return Error::none;
}

// As in do_exit() the memory goes first (exit_mm), then the files (exit_files): closing a device's file lets go of the
// pins that its driver holds.
sim::Task<void> Vm::exit(cpu::Execution& exec, Process& process) {
  co_await run(exec, core_.config.exit_fixed);
  sim::Vector<PinId> pins;
  for (const auto& [id, pin] : pins_) {
    if (pin.process == &process) pins.push_back(id);
  }
  std::sort(pins.begin(), pins.end());
  co_await unmap_all(exec, process);
  for (const PinId pin : pins) co_await unpin(exec, pin, Caller::kernel);
  while (Mm::of(process).users > 0) co_await Mm::of(process).page_settled;
  core_.destroy_process(process);
}

sim::Task<void> Vm::execve(cpu::Execution& exec, Process& process) {
  co_await run(exec, core_.config.exec_fixed);
  co_await unmap_all(exec, process);
}

sim::Task<void> Vm::unmap_all(cpu::Execution& exec, Process& process) {
  const Range all = Mm::of(process).space.all();
  co_await core_.lock_for_change(exec, process, all);
  set_locked(process, all, false);
  Mm::of(process).space.erase(all.begin, all.end);
  co_await core_.unmap_all(exec, process);
  core_.huge_pool.release(process, all);
  Mm::of(process).lock.unlock_exclusive();
}

}  // namespace faultline::os
