// SPDX-License-Identifier: Apache-2.0
// A file on the node's disk, and which of its pages are in memory (Linux's inode and address_space). Bookkeeping only:
// PageCache and Writeback decide and charge.
#pragma once

#include <cstdint>
#include <utility>

#include "models/os/vm/frame_table.hpp"
#include "models/sim/content.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/time.hpp"

namespace faultline::os {

// How far the kernel has read ahead (struct file_ra_state): the last window, and how many of its last pages nobody had
// asked for.
struct ReadWindow {
  std::uint32_t start = 0;
  std::uint32_t size = 0;
  std::uint32_t ahead = 0;

  std::uint32_t end() const { return start + size; }
  std::uint32_t marker() const { return end() - ahead; }
};

class File {
 public:
  // A page in memory.
  struct Page {
    Address frame = 0;
    bool reading = false;
    bool dirty = false;    // differs from the disk, or may
    bool writing = false;  // on its way to the disk
    bool marker = false;   // PG_readahead: who comes here wants the next window
    sim::Time dirtied{0};  // since when it is dirty
  };
  // What its pages are that are not in memory.
  enum class Kind : std::uint8_t {
    on_disk,
    shmem,  // shared memory (MAP_SHARED | MAP_ANONYMOUS, tmpfs): zeros, or on the swap device
  };
  // Of `pages` 4 KiB each. seed 0: one great hole, whose pages read as zeros and are nowhere on the disk; else byte k
  // of the file is byte k of the pattern.
  File(FileId id, std::uint32_t pages, std::uint64_t seed, Kind kind = Kind::on_disk)
      : id_(id), pages_(pages), seed_(seed), kind_(kind) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  FileId id() const { return id_; }
  std::uint32_t pages() const { return pages_; }
  std::uint64_t bytes() const { return std::uint64_t{pages_} * kPage; }
  // Its dirty pages are not tracked: nothing is written back, and so nothing write-protected for it.
  bool is_shmem() const { return kind_ == Kind::shmem; }
  // Of shared memory, the pages that are on the swap device or on their way, and their slots.
  const sim::Map<std::uint32_t, SwapSlot>& swapped() const { return swapped_; }
  // nullptr: it is not in memory.
  const Page* find(std::uint32_t page) const {
    const auto found = cached_.find(page);
    return found == cached_.end() ? nullptr : &found->second;
  }
  Page* find(std::uint32_t page) {
    return const_cast<Page*>(std::as_const(*this).find(page));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  const sim::Map<std::uint32_t, Page>& cached() const { return cached_; }

 private:
  friend class PageCache;
  friend class Writeback;

  bool is_hole(std::uint32_t page) const { return !written_.contains(page) && (seed_ == 0 || punched_.contains(page)); }
  sim::Content on_disk(std::uint32_t page) const {
    const auto found = written_.find(page);
    if (found != written_.end()) return found->second;
    if (is_hole(page)) return sim::Content::zeros(kPage);
    return sim::Content::pattern(seed_, std::uint64_t{page} * kPage, kPage);
  }

  FileId id_;
  std::uint32_t pages_;
  std::uint64_t seed_;
  Kind kind_;
  sim::Map<std::uint32_t, SwapSlot> swapped_;
  sim::Map<std::uint32_t, Page> cached_;
  sim::Set<std::uint32_t> dirty_;  // of them
  sim::Map<std::uint32_t, sim::Content> written_;
  sim::Set<std::uint32_t> punched_;  // pages that have become holes
  ReadWindow mapped_;                // of faults
  unsigned mmap_misses_ = 0;         // faults that found nothing in memory, less those that did
};

// Who reads a file by read(2) (struct file).
struct FileReader {
  File* file = nullptr;
  ReadWindow window{};
  std::uint32_t next = 0;  // page behind the last one that was read
};

}  // namespace faultline::os
