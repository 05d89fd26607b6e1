// SPDX-License-Identifier: Apache-2.0
// Files in memory: read-ahead, the calls, and how files shrink. Faults: file_fault.cpp.
#include "models/os/files/page_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

using cpu::Execution;
using sim::Content;
using sim::Task;

namespace {

constexpr std::size_t kMostFiles = 65535;

}  // namespace

PageCache::PageCache(VmCore& core, BlockDevice& disk, Swap& swap)
    : core_(core), disk_(disk), swap_(swap), read_done_(core.context.loop), writeback_(core, disk, *this) {}

File* PageCache::create(std::uint64_t bytes, std::uint64_t seed) { return create(bytes, seed, File::Kind::on_disk); }
File* PageCache::create_shmem(std::uint64_t bytes) { return create(bytes, 0, File::Kind::shmem); }

File* PageCache::create(std::uint64_t bytes, std::uint64_t seed, File::Kind kind) {
  const std::uint64_t pages = sim::page_end(bytes) / kPage;
  if (files_.size() == kMostFiles || bytes > sim::page_end(bytes) || pages >= kNoPage) return nullptr;
  const auto id = static_cast<FileId>(files_.size() + 1);
  files_.push_back(std::make_unique<File>(id, static_cast<std::uint32_t>(pages), seed, kind));
  if (kind == File::Kind::on_disk) core_.reclaim().begin();  // of shared memory nothing can be reclaimed without swap
  return files_.back().get();
}

// Pages in memory.

File& PageCache::file_of(const FrameRecord& record) { return *files_[record.file - 1u]; }

File::Page& PageCache::page_of(Address frame) {
  const FrameRecord& record = core_.frame_table.at(frame);
  return *file_of(record).find(record.file_page);
}

void PageCache::add(const Process& process, File& file, std::uint32_t page, Address frame) {
  FrameRecord& record = core_.frame_table.at(frame);
  record.file = file.id();
  record.file_page = page;
  record.swap_backed = file.is_shmem();
  ++record.isolated;
  core_.charge(process, frame, record);
  file.cached_[page] = {.frame = frame, .reading = true};
}

void PageCache::arrived(File& file, std::uint32_t page) {
  File::Page& cached = *file.find(page);
  cached.reading = false;
  core_.put_back(cached.frame, /*active=*/false);
  core_.note_arrival(core_.frame_table.at(cached.frame));
  read_done_.notify_all();
}

void PageCache::remove(Address frame) {
  FrameRecord& record = core_.frame_table.at(frame);
  File& file = file_of(record);
  if (file.find(record.file_page)->dirty) writeback_.forget(file, record.file_page);
  file.cached_.erase(record.file_page);
  record.file = 0;
  record.file_page = 0;
  record.swap_backed = false;
}

void PageCache::replace(Address frame, Address copy) {
  page_of(frame).frame = copy;
  FrameRecord& old = core_.frame_table.at(frame);
  FrameRecord& record = core_.frame_table.at(copy);
  record.file = std::exchange(old.file, FileId{0});
  record.file_page = std::exchange(old.file_page, 0);
  record.swap_backed = old.swap_backed;
  old.swap_backed = false;
  record.referenced = old.referenced;
  record.group = old.group;
  record.charged = old.charged;
  if (record.charged) ++core_.groups[record.group]->charged;
}

void PageCache::dirtied(Address frame) {
  const FrameRecord& record = core_.frame_table.at(frame);
  File& file = file_of(record);
  if (!file.is_shmem() && !file.find(record.file_page)->dirty) writeback_.dirtied(file, record.file_page);
}

// mark_page_accessed
void PageCache::accessed(Address frame) {
  FrameRecord& record = core_.frame_table.at(frame);
  const bool again = record.referenced && record.list == record.inactive();
  record.referenced = !again;
  if (!again) return;
  core_.lru(record).move(frame, record.active());
  core_.note_arrival(record);
  ++core_.counters.pgactivate;
}

Content PageCache::content(const File& file, std::uint32_t page) const {
  const File::Page* cached = file.find(page);
  if (const SwapSlot slot = slot_of(file, page)) return swap_.content(slot);
  return cached != nullptr && !cached->reading ? core_.store.read(cached->frame, kPage) : file.on_disk(page);
}

