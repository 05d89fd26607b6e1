// SPDX-License-Identifier: Apache-2.0
// The driver's side of the NIC's table, which all processes of a node share: the registers that fill it, one at a time,
// and the books of what is in it.
#pragma once

#include <cstdint>
#include <utility>

#include "models/cpu/cpu.hpp"
#include "models/drivers/elan/config.hpp"
#include "models/os/vm/page_table.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/task.hpp"

namespace faultline::elan {

class NicTable {
 public:
  // Entries of one process. It is told when one goes to make room.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void evicted(os::VirtualAddress begin) = 0;
  };
  struct Entry {
    os::VirtualAddress begin = 0;  // of the page, or block
    os::PageSize size = os::PageSize::small;
    os::Address frame = 0;
    bool writable = false;
    bool stays = false;  // it makes no room for others
  };

  // `base`: bus address of the NIC's privileged page; the table has room for `capacity` entries.
  NicTable(const DriverConfig& config, const sim::Context& context, cpu::Cpu& cpu, std::uint64_t base,
           unsigned capacity);

  // Of all processes of the node.
  struct Counters {
    explicit Counters(sim::Statistics& statistics);
    sim::Counter& pushes;
    sim::Counter& unpushed;
    sim::Counter& evictions;
    sim::Counter& vetoes;
  } counters;

  // Whoever reads a process's table for an entry, or changes the NIC's, holds it meanwhile.
  sim::Semaphore& lock() { return lock_; }
  bool is_locked() const { return locked_; }
  void set_locked(bool locked) { locked_ = locked; }
  // Accesses by an entry that was evicted may be under way: nothing has been drained since.
  bool needs_drain() const { return needs_drain_; }
  bool has_room() const { return places_.size() < capacity_; }

  // With the lock held. load() requires room, or an entry in that place (`replaces`).
  sim::Task<void> load(cpu::Execution& exec, Owner& owner, std::uint32_t pdid, Entry entry, std::uint64_t epoch,
                       bool replaces);
  // The oldest entry goes that does not stay. Throws sim::RunFailure when all stay.
  sim::Task<void> evict(cpu::Execution& exec);
  sim::Task<void> invalidate(cpu::Execution& exec, Owner& owner, std::uint32_t pdid, os::VirtualAddress begin);
  // Until accesses that were translated before are over.
  sim::Task<void> drain(cpu::Execution& exec);
  // A parked block's page is there, or will never be.
  sim::Task<void> restart(cpu::Execution& exec, std::uint32_t pdid, os::VirtualAddress page, bool give_up);

  // The entry there, if there is one, makes no room for others from now on.
  void stay(Owner& owner, os::VirtualAddress begin);

  // In no time: set-up.
  void load_now(Owner& owner, std::uint32_t pdid, const Entry& entry, std::uint64_t epoch, bool replaces);
  void invalidate_now(Owner& owner, std::uint32_t pdid, os::VirtualAddress begin);
  // All entries of a process that goes.
  sim::Task<void> invalidate_process(cpu::Execution& exec, Owner& owner, std::uint32_t pdid);

 private:
  struct Place {
    Owner* owner;
    std::uint32_t pdid;
    os::VirtualAddress begin;
    bool stays;
  };
  using Places = sim::List<Place>;
  sim::Task<void> write(cpu::Execution& exec, std::uint64_t offset, std::uint64_t value);
  sim::Task<void> take_out(cpu::Execution& exec, std::uint32_t pdid, os::VirtualAddress begin);
  static std::uint64_t frame_word(const Entry& entry);
  void enter(Owner& owner, std::uint32_t pdid, const Entry& entry, bool replaces);
  // Entries that begin there.
  void leave(Owner& owner, os::Range begins);

  const DriverConfig& config_;
  cpu::Cpu& cpu_;
  const std::uint64_t base_;
  const unsigned capacity_;
  sim::Semaphore lock_;
  bool locked_ = false;
  bool needs_drain_ = false;
  Places by_age_;   // that may go, the oldest first
  Places staying_;  // likewise
  sim::Map<std::pair<Owner*, os::VirtualAddress>, Places::iterator> places_;
};

// Holds the lock of a table for as long as it lives.
class TableLock {
 public:
  explicit TableLock(NicTable& table) : table_(table) { table_.set_locked(true); }
  ~TableLock() {
    table_.set_locked(false);
    table_.lock().release();
  }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;

 private:
  NicTable& table_;
};

}  // namespace faultline::elan
