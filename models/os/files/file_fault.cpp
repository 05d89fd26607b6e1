// SPDX-License-Identifier: Apache-2.0
// Faults on mapped files.
#include <algorithm>
#include <bit>
#include <utility>

#include "models/os/files/page_cache.hpp"
#include "models/os/vm/told_call.hpp"
#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

using cpu::Execution;
using sim::Task;

namespace {

constexpr unsigned kLotsOfMisses = 100;  // MMAP_LOTSAMISS: then reading around a fault is of no use
constexpr unsigned kMostMisses = 1000;

}  // namespace

// do_sync_mmap_readahead, of a mapping without advice: as many pages before the fault as behind it.
ReadWindow PageCache::around(File& file, std::uint32_t page) const {
  if (file.mmap_misses_ < kMostMisses) ++file.mmap_misses_;
  if (file.mmap_misses_ > kLotsOfMisses) return {.start = page, .size = 1, .ahead = 0};
  const std::uint32_t most = most_ahead();
  file.mapped_ = {.start = page - std::min(page, most / 2), .size = most, .ahead = most / 4};
  return file.mapped_;
}

// Whether a fault on va still wants this page.
bool PageCache::is_wanted(const Process& process, VirtualAddress va, const File& file, std::uint32_t page,
                          Address frame) const {
  const Vma* vma = Mm::of(process).space.find(va);
  const File::Page* cached = file.find(page);
  return vma != nullptr && vma->file == &file && vma->file_page(va) == page &&
         Mm::of(process).space.entry(va) == nullptr && page < file.pages() && cached != nullptr &&
         cached->frame == frame && !cached->reading;
}

Task<Error> PageCache::fault(Execution& exec, Process& process, VirtualAddress va, bool write, sim::Time owed) {
  const Vma vma = *Mm::of(process).space.find(va);
  File& file = *vma.file;
  const std::uint32_t page = vma.file_page(va);
  if (page >= file.pages()) {
    co_await core_.run(exec, owed + core_.config.fault_no_alloc);
    co_return Error::beyond_end;
  }
  if (slot_of(file, page) != 0) co_return co_await swap_in(exec, process, file, page, owed);
  const Error found = co_await look_up(exec, process, file, page, owed);
  if (found != Error::none) co_return found;
  const File::Page* cached = file.find(page);
  if (cached == nullptr) co_return Error::again;
  const Address frame = cached->frame;
  const VmCore::Hold hold(core_, frame);  // or reclaim would take it before it is mapped
  if (cached->reading) {
    if (owed > sim::Time{0}) co_await core_.run(exec, owed);
    co_await wait_for_disk(exec, process, file, page);
    co_return Error::again;
  }
  if (write && !vma.shared) co_return co_await copy(exec, process, va, frame, owed);
  co_await core_.run(exec, owed + core_.config.fault_no_alloc);
  if (!is_wanted(process, va, file, page, frame)) co_return Error::again;
  const Error error = map_cached(process, va, frame, write);
  if (error != Error::none) co_return error;
  const unsigned others = write ? 0 : map_around(process, va);
  co_await core_.run(exec, core_.config.fault_around_page * static_cast<std::int64_t>(others));
  if (write) co_await throttle_writer(exec, process, file);
  co_return Error::again;  // the caller looks whether the page is still mapped
}

// filemap_fault: the page is in the cache now, or on its way from the disk, unless it is truncated meanwhile. `owed`:
// what the fault has cost so far and has not been charged.
Task<Error> PageCache::look_up(Execution& exec, Process& process, File& file, std::uint32_t page, sim::Time& owed) {
  if (File::Page* cached = file.find(page)) {
    if (file.mmap_misses_ > 0) --file.mmap_misses_;
    if (std::exchange(cached->marker, false)) {
      co_await fetch(exec, process, file, next_window(file.mapped_, page, 1, false), kNoPage);
    }
    co_return Error::none;
  }
  if (!file.is_hole(page)) {
    ++core_.counters.pgmajfault;
    ++Mm::of(process).faults.major;
    co_await core_.run(exec, std::exchange(owed, sim::Time{0}) + core_.config.disk_fault);
  }
  // shmem_get_folio: one page of zeros, and none around it.
  if (file.is_shmem()) owed += core_.config.anon_minor_fault - core_.config.fault_no_alloc;
  const ReadWindow window = file.is_shmem() ? ReadWindow{.start = page, .size = 1, .ahead = 0} : around(file, page);
  co_return co_await fetch(exec, process, file, window, page);
}

// VM_FAULT_RETRY: without the lock, so that afterwards everything may be different.
Task<void> PageCache::wait_for_disk(Execution& exec, Process& process, File& file, std::uint32_t page) {
  Mm::of(process).lock.unlock_fault(exec);
  {
    const ToldCall wait(core_.context, exec, process, "wait for the disk");
    while (file.find(page) != nullptr && file.find(page)->reading) co_await core_.cpu.sleep(exec, read_done_);
  }
  co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  ++file.mmap_misses_;  // a page that is found after a wait is not a hit
}

