// SPDX-License-Identifier: Apache-2.0
// Pages of shared memory (MAP_SHARED | MAP_ANONYMOUS, tmpfs) on their way to the swap device and back. Linux
// mm/shmem.c. In all else they are pages of a file that has no disk.
#include "models/os/files/page_cache.hpp"
#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

using cpu::Execution;
using sim::Task;

SwapSlot PageCache::slot_of(const File& file, std::uint32_t page) {
  const auto found = file.swapped_.find(page);
  return found == file.swapped_.end() ? 0 : found->second;
}

void PageCache::hand_to_swap(Address frame) {
  const FrameRecord record = core_.frame_table.find(frame);
  File& file = file_of(record);
  file.swapped_[record.file_page] = record.slot;
  swap_.retain(record.slot, /*written=*/true);
  remove(frame);
}

bool PageCache::is_in_core(const File& file, std::uint32_t page) const {
  if (file.find(page) != nullptr) return true;
  const SwapSlot slot = slot_of(file, page);
  return slot != 0 && swap_.cached(slot).has_value();
}

// shmem_swapin_folio: found in the swap cache, or read. again: look once more; no_memory. The lock is not held while
// the device is at work.
Task<Error> PageCache::swap_in(Execution& exec, Process& process, File& file, std::uint32_t page, sim::Time owed) {
  const SwapSlot slot = slot_of(file, page);
  if (!swap_.cached(slot)) {
    ++core_.counters.pgmajfault;
    ++Mm::of(process).faults.major;
    co_await core_.run(exec, owed + core_.config.disk_fault);
    const bool room = co_await core_.reclaim().make_room(exec, process, 1);
    if (slot_of(file, page) != slot) co_return Error::again;
    if (!swap_.cached(slot)) {
      const auto frame = room ? core_.frames.allocate_page() : std::nullopt;
      if (!frame) {
        ++core_.counters.out_of_memory;
        co_return Error::no_memory;
      }
      swap_.begin_read(slot, *frame);
    }
  } else if (owed > sim::Time{0}) {
    co_await core_.run(exec, owed);
  }
  if (slot_of(file, page) == slot && swap_.is_reading(slot)) {
    Mm::of(process).lock.unlock_fault(exec);
    while (slot_of(file, page) == slot && swap_.is_reading(slot)) co_await swap_.sleep(exec);
    co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  }
  if (slot_of(file, page) == slot && swap_.cached(slot) && !swap_.is_reading(slot)) take_from_swap(file, page);
  co_return Error::again;
}

// The page in the swap cache is the file's again; it may still be on its way to the device.
void PageCache::take_from_swap(File& file, std::uint32_t page) {
  const SwapSlot slot = slot_of(file, page);
  const Address frame = *swap_.cached(slot);
  FrameRecord& record = core_.frame_table.at(frame);
  record.file = file.id();
  record.file_page = page;
  record.swap_backed = true;
  file.cached_[page] = {.frame = frame};
  file.swapped_.erase(page);
  swap_.release(slot);
  swap_.forget(frame);
}

// shmem_undo_range
void PageCache::drop_swapped(File& file, std::uint32_t begin, std::uint32_t end) {
  const auto first = file.swapped_.lower_bound(begin);
  const auto last = file.swapped_.lower_bound(end);
  sim::Vector<SwapSlot> slots;
  for (auto at = first; at != last; ++at) slots.push_back(at->second);
  file.swapped_.erase(first, last);
  for (const SwapSlot slot : slots) swap_.release(slot);
}

}  // namespace faultline::os