// Reading.

std::uint32_t PageCache::most_ahead() const {
  return std::max<std::uint32_t>(static_cast<std::uint32_t>(core_.config.read_ahead_bytes / kPage), 1);
}

// page_cache_sync_ra, page_cache_async_ra: `wanted` pages from `page` on are asked for.
ReadWindow PageCache::next_window(ReadWindow& window, std::uint32_t page, std::uint32_t wanted, bool in_order) const {
  const std::uint32_t most = most_ahead();
  // get_next_ra_size
  const auto larger = [most](std::uint32_t size) {
    return size < most / 16 ? 4 * size : size <= most / 2 ? 2 * size : most;
  };
  if (window.size > 0 && (page == window.marker() || page == window.end())) {
    const std::uint32_t size = larger(window.size);
    window = {.start = window.end(), .size = size, .ahead = size};
  } else if (page == 0 || in_order || wanted > most) {
    // get_init_ra_size
    std::uint32_t size = std::bit_ceil(std::min(wanted, most));
    size = size <= most / 32 ? 4 * size : size <= most / 4 ? 2 * size : most;
    window = {.start = page, .size = size, .ahead = size > wanted ? size - wanted : size};
  } else {
    return {.start = page, .size = std::min(wanted, most), .ahead = 0};
  }
  return window;
}

Task<Error> PageCache::fetch(Execution& exec, Process& process, File& file, ReadWindow window, std::uint32_t needed) {
  const std::uint32_t end = std::min(window.end(), file.pages());
  std::uint32_t begun = window.start;  // those from here on are to be read by one command
  Error error = Error::none;
  const auto read_until = [&](std::uint32_t page) {
    if (begun < page) transfers_.start(read_from_disk(file, begun, page));
    begun = page + 1;
  };
  std::uint32_t page = window.start;
  for (; page < end && error == Error::none; ++page) {
    // The last one that there is room for is the one that is needed.
    const bool kept = needed != kNoPage && page != needed && file.find(needed) == nullptr;
    bool room = is_absent(file, page) && core_.reclaim().has_room(process, kept ? 2 : 1);
    if (!room && page == needed && is_absent(file, page)) room = co_await core_.reclaim().make_room(exec, process, 1);
    const bool missing = is_absent(file, page) && page < file.pages();  // nobody else was faster
    const auto frame = room && missing ? core_.frames.allocate_page() : std::nullopt;
    if (!frame) {
      read_until(page);
      if (page == needed && missing) error = Error::no_memory;
      continue;
    }
    add(process, file, page, *frame);
    file.find(page)->marker = window.ahead > 0 && page == window.marker() && page != needed;
    if (!file.is_hole(page)) continue;
    read_until(page);
    co_await core_.clear_memory(exec, {*frame, PageSize::small});
    core_.store.write(*frame, Content::zeros(kPage));
    arrived(file, page);
  }
  read_until(page);
  if (error == Error::no_memory) ++core_.counters.out_of_memory;
  co_return error;
}

Task<void> PageCache::read_from_disk(File& file, std::uint32_t first, std::uint32_t end) {
  core_.counters.pgpgin += (end - first) * (kPage >> 10);
  co_await disk_.read(std::uint64_t{end - first} * kPage);
  for (std::uint32_t page = first; page < end; ++page) {
    core_.store.write(file.find(page)->frame, file.on_disk(page));
    arrived(file, page);
  }
}