Error PageCache::map_cached(Process& process, VirtualAddress va, Address frame, bool write) {
  const PageState mapped{.frame = frame, .entry = Entry::present, .young = true};
  const Error error = core_.share(process, va, mapped, PageSize::small);
  if (error != Error::none) {
    ++core_.counters.out_of_memory;
    return error;
  }
  if (!write) return Error::none;
  dirtied(frame);
  core_.allow_writing(process, va);
  return Error::none;
}

// balance_dirty_pages: whoever dirties too much waits for the disk, without the lock. Shared memory has no disk.
Task<void> PageCache::throttle_writer(Execution& exec, Process& process, const File& file) {
  if (file.is_shmem() || !writeback_.is_over_limit()) co_return;
  Mm::of(process).lock.unlock_fault(exec);
  {
    const ToldCall wait(core_.context, exec, process, "wait for the disk to take what was written");
    co_await writeback_.throttle(exec);
  }
  co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
}

// do_cow_fault: a private mapping's own page at once.
Task<Error> PageCache::copy(Execution& exec, Process& process, VirtualAddress va, Address frame, sim::Time owed) {
  ++core_.counters.cow_faults;
  const FrameRecord record = core_.frame_table.find(frame);
  const File& file = file_of(record);
  const std::uint32_t page = record.file_page;
  const auto own = co_await core_.new_frame(exec, process);
  if (!own) ++core_.counters.out_of_memory;
  co_await core_.run(exec, owed + core_.config.cow_fault);
  if (!own) co_return Error::no_memory;
  co_await core_.copy_page(exec, frame, *own);
  if (!is_wanted(process, va, file, page, frame)) {
    core_.frames.free_page(*own);
    co_return Error::again;
  }
  co_return core_.adopt(process, va, {*own, PageSize::small}, Mm::of(process).space.find(va)->writable);
}

// do_fault_around and filemap_map_pages: neighbours that are in memory are mapped, too, in a window that begins at a
// multiple of its size, or where the VMA does, and ends with the VMA or the page table at the latest. They count as
// used: since 5.12 an arm64 kernel leaves the flag clear where the cores set access flags themselves
// (arch_wants_old_prefaulted_pte), and a Cortex-A53 does not. How many.
unsigned PageCache::map_around(Process& process, VirtualAddress va) {
  const Vma& vma = *Mm::of(process).space.find(va);
  const std::uint64_t bytes = std::bit_floor(core_.config.fault_around_bytes);
  const VirtualAddress begin = std::max({va / bytes * bytes, vma.begin, huge_range(va).begin});
  const VirtualAddress end = std::min({begin + bytes, vma.end, huge_range(va).end});
  unsigned mapped = 0;
  for (VirtualAddress at = begin; at < end; at += kPage) {
    const std::uint32_t page = vma.file_page(at);
    const File::Page* cached = page < vma.file->pages() ? vma.file->find(page) : nullptr;
    if (cached == nullptr || cached->reading || cached->marker || Mm::of(process).space.entry(at) != nullptr) continue;
    const PageState state{.frame = cached->frame, .entry = Entry::present, .young = true};
    if (core_.share(process, at, state, PageSize::small) != Error::none) break;
    ++mapped;
  }
  return mapped;
}

Task<Error> PageCache::make_writable(Execution& exec, Process& process, VirtualAddress va, sim::Time owed) {
  co_await core_.run(exec, owed + core_.config.fault_no_alloc);
  const PageState* page = Mm::of(process).space.page(va);
  if (page == nullptr || page->writable || core_.frame_table.find(page->frame).file == 0) co_return Error::again;
  dirtied(page->frame);
  core_.allow_writing(process, va);
  core_.set_young(process, va);
  // TLBs may hold that the page must not be written (arm64: ptep_set_access_flags).
  co_await core_.flush_entry(exec, process, va);
  co_await throttle_writer(exec, process, *Mm::of(process).space.find(va)->file);
  co_return Error::again;  // the caller looks whether the page may still be written
}

Error PageCache::bring(Process& process, VirtualAddress va) {
  const Vma& vma = *Mm::of(process).space.find(va);
  File& file = *vma.file;
  const std::uint32_t page = vma.file_page(va);
  if (page >= file.pages()) return Error::beyond_end;
  if (const SwapSlot slot = slot_of(file, page)) {
    const Error error = swap_.bring(slot);
    if (error != Error::none) return error;
    take_from_swap(file, page);
  }
  if (file.find(page) == nullptr) {
    const auto frame = core_.frames.allocate_page();
    if (!frame) return Error::no_memory;
    core_.store.write(*frame, file.on_disk(page));
    add(process, file, page, *frame);
    arrived(file, page);
  }
  const File::Page& cached = *file.find(page);
  if (cached.reading) return Error::again;
  const PageState state{.frame = cached.frame, .entry = Entry::present, .young = true};
  return core_.share(process, va, state, PageSize::small);
}

}  // namespace faultline::os
