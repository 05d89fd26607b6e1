// SPDX-License-Identifier: Apache-2.0
// The page cache: pages of files in memory, as programs read, write and map them. Order of steps and windows of
// read-ahead as in Linux 6.x, mm/filemap.c and mm/readahead.c.
//
// A page of a file stays in memory when nobody maps it, until reclaim takes it or the file is cut. What is written is
// dirty until Writeback has brought it to the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/cpu/cpu.hpp"
#include "models/os/error.hpp"
#include "models/os/files/file.hpp"
#include "models/os/files/writeback.hpp"
#include "models/os/reclaim/swap.hpp"
#include "models/os/vm/audit.hpp"
#include "models/os/vm/process.hpp"
#include "models/sim/content.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

class VmCore;

class PageCache {
 public:
  PageCache(VmCore& core, BlockDevice& disk, Swap& swap);

  // Takes no time. nullptr: there are 65535 already, or it is larger than 16 TiB.
  File* create(std::uint64_t bytes, std::uint64_t seed);
  // The same of shared memory, without a page: MAP_SHARED | MAP_ANONYMOUS, a file on tmpfs.
  File* create_shmem(std::uint64_t bytes);

  // filemap_fault, do_fault_around and do_cow_fault, the process's lock shared: the page at va, which a VMA of a file
  // covers and which has no entry. The lock is not held while the disk is at work. again: look once more; beyond_end:
  // the file ends before it; no_memory.
  sim::Task<Error> fault(cpu::Execution& exec, Process& process, VirtualAddress va, bool write, sim::Time owed);
  // page_mkwrite: the first write to a clean page of a shared mapping. May wait for dirty pages to be written, without
  // the lock.
  sim::Task<Error> make_writable(cpu::Execution& exec, Process& process, VirtualAddress va, sim::Time owed);

  // read(2) and write(2), from an offset on; the values are the bytes that the file has there. write does not make the
  // file longer.
  sim::Task<Result<std::uint64_t>> read(cpu::Execution& exec, Process& process, FileReader& reader,
                                        std::uint64_t offset, std::uint64_t bytes);
  sim::Task<Result<std::uint64_t>> write(cpu::Execution& exec, Process& process, File& file, std::uint64_t offset,
                                         std::uint64_t bytes, std::uint64_t seed);
  // ftruncate to fewer pages, or to more, which are holes.
  sim::Task<void> resize(cpu::Execution& exec, File& file, std::uint32_t pages);
  // fallocate(FALLOC_FL_PUNCH_HOLE): the pages [begin, end) are unmapped and dropped whatever locks or pins them, and
  // are zeros from then on. How many were in memory.
  sim::Task<unsigned> punch(cpu::Execution& exec, File& file, std::uint32_t begin, std::uint32_t end);

  // For mechanisms that take pages away or move them; the frame holds a page of a file.
  File::Page& page_of(Address frame);
  void remove(Address frame);                 // it is clean; the caller lets go of the frame
  void replace(Address frame, Address copy);  // which nobody else holds
  // In the page cache; of shared memory also in the swap cache, on its way to the swap device or back.
  bool is_in_core(const File& file, std::uint32_t page) const;
  // shmem_writepage: the page of shared memory, which has a slot, is the swap cache's from now on, and no more the
  // file's.
  void hand_to_swap(Address frame);
  void dirtied(Address frame);

  // For set-up, in no time: the page is in memory and mapped at va, writable where the VMA is. no_memory, beyond_end;
  // again: it is being read.
  Error bring(Process& process, VirtualAddress va);
  // What the file holds, in memory or on the disk.
  sim::Content content(const File& file, std::uint32_t page) const;

  const std::vector<std::unique_ptr<File>>& files() const { return files_; }
  // Throws std::logic_error when a page and its frame disagree, or another number is dirty than is counted. Adds the
  // slots of shared memory to the references.
  void audit(SlotReferences& references) const;
  Writeback& writeback() { return writeback_; }
  const Writeback& writeback() const { return writeback_; }

 private:
  static constexpr std::uint32_t kNoPage = UINT32_MAX;

  File& file_of(const FrameRecord& record);
  // Reads the pages of the window that are not in memory; `needed` even where memory has to be reclaimed for it. Does
  // not wait for the disk.
  sim::Task<Error> fetch(cpu::Execution& exec, Process& process, File& file, ReadWindow window, std::uint32_t needed);
  sim::Task<void> read_from_disk(File& file, std::uint32_t first, std::uint32_t end);
  // The page for a call, in memory and as it is on the disk (or to be overwritten `whole`); the caller holds it before
  // it waits again. no_memory, beyond_end.
  sim::Task<Result<Address>> get(cpu::Execution& exec, Process& process, File& file, std::uint32_t page,
                                 FileReader* reader, std::uint32_t wanted, bool whole);
  File* create(std::uint64_t bytes, std::uint64_t seed, File::Kind kind);
  sim::Task<Error> swap_in(cpu::Execution& exec, Process& process, File& file, std::uint32_t page, sim::Time owed);
  void take_from_swap(File& file, std::uint32_t page);
  // Neither in memory nor on the swap device.
  static bool is_absent(const File& file, std::uint32_t page) {
    return file.find(page) == nullptr && slot_of(file, page) == 0;
  }
  static SwapSlot slot_of(const File& file, std::uint32_t page);
  void drop_swapped(File& file, std::uint32_t begin, std::uint32_t end);
  void add(const Process& process, File& file, std::uint32_t page, Address frame);
  void arrived(File& file, std::uint32_t page);
  std::uint32_t most_ahead() const;
  ReadWindow next_window(ReadWindow& window, std::uint32_t page, std::uint32_t wanted, bool in_order) const;
  ReadWindow around(File& file, std::uint32_t page) const;
  // Steps of a fault.
  sim::Task<Error> look_up(cpu::Execution& exec, Process& process, File& file, std::uint32_t page, sim::Time& owed);
  sim::Task<void> wait_for_disk(cpu::Execution& exec, Process& process, File& file, std::uint32_t page);
  bool is_wanted(const Process& process, VirtualAddress va, const File& file, std::uint32_t page, Address frame) const;
  Error map_cached(Process& process, VirtualAddress va, Address frame, bool write);
  sim::Task<void> throttle_writer(cpu::Execution& exec, Process& process, const File& file);
  sim::Task<Error> copy(cpu::Execution& exec, Process& process, VirtualAddress va, Address frame, sim::Time owed);
  unsigned map_around(Process& process, VirtualAddress va);
  static void make_hole(File& file, std::uint32_t page);
  void accessed(Address frame);
  std::uint64_t audit_pages(const File& file) const;
  sim::Task<void> unmap(cpu::Execution& exec, Address frame);

  VmCore& core_;
  BlockDevice& disk_;
  Swap& swap_;
  std::vector<std::unique_ptr<File>> files_;  // by number, less 1
  sim::Signal read_done_;
  Writeback writeback_;
  sim::TaskGroup transfers_;
};

}  // namespace faultline::os