Task<Result<Address>> PageCache::get(Execution& exec, Process& process, File& file, std::uint32_t page,
                                     FileReader* reader, std::uint32_t wanted, bool whole) {
  while (page < file.pages()) {
    if (process.was_killed()) co_return Result<Address>{.error = Error::killed};
    File::Page* cached = file.find(page);
    if (cached == nullptr && slot_of(file, page) != 0) {
      co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
      const Error error = co_await swap_in(exec, process, file, page, sim::Time{0});
      Mm::of(process).lock.unlock_shared();
      if (error != Error::again) co_return Result<Address>{.error = error};
      continue;
    }
    if (cached == nullptr && whole) {
      const bool room = core_.reclaim().has_room(process, 1) || co_await core_.reclaim().make_room(exec, process, 1);
      if (file.find(page) != nullptr || page >= file.pages()) continue;
      const auto frame = room ? core_.frames.allocate_page() : std::nullopt;
      if (!frame) {
        ++core_.counters.out_of_memory;
        co_return Result<Address>{.error = Error::no_memory};
      }
      add(process, file, page, *frame);
      core_.store.write(*frame, file.on_disk(page));
      arrived(file, page);
      co_return Result<Address>{.value = *frame};
    }
    if (cached == nullptr || cached->marker) {
      const bool missing = cached == nullptr;
      if (!missing) cached->marker = false;
      if (missing && !file.is_hole(page)) co_await core_.run(exec, core_.config.disk_fault);
      const bool in_order = reader != nullptr && page == reader->next;
      const ReadWindow window = reader != nullptr ? next_window(reader->window, page, wanted, in_order)
                                                  : ReadWindow{.start = page, .size = 1, .ahead = 0};
      const Error error = co_await fetch(exec, process, file, window, missing ? page : kNoPage);
      if (error != Error::none) co_return Result<Address>{.error = error};
      continue;
    }
    if (!cached->reading) co_return Result<Address>{.value = cached->frame};
    const VmCore::Hold hold(core_, cached->frame);  // or reclaim would take it before it is read
    co_await core_.cpu.sleep(exec, read_done_);
    cached = file.find(page);
    if (cached != nullptr && !cached->reading) co_return Result<Address>{.value = cached->frame};
  }
  co_return Result<Address>{.error = Error::beyond_end};
}

// The calls.

Task<Result<std::uint64_t>> PageCache::read(Execution& exec, Process& process, FileReader& reader, std::uint64_t offset,
                                            std::uint64_t bytes) {
  co_await core_.run(exec, core_.config.syscall);
  File& file = *reader.file;
  std::uint64_t done = 0;
  while (done < bytes && offset + done < file.bytes()) {
    const auto page = static_cast<std::uint32_t>((offset + done) / kPage);
    const std::uint64_t part = std::min(bytes - done, kPage - (offset + done) % kPage);
    const auto wanted = static_cast<std::uint32_t>((bytes - done + kPage - 1) / kPage);
    const auto found = co_await get(exec, process, file, page, &reader, wanted, /*whole=*/false);
    if (found.error == Error::beyond_end) break;  // cut off since
    if (!found.ok()) co_return Result<std::uint64_t>{.error = found.error, .value = done};
    const VmCore::Hold hold(core_, found.value);
    co_await core_.cpu.memory_bulk(exec, cpu::Work::system, found.value, part, core_.config.copy_bandwidth, false);
    accessed(found.value);
    reader.next = page + 1;
    done += part;
    co_await core_.cond_resched(exec);
  }
  co_return Result<std::uint64_t>{.value = done};
}

Task<Result<std::uint64_t>> PageCache::write(Execution& exec, Process& process, File& file, std::uint64_t offset,
                                             std::uint64_t bytes, std::uint64_t seed) {
  co_await core_.run(exec, core_.config.syscall);
  std::uint64_t done = 0;
  while (done < bytes && offset + done < file.bytes()) {
    const std::uint64_t at = offset + done;
    const auto page = static_cast<std::uint32_t>(at / kPage);
    const auto part = static_cast<std::uint32_t>(std::min(bytes - done, kPage - at % kPage));
    const auto found = co_await get(exec, process, file, page, nullptr, 1, part == kPage);
    if (found.error == Error::beyond_end) break;  // cut off since
    if (!found.ok()) co_return Result<std::uint64_t>{.error = found.error, .value = done};
    {
      const VmCore::Hold hold(core_, found.value);
      co_await core_.cpu.memory_bulk(exec, cpu::Work::system, found.value, part, core_.config.copy_bandwidth, true);
      const File::Page* cached = file.find(page);
      if (cached == nullptr || cached->frame != found.value) continue;  // cut off, or moved, meanwhile
      core_.store.write(found.value + at % kPage, Content::pattern(seed, at, part));
      dirtied(found.value);
      accessed(found.value);
    }
    done += part;
    co_await writeback_.throttle(exec);
    co_await core_.cond_resched(exec);
  }
  co_return Result<std::uint64_t>{.value = done};
}

