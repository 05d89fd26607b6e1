// SPDX-License-Identifier: Apache-2.0
// How entries go: cleared, forgotten by the TLBs, and only then their frames let go of.
#include <algorithm>

#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

VmCore::Zapped VmCore::zap(Process& process, Range range, Taking by) {
  Zapped zapped;
  // Where the VMA goes, too, and in set-up, the range is as if it had never been touched.
  const bool forgets = by.by == Taker::nobody || by.by == Taker::unmapping;
  if (forgets) Mm::of(process).space.note_drop(range, {});
  Mm::of(process).space.for_each_leaf(range.begin, range.end, [&](VirtualAddress va, PageSize size) {
    const PageState page = remove_entry(process, va, size);
    if (!forgets) Mm::of(process).space.note_drop(page_range(va, size), by);
    // Also of entries without a valid descriptor: a walk cache may hold the table.
    zapped.leaves.add(va, size);
    if (page.entry == Entry::swapped) swap_->release(page.slot());
    for (std::uint64_t offset = 0; offset < bytes_of(size) && page.has_frame(); offset += kPage) {
      zapped.frames.push_back(page.frame + offset);
    }
  });
  zapped.tables = Mm::of(process).table->take_retired();
  return zapped;
}

sim::Task<Result<std::uint64_t>> VmCore::unmap(cpu::Execution& exec, Process& process, Range range, Taker by) {
  co_await change_begins(exec, process, range, by);
  co_await settled(process, range);
  Result<std::uint64_t> unmapped{.error = split_edges_now(process, range)};
  if (unmapped.ok()) {
    const Zapped zapped = zap(process, range, taking(exec, by));
    co_await flush_gathered(exec, process, zapped.leaves, zapped.tables.size());
    retire(process, zapped);
    unmapped.value = zapped.frames.size();
  }
  change_ends(process, range);
  co_return unmapped;
}

// exit_mmap. The pages of an address space that ends need no invalidation: TLBs forget its ASID before another process
// gets that.
sim::Task<void> VmCore::unmap_all(cpu::Execution& exec, Process& process) {
  const Range all = Mm::of(process).space.all();
  co_await change_begins(exec, process, all, Taker::unmapping);
  co_await settled(process, all);
  const Zapped zapped = zap(process, all, {Taker::unmapping, false});
  if (!config.kernel.has(Change::tlb_strides)) {
    drop(process, all, zapped.leaves.addresses());
    co_await tlbs.flush_tables(exec, zapped.tables.size());
  } else if (!zapped.leaves.empty()) {
    co_await flush_all(exec, process, zapped.leaves, zapped.tables.size());
  }
  retire(process, zapped);
  change_ends(process, all);
}

void VmCore::retire(Process& process, const Zapped& zapped) {
  for (const Address frame : zapped.frames) retire(process, frame);
  Mm::of(process).table->free_tables(zapped.tables);
}

void VmCore::retire(const Process& process, Address frame) {
  FrameRecord& record = frame_table.at(frame);
  --record.mappings;
  // The process that had locked the page may have been the last to do so.
  if (record.list == LruList::unevictable && (record.mappings > 0 || record.file != 0) && evictable(frame)) {
    lru(record).move(frame, record.inactive());
  }
  if (record.file == 0 && is_cut_off(process, frame, record)) stamp(frame);
  put_frame(frame);
}

// A process has pinned the page, or has a table that leads there without a pin, and maps it no more. Devices still
// reach the frame through the process's private tables, and the process does not see what they do there. Other
// processes that map it (a child) do not matter.
bool VmCore::is_cut_off(const Process& process, Address frame, const FrameRecord& record) const {
  const auto hopes = [frame](const auto& table) { return table->hopes_for(frame); };
  const bool reached = (record.pins > 0 && frame_table.pins(process, frame)) ||
                       std::ranges::any_of(Mm::of(process).device_tables, hopes);
  return reached && !frame_table.maps(process, frame);
}

void VmCore::retire_block(const Process& process, Address block) {
  for (std::uint64_t offset = 0; offset < kHugePage; offset += kPage) retire(process, block + offset);
}

}  // namespace faultline::os
