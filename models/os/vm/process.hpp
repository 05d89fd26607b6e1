// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/os/vm/address_space.hpp"
#include "models/os/vm/mmap_lock.hpp"
#include "models/os/vm/page_table.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

class Process;
struct MemoryGroup;

// A device table of a process that is filled once and kept (what verbs registration and VFIO build): of pinned frames,
// or of frames that somebody hopes will stay. Always 4 KiB descriptors. Filled and emptied by os::Vm.
class PrivateTable {
 public:
  PrivateTable(Process& process, std::unique_ptr<PageTable> table) : process_(process), table_(std::move(table)) {}
  Process& process() const { return process_; }
  const PageTable& table() const { return *table_; }
  Address root() const { return table_->root(); }

 private:
  friend class Vm;
  Process& process_;
  std::unique_ptr<PageTable> table_;
  sim::Set<std::uint64_t> pins_;  // mapped here
  // Overlapping pins share a descriptor: how many pins each mapped page serves.
  sim::HashMap<VirtualAddress, unsigned> users_;
};

// A device table that follows the process's own (what HMM and on-demand paging do): filled when the device faults,
// emptied by the MMU notifiers before the process's table changes. Pins nothing.
class MirroredTable {
 public:
  MirroredTable(sim::EventLoop& loop, Process& process, std::unique_ptr<PageTable> table)
      : process_(process), table_(std::move(table)), settled_(loop) {}
  Process& process() const { return process_; }
  const PageTable& table() const { return *table_; }
  Address root() const { return table_->root(); }

 private:
  friend class Vm;
  friend class VmCore;
  // What the driver fills at present (Linux's mmu_interval_notifier and its sequence count).
  struct Filling {
    Range range;
    bool overtaken = false;  // by a change that has begun since
  };
  void begin_change(Range range) {
    changes_.push_back(range);
    for (Filling* filling : fillings_) filling->overtaken = filling->overtaken || filling->range.overlaps(range);
  }
  void end_change(Range range) {
    const auto found = std::find(changes_.begin(), changes_.end(), range);
    if (found != changes_.end()) changes_.erase(found);  // none: the mirror is younger than the change
    settled_.notify_all();
  }
  bool changes(Range range) const {
    return std::any_of(changes_.begin(), changes_.end(), [&](const Range& change) { return change.overlaps(range); });
  }

  Process& process_;
  std::unique_ptr<PageTable> table_;
  // Who has taken the descriptor for the page away. Nobody: there has been none.
  Taking taken_from(VirtualAddress va) const {
    auto found = taken_.find(va);
    if (found == taken_.end()) found = taken_.find(key_of(huge_range(va).begin, PageSize::huge));
    return found == taken_.end() ? Taking{} : found->second;
  }
  void filled(VirtualAddress begin, PageSize size) {
    mapped_.emplace(begin, size);
    if (taken_.empty()) return;
    const VirtualAddress end = size == PageSize::small ? begin + 1 : begin + kHugePage;
    taken_.erase(taken_.lower_bound(begin), taken_.lower_bound(end));
  }
  sim::Map<VirtualAddress, PageSize> mapped_;
  // Why descriptors have gone, until others come to their places. A block is told from its first page.
  static VirtualAddress key_of(VirtualAddress begin, PageSize size) { return begin + (size == PageSize::huge ? 1 : 0); }
  sim::Map<VirtualAddress, Taking> taken_;
  sim::Vector<Range> changes_;  // of the process's table, under way
  sim::Vector<Filling*> fillings_;
  sim::Signal settled_;  // a change is over
};

class Process {
 public:
  // Keeps a process that has ended from going while somebody still looks at it.
  class User {
   public:
    explicit User(Process& process) : process_(&process) { ++process_->users_; }
    User(User&& other) noexcept : process_(std::exchange(other.process_, nullptr)) {}
    ~User() {
      if (process_ == nullptr) return;
      if (--process_->users_ == 0) process_->page_settled_.notify_all();
    }
    User(const User&) = delete;
    User& operator=(const User&) = delete;
    User& operator=(User&&) = delete;
    Process& process() const { return *process_; }

   private:
    Process* process_;
  };

  static constexpr int kNeverKilled = -1000;  // OOM_SCORE_ADJ_MIN

  Process(sim::EventLoop& loop, std::uint16_t id, std::string name, std::unique_ptr<PageTable> table, unsigned va_bits)
      : id_(id), name_(std::move(name)), table_(std::move(table)), space_(va_bits), lock_(loop), page_settled_(loop) {}

  // ASID of its translations and PDID of its transfers, from 1 on.
  std::uint16_t id() const { return id_; }
  bool was_killed() const { return life_ != Life::alive; }  // by the OOM killer
  const std::string& name() const { return name_; }
  const PageTable& page_table() const { return *table_; }
  const AddressSpace& space() const { return space_; }
  // Page faults that the kernel has handled for it, and those of them that read from the disk.
  struct Faults {
    std::uint64_t minor = 0;
    std::uint64_t major = 0;
    Faults& operator+=(const Faults& other) {
      minor += other.minor;
      major += other.major;
      return *this;
    }
  };
  const Faults& faults() const { return faults_; }

 private:
  friend class Vm;
  friend class VmCore;
  friend class HugePool;
  friend class Khugepaged;
  friend class Migration;
  friend class OomKiller;
  friend class PageCache;
  friend class PageEvents;
  friend class Reclaim;
  friend class Swap;
  friend class Writeback;
  enum class Life : std::uint8_t { alive, killed, reaped };  // reaped: killed, and its memory is gone

  std::uint16_t id_;
  std::string name_;
  Life life_ = Life::alive;
  bool forming_ = false;   // fork is at it, and nobody else may be
  int oom_score_adj_ = 0;  // -1000 to 1000
  MemoryGroup* group_ = nullptr;
  std::unique_ptr<PageTable> table_;
  AddressSpace space_;
  Faults faults_;
  MmapLock lock_;
  unsigned in_motion_ = 0;             // pages
  sim::Signal page_settled_;           // one of them has come to rest, or the last user of the process has gone
  unsigned users_ = 0;                 // who works on it without holding its lock: it stays while there are any
  sim::Set<VirtualAddress> reserved_;  // HugePool's, for each 2 MiB that has not been touched
  std::vector<std::unique_ptr<PrivateTable>> private_tables_;
  std::vector<std::unique_ptr<MirroredTable>> mirrors_;
};

}  // namespace faultline::os