// truncate_setsize, then truncate_pagecache.
Task<void> PageCache::resize(Execution& exec, File& file, std::uint32_t pages) {
  co_await core_.run(exec, core_.config.syscall);
  const std::uint32_t before = std::exchange(file.pages_, pages);
  if (pages < before) {
    co_await punch(exec, file, pages, before);
  } else if (file.seed_ != 0) {
    for (std::uint32_t page = before; page < pages; ++page) file.punched_.insert(page);
  }
}

Task<unsigned> PageCache::punch(Execution& exec, File& file, std::uint32_t begin, std::uint32_t end) {
  unsigned dropped = 0;
  std::uint32_t first = begin;
  for (std::uint32_t page = begin; page < end; ++page) make_hole(file, page);
  drop_swapped(file, begin, end);
  for (auto at = file.cached_.lower_bound(first); at != file.cached_.end() && at->first < end;
       at = file.cached_.lower_bound(first)) {
    first = at->first;
    const Address frame = at->second.frame;
    const VmCore::Hold hold(core_, frame);
    co_await core_.cond_resched(exec);
    while (file.find(first) != nullptr && file.find(first)->reading) co_await core_.cpu.sleep(exec, read_done_);
    co_await writeback_.written(file, first);
    co_await unmap(exec, frame);
    const File::Page* cached = file.find(first);
    if (cached == nullptr || cached->frame != frame) continue;  // moved, or gone
    // Mapped again meanwhile, or on its way to the disk. Who still flushes TLBs frees the frame afterwards.
    if (cached->writing || !core_.frame_table.mappers(frame).empty()) continue;
    remove(frame);
    make_hole(file, first);  // what was on its way to the disk has got there
    // Who has it pinned goes on with a page that is nobody's.
    if (core_.frame_table.find(frame).pins > 0) core_.stamp(frame);
    ++dropped;
  }
  co_return dropped;
}

void PageCache::make_hole(File& file, std::uint32_t page) {
  file.written_.erase(page);
  if (file.seed_ != 0) file.punched_.insert(page);
}

// unmap_mapping_range, of one page.
Task<void> PageCache::unmap(Execution& exec, Address frame) {
  const auto unmap_there = [&](Process& process, VirtualAddress va) -> Task<void> {
    const Range page{va, va + kPage};
    co_await core_.settled(process, page);
    if (!core_.frame_table.has_mapper(frame, {&process, va})) co_return;
    const VmCore::Zapped zapped = core_.zap(process, page, core_.taking(exec, Taker::truncation));
    co_await core_.flush(exec, process, va);
    core_.retire(process, zapped);
    core_.on_change(process, 1);
  };
  co_await core_.for_each_mapper(exec, frame, Taker::truncation, Notice::told, unmap_there);
}

// Every page in the cache knows where it belongs, and no other frame says that it is there.
void PageCache::audit(SlotReferences& references) const {
  std::uint64_t cached = 0;
  std::uint64_t dirty = 0;
  for (const auto& file : files_) {
    cached += file->cached().size();
    dirty += audit_pages(*file);
  }
  core_.frame_table.for_each([&](Address, const FrameRecord& record) { cached -= record.file != 0 ? 1 : 0; });
  if (cached != 0) broken("a frame takes itself for a page of a file");
  if (dirty != writeback_.dirty_pages()) broken("another number of pages is dirty than is counted");
  for (const auto& file : files_) {
    for (const auto& [page, slot] : file->swapped()) {
      ++references[slot];
      if (file->find(page) != nullptr) broken(fmt::format("page {} of file {} is in two places", page, file->id()));
    }
  }
}

// How many are dirty.
std::uint64_t PageCache::audit_pages(const File& file) const {
  std::uint64_t dirty = 0;
  for (const auto& [number, page] : file.cached()) {
    const FrameRecord record = core_.frame_table.find(page.frame);
    if (record.file != file.id() || record.file_page != number) {
      broken(fmt::format("page {} of file {} and its frame disagree", number, file.id()));
    }
    if (record.list == LruList::none && record.isolated == 0) {
      broken(fmt::format("page {} of file {} is on no list", number, file.id()));
    }
    dirty += page.dirty ? 1 : 0;
  }
  return dirty;
}

}  // namespace faultline::os
