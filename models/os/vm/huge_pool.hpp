// SPDX-License-Identifier: Apache-2.0
// hugetlbfs (Linux mm/hugetlb.c): 2 MiB pages that are taken from memory at boot and kept for mappings that ask for
// them (MAP_HUGETLB). They are on no list, so nothing reclaims, swaps, compacts, collapses, splits, merges or ages
// them.
//
// A private mapping reserves its pages when it is made, and fails if it cannot, so that its own faults find one. The
// fault that takes a page spends the reservation; a child's copy of the mapping has none.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "models/cpu/cpu.hpp"
#include "models/os/vm/address_space.hpp"
#include "models/os/vm/frame_allocator.hpp"
#include "models/os/vm/frame_table.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

class Process;

class HugePool {
 public:
  // Takes that many pages from the frames, or as many as there are, as the kernel does at boot.
  HugePool(std::uint64_t pages, FrameAllocator& frames, FrameTable& table, sim::EventLoop& loop);

  // HugePages_Total, _Free and _Rsvd of /proc/meminfo: pages of 2 MiB. Reserved ones are among the free ones.
  std::uint64_t total_pages() const { return total_; }
  std::uint64_t free_pages() const { return free_.size(); }
  std::uint64_t reserved_pages() const { return reserved_; }
  // Free, and nobody has reserved them.
  std::uint64_t available_pages() const { return free_pages() - reserved_pages(); }

  // A name for a new mapping: children that inherit it have the same pages by the same numbers.
  std::uint32_t new_mapping() { return next_mapping_++; }
  // Reserves a page for each 2 MiB of the range, which has no reservation yet. False: too few pages are available, and
  // none is reserved.
  bool reserve(Process& process, Range range);
  // Gives up the reservations of the range that have not been spent.
  void release(Process& process, Range range);
  // The mapping of `from` moves, and its reservations with it.
  void move(Process& process, Range from, VirtualAddress to);
  // Reserves a page for va anew, whose page has been freed or is about to be.
  void restore(Process& process, VirtualAddress va);

  struct Page {
    Address block;
    bool reserved;  // a reservation was spent
  };
  // A page for the process at va, 2 MiB aligned: the one reserved for it, else an available one. Empty: there is none.
  std::optional<Page> take(Process& process, VirtualAddress va);
  // An available page, whatever the caller has reserved.
  std::optional<Address> take_available();
  void give_back(Address block);
  // The last holder of a frame of the pool has let go: the page is free when that is true of all its frames.
  void frame_released(Address frame);

  // hugetlb_fault_mutex_table: faults on one page of a mapping go one after the other, or the second would take a
  // reserved page of somebody else.
  using PageKey = std::pair<std::uint32_t, std::uint64_t>;
  sim::Task<void> lock(cpu::Cpu& cpu, cpu::Execution& exec, PageKey page);
  void unlock(PageKey page);

  // Throws std::logic_error when the pool's pages, free or not, are not those it counts. `changing`: some may be on
  // their way to a mapping.
  void audit(bool changing) const;

 private:
  FrameTable& table_;
  std::uint64_t total_ = 0;
  sim::Vector<Address> free_;  // the last one is taken next
  std::uint64_t reserved_ = 0;
  std::uint32_t next_mapping_ = 1;
  sim::Set<PageKey> faulting_;
  sim::Signal unlocked_;
};

}  // namespace faultline::os
