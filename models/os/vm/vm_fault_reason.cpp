// SPDX-License-Identifier: Apache-2.0
// What a device's fault comes from, read from the tables as they are at that instant.
#include <algorithm>

#include "models/os/vm/explain_entry.hpp"
#include "models/os/vm/vm.hpp"

namespace faultline::os {

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
  if (table_root == Mm::of(*process).table->root()) {
    explain_entry(*process, va, write, reason);
    return reason;
  }
  for (const auto& table : Mm::of(*process).device_tables) {
    if (table_root == table->root()) table->explain(va, write, reason);
  }
  return reason;
}

FaultReason Vm::look_at(const Process& process, VirtualAddress va) const {
  FaultReason look;
  const Vma* vma = Mm::of(process).space.find(va);
  look.mapped = vma != nullptr;
  look.huge = Mm::of(process).space.is_huge(va);
  if (const PageState* page = Mm::of(process).space.entry(va)) look.page = *page;
  const bool kept_elsewhere = look.page.entry == Entry::swapped || (look.page.entry == Entry::none && look.mapped);
  if (kept_elsewhere && (look.page.entry == Entry::swapped || vma->file != nullptr)) {
    look.in_memory = is_in_core(process, va);
  }
  return look;
}

}  // namespace faultline::os
