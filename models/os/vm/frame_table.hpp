// SPDX-License-Identifier: Apache-2.0
// Who holds a frame: Linux's struct page and its reverse mapping, reduced to what decides when a frame may be freed,
// whether it may be moved, and where it is mapped.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "models/os/vm/frame_allocator.hpp"
#include "models/os/vm/page_table.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

class Process;

// One page of a process, or with no process nobody's.
struct Mapper {
  Process* process = nullptr;
  VirtualAddress va = 0;
  bool operator==(const Mapper&) const = default;
};

// A page of the swap device, from 1 on; 0 is none.
using SwapSlot = std::uint32_t;

// A file, from 1 on; 0 is none.
using FileId = std::uint16_t;

// A MemoryGroup; 0 is the root.
using GroupId = std::uint16_t;

// Which of the kernel's lists (Lru) a frame is on.
enum class LruList : std::uint8_t { none, inactive_anon, active_anon, inactive_file, active_file, unevictable };

struct FrameRecord {
  std::uint32_t mappings = 0;    // process page tables that map it, until TLBs have forgotten it
  std::uint32_t pins = 0;        // long-term pins: a frame with any must neither move nor be reused
  std::uint16_t isolated = 0;    // mechanisms of the kernel that are at work on it
  LruList list = LruList::none;  // Lru's
  bool foreign : 1 = false;      // kept for good: KSM's, which programs that nobody models map, too; the huge zero page
  bool pool : 1 = false;         // PG_hugetlb: of the pool of huge pages (HugePool), where it goes when nobody holds it
  bool swap_backed : 1 = false;  // PG_swapbacked, of a page of shared memory (shmem): on the lists of anonymous pages
  bool referenced : 1 = false;   // PG_referenced: was found used by the last scan, or by a read(2)
  bool charged : 1 = false;      // to its group
  GroupId group = 0;             // whose lists it is on
  FileId file = 0;               // the file whose page it is, in the page cache
  std::uint32_t file_page = 0;   // which one of it
  SwapSlot slot = 0;             // PG_swapcache: the copy on the swap device that it is, or will be, equal to
  std::uint32_t newer = 0;       // neighbours on the list, as frame number + 1
  std::uint32_t older = 0;
  Mapper first{};                   // of the entries that lead here, the others are FrameTable's
  const Process* pinner = nullptr;  // whose pins they are, those of other processes are FrameTable's

  bool held() const { return mappings != 0 || pins != 0 || isolated != 0 || slot != 0 || file != 0 || foreign; }
  // More references than mappings: a pin, or somebody at work on the frame.
  bool has_extra_references() const { return pins != 0 || isolated != 0; }
  bool is_active() const { return list == LruList::active_anon || list == LruList::active_file; }
  // The lists of its kind.
  bool on_file_lists() const { return file != 0 && !swap_backed; }
  LruList inactive() const { return on_file_lists() ? LruList::inactive_file : LruList::inactive_anon; }
  LruList active() const { return on_file_lists() ? LruList::active_file : LruList::active_anon; }
};

// A record per frame, made 2 MiB at a time on first use.
class FrameTable {
 public:
  using Mappers = sim::Vector<Mapper>;

  FrameRecord& at(Address frame) {
    auto& block = blocks_[frame / kHugePage];
    if (!block) block = std::make_unique<Block>();
    return (*block)[frame % kHugePage / kPage];
  }
  FrameRecord find(Address frame) const {
    const auto block = blocks_.find(frame / kHugePage);
    return block == blocks_.end() ? FrameRecord{} : (*block->second)[frame % kHugePage / kPage];
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [index, block] : blocks_) {
      for (unsigned i = 0; i < kPagesPerHuge; ++i) visit(index * kHugePage + i * kPage, (*block)[i]);
    }
  }

  // The reverse mapping: which entries of process tables lead to a frame (one until fork or KSM share it).
  void add_mapper(Address frame, Mapper mapper) {
    FrameRecord& record = at(frame);
    if (record.first.process == nullptr) {
      record.first = mapper;
    } else {
      others_[frame].push_back(mapper);
    }
  }
  void remove_mapper(Address frame, Mapper mapper);
  Mappers mappers(Address frame) const;
  bool has_mapper(Address frame, Mapper mapper) const;
  bool maps(const Process& process, Address frame) const;

  // Pins count the processes that they were taken for: a device reaches the frame by that process's addresses.
  void add_pin(Address frame, const Process& process);
  void remove_pin(Address frame, const Process& process);
  bool pins(const Process& process, Address frame) const;
  // Whether any frame of the page around this one is pinned, by whomever.
  bool any_pinned(Address frame, PageSize size) const;

 private:
  using Block = std::array<FrameRecord, kPagesPerHuge>;
  std::unordered_map<std::uint64_t, std::unique_ptr<Block>> blocks_;
  sim::HashMap<Address, Mappers> others_;
  // A process for each pin that is not the record's pinner's.
  sim::HashMap<Address, sim::Vector<const Process*>> other_pinners_;
};

}  // namespace faultline::os
