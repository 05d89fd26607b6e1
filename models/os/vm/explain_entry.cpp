// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/explain_entry.hpp"

#include "models/os/files/file.hpp"
#include "models/os/vm/process.hpp"

namespace faultline::os {

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

namespace {

void explain_absence(const AddressSpace& space, VirtualAddress va, FaultReason& reason) {
  const Vma& vma = *space.find(va);
  reason.by = space.dropped_by(va);
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

void explain_hiding(FaultReason& reason) {
  reason.by = reason.page.hidden_by;
  if (reason.page.entry == Entry::swapped) {
    reason.cause = reason.in_memory ? FaultCause::reclaim : FaultCause::swap;
  } else if (reason.page.entry == Entry::poisoned) {
    reason.cause = FaultCause::memory_failure;
  } else {
    reason.cause = cause_of(reason.by.by);
  }
}

void explain_protection(const Vma& vma, FaultReason& reason) {
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

}  // namespace

void explain_entry(const Process& process, VirtualAddress va, bool write, FaultReason& reason) {
  const Vma* vma = process.space().find(va);
  const PageState& page = reason.page;
  if (vma == nullptr) {
    reason.cause = FaultCause::no_mapping;
  } else if (page.entry == Entry::none) {
    explain_absence(process.space(), va, reason);
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

}  // namespace faultline::os
