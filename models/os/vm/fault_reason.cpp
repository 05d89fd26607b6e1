// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/fault_reason.hpp"

namespace faultline::os {

const std::array<FaultCauseDoc, kFaultCauses> kFaultCauseDocs{{
    {FaultCause::absent, "absent", "of anonymous memory that the program has not touched"},
    {FaultCause::file, "file", "of a mapped file or shared memory that the process's table has not had"},
    {FaultCause::zero_page, "zero_page", "writes to the shared zero page: the program has only read it"},
    {FaultCause::access_flag, "access_flag", "on a clear access flag (page ageing, clear_refs, idle tracking)"},
    {FaultCause::clean, "clean", "writes to a clean page, which is write-protected so that the next store is seen"},
    {FaultCause::write_protected, "write_protected",
     "on a page that is write-protected, or being copied: fork, same-page merging, userfaultfd"},
    {FaultCause::permission, "permission", "against the rights of the mapping, or after mprotect() took them"},
    {FaultCause::no_mapping, "no_mapping", "of addresses without a mapping, or without a process"},
    {FaultCause::dropped, "dropped", "of pages that were dropped: MADV_DONTNEED, a hole in the file, a lost huge page"},
    {FaultCause::collapse, "collapse", "while a range was collapsed into 2 MiB (khugepaged, MADV_COLLAPSE)"},
    {FaultCause::split, "split", "while a page of 2 MiB was split"},
    {FaultCause::migration, "migration", "while a page was moved (compaction, CMA, move_pages), or since, of a mirror"},
    {FaultCause::numa_hint, "numa_hint", "on a NUMA hint"},
    {FaultCause::reclaim, "reclaim", "of pages that reclaim has unmapped, and whose content no swap device has alone"},
    {FaultCause::swap, "swap", "of pages that have to be read from the swap device"},
    {FaultCause::memory_failure, "memory_failure", "of pages whose memory has failed"},
    {FaultCause::mirror, "mirror", "of pages that the process has and the device's mirror has not had"},
    {FaultCause::private_table, "private_table", "of pages that the device's private table does not have"},
    {FaultCause::held_off, "held_off",
     "of accesses that the IOMMU ended only because another access of the process had faulted"},
    {FaultCause::raced, "raced", "of pages that had become usable when the SMMU had found that they were not"},
    {FaultCause::bus_error, "bus_error", "on a descriptor that could not be read"},
}};

const char* to_string(FaultCause cause) { return kFaultCauseDocs.at(static_cast<std::size_t>(cause)).name; }

std::string_view to_string(Taker taker) {
  switch (taker) {
    case Taker::nobody: return "nobody";
    case Taker::advice: return "MADV_DONTNEED";
    case Taker::unmapping: return "unmapping";
    case Taker::truncation: return "truncation";
    case Taker::mprotect: return "mprotect";
    case Taker::madv_free: return "MADV_FREE";
    case Taker::fork: return "fork";
    case Taker::copy: return "copy";
    case Taker::ksm: return "KSM";
    case Taker::userfaultfd: return "userfaultfd";
    case Taker::writeback: return "write-back";
    case Taker::numa: return "NUMA hint";
    case Taker::collapse: return "collapse";
    case Taker::split: return "split";
    case Taker::migration: return "migration";
    case Taker::reclaim: return "reclaim";
    case Taker::clear_refs: return "clear_refs";
    case Taker::idle_tracking: return "idle tracking";
    case Taker::memory_failure: return "memory failure";
  }
  return "?";
}

namespace {

std::string present_text(const PageState& page) {
  std::string text = page.zero ? "zero page" : "present";
  if (!page.young) text += ", old";
  if (page.clean) text += ", clean";
  if (!page.may_write() && !page.zero) text += ", read-only";
  if (page.userfault) text += ", watched";
  return text;
}

}  // namespace

std::string state_text(const FaultReason& reason) {
  const PageState& page = reason.page;
  std::string text;
  switch (page.entry) {
    case Entry::none:
      text = !reason.mapped ? "no mapping" : reason.in_memory ? "no entry" : "no entry, not in memory";
      break;
    case Entry::present: text = present_text(page); break;
    case Entry::hidden: text = "hidden"; break;
    case Entry::moving: text = "moving"; break;
    case Entry::migrating: text = "migrating"; break;
    case Entry::swapped: text = reason.in_memory ? "swapped, in the swap cache" : "swapped, on the device"; break;
    case Entry::poisoned: text = "poisoned"; break;
  }
  return reason.huge ? text + ", 2 MiB" : text;
}

}  // namespace faultline::os
