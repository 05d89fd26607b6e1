// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/os/vm/address_space.hpp"
#include "models/os/vm/device_table.hpp"
#include "models/os/vm/mmap_lock.hpp"
#include "models/os/vm/mmu_notifiers.hpp"
#include "models/os/vm/page_table.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

struct MemoryGroup;

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
      : id_(id),
        name_(std::move(name)),
        table_(std::move(table)),
        space_(va_bits),
        lock_(loop),
        page_settled_(loop),
        notifiers_(loop, space_) {}

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
  friend class MirroredTable;
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
  MmuNotifiers notifiers_;
  std::vector<std::unique_ptr<DeviceTable>> device_tables_;
};

}  // namespace faultline::os
