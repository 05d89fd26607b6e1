// SPDX-License-Identifier: Apache-2.0
// What a device's fault comes from, read from the tables as they are at that instant, and from what the page states
// know of who changed them.
#include <algorithm>

#include "models/os/vm/vm.hpp"

namespace faultline::os {
namespace {

// Of a page that somebody has taken away, or is at work on.
FaultCause cause_of(Taker taker) {
  switch (taker) {
    case Taker::advice:
    case Taker::truncation: return FaultCause::dropped;
    case Taker::unmapping: return FaultCause::no_mapping;
    case Taker::mprotect: return FaultCause::permission;
    case Taker::madv_free:
    case Taker::writeback: return FaultCause::clean;
    case Taker::nobody:
    case Taker::fork:
    case Taker::copy:
    case Taker::ksm:
    case Taker::userfaultfd: return FaultCause::write_protected;
    case Taker::numa: return FaultCause::numa_hint;
    case Taker::collapse: return FaultCause::collapse;
    case Taker::split: return FaultCause::split;
    case Taker::migration: return FaultCause::migration;
    case Taker::reclaim: return FaultCause::reclaim;
    case Taker::clear_refs:
    case Taker::idle_tracking: return FaultCause::access_flag;
    case Taker::memory_failure: return FaultCause::memory_failure;
  }
  return FaultCause::write_protected;
}

}  // namespace

const Process* Vm::find_process(std::uint32_t id) const {
  const auto found = std::find_if(core_.processes.begin(), core_.processes.end(),
                                  [id](const auto& process) { return process->id() == id; });
  return found == core_.processes.end() ? nullptr : found->get();
}

FaultReason Vm::fault_reason(std::uint32_t process_id, Address table_root, VirtualAddress at, bool write) const {
  const VirtualAddress va = sim::page_begin(at);
  const Process* process = find_process(process_id);
  if (process == nullptr) return {.cause = FaultCause::no_mapping};
  FaultReason reason = look_at(*process, va);
  if (table_root == process->table_->root()) {
    explain_entry(*process, va, write, reason);
    return reason;
  }
  for (const auto& mirror : process->mirrors_) {
    if (table_root == mirror->root()) explain_mirror(*mirror, va, write, reason);
  }
  for (const auto& table : process->private_tables_) {
    if (table_root != table->root()) continue;
    const auto mapped = table->table_->walk(va);
    const bool usable = mapped && (mapped->writable || !write);
    reason.cause = !mapped ? FaultCause::private_table : usable ? FaultCause::raced : FaultCause::permission;
  }
  return reason;
}

FaultReason Vm::look_at(const Process& process, VirtualAddress va) const {
  FaultReason look;
  const Vma* vma = process.space_.find(va);
  look.mapped = vma != nullptr;
  look.huge = process.space_.is_huge(va);
  if (const PageState* page = process.space_.entry(va)) look.page = *page;
  const bool kept_elsewhere = look.page.entry == Entry::swapped || (look.page.entry == Entry::none && look.mapped);
  if (kept_elsewhere && (look.page.entry == Entry::swapped || vma->file != nullptr)) {
    look.in_memory = is_in_core(process, va);
  }
  return look;
}

// What stands against an access in the process's own table.
void Vm::explain_entry(const Process& process, VirtualAddress va, bool write, FaultReason& reason) const {
  const Vma* vma = process.space_.find(va);
  const PageState& page = reason.page;
  if (vma == nullptr) {
    reason.cause = FaultCause::no_mapping;
  } else if (page.entry == Entry::none) {
    explain_absence(process, va, reason);
  } else if (!page.present()) {
    explain_hiding(reason);
  } else if (!page.young) {
    reason.cause = FaultCause::access_flag;
    reason.by = page.aged_by;
  } else if (write && !page.writable) {
    explain_protection(*vma, reason);
  } else {
    reason.cause = FaultCause::raced;
  }
  if (vma != nullptr && !vma->allows(write) && page.entry != Entry::none) reason.cause = FaultCause::permission;
}

void Vm::explain_absence(const Process& process, VirtualAddress va, FaultReason& reason) const {
  const Vma& vma = *process.space_.find(va);
  reason.by = process.space_.dropped_by(va);
  if (!vma.allows(false)) {
    reason.cause = FaultCause::permission;
  } else if (reason.by.by == Taker::copy || vma.lost_pages) {
    reason.cause = FaultCause::dropped;  // a page of the pool whose owner needed it
  } else if (reason.by.by != Taker::nobody) {
    const bool on_swap_device = vma.file != nullptr && vma.file->is_shmem() && !reason.in_memory;
    reason.cause = cause_of(reason.by.by);
    if (reason.cause == FaultCause::reclaim && on_swap_device) reason.cause = FaultCause::swap;
  } else {
    reason.cause = vma.file != nullptr ? FaultCause::file : FaultCause::absent;
  }
}

void Vm::explain_hiding(FaultReason& reason) {
  reason.by = reason.page.hidden_by;
  if (reason.page.entry == Entry::swapped) {
    reason.cause = reason.in_memory ? FaultCause::reclaim : FaultCause::swap;
  } else if (reason.page.entry == Entry::poisoned) {
    reason.cause = FaultCause::memory_failure;
  } else {
    reason.cause = cause_of(reason.by.by);
  }
}

void Vm::explain_protection(const Vma& vma, FaultReason& reason) {
  const PageState& page = reason.page;
  reason.by = page.protected_by;
  if (page.zero) {
    reason.cause = FaultCause::zero_page;
  } else if (page.clean || (vma.shared && reason.by.by != Taker::mprotect)) {
    reason.cause = FaultCause::clean;
  } else {
    reason.cause = reason.by.by == Taker::mprotect ? FaultCause::permission : FaultCause::write_protected;
  }
}

// A mirror takes pages whatever their flags are. What it lacks of those that the process has it has lost to a change
// that is over by now, unless it has never had them.
void Vm::explain_mirror(const MirroredTable& mirror, VirtualAddress va, bool write, FaultReason& reason) const {
  const auto known = mirror.table_->walk(va);
  if (known && (known->writable || !write)) {
    reason.cause = FaultCause::raced;
    return;
  }
  const Vma* vma = mirror.process_.space_.find(va);
  const bool allowed = vma != nullptr && vma->allows(write);
  if (!allowed || !takeable(reason.page.present() ? &reason.page : nullptr, write)) {
    FaultReason with_flag = reason;
    with_flag.page.young = true;
    explain_entry(mirror.process_, va, write, with_flag);
    reason.cause = with_flag.cause;
    reason.by = with_flag.by;
    return;
  }
  reason.by = mirror.taken_from(va);
  reason.cause = reason.by.by == Taker::nobody ? FaultCause::mirror : cause_of(reason.by.by);
}

}  // namespace faultline::os
