// SPDX-License-Identifier: Apache-2.0
// The entries of one process in the NIC's table, kept in step with its own table by MMU notifiers (Quadrics: IOPROC
// hooks). What becomes usable is pushed, so that the NIC's first access finds it. What changes is taken out first, and
// accesses under way are waited for.
#pragma once

#include <cstdint>
#include <span>

#include "models/drivers/elan/nic_table.hpp"
#include "models/os/vm/mmu_notifier.hpp"
#include "models/os/vm/vm.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/task.hpp"

namespace faultline::elan {

class PushedTable final : public os::MmuNotifier, private NicTable::Owner {
 public:
  struct Ways {
    bool pushes = true;   // what becomes usable; else the NIC's misses alone fill the table
    bool vetoes = false;  // refuses to give pages away that it may refuse
  };
  // On the process's list of notifiers until close().
  PushedTable(const DriverConfig& config, const sim::Context& context, cpu::Cpu& cpu, os::Vm& vm, os::Process& process,
              NicTable& table, Ways ways);

  // Pages that the NIC writes for the library: always pushed, now and whenever they are usable. In no time.
  void keep(std::span<const os::VirtualAddress> pages);
  // What the process's table has of the pages, for the NIC that has missed the first of them. Whether that one is there
  // for such an access.
  sim::Task<bool> load_missed(cpu::Execution& exec, os::Range pages, bool write);
  bool has(os::VirtualAddress va, bool write) const;
  // Who has taken the entry around the address out; nobody: it has never been there.
  os::Taking taken_from(os::VirtualAddress va) const;
  // The process goes: the NIC knows it no more, and nothing of it is under way.
  sim::Task<void> close(cpu::Execution& exec);

  sim::Task<bool> begin(cpu::Execution& exec, os::TableChange change) override;
  void end(os::Range range) override;
  void drop(os::Range range, os::Taking by) override;
  bool wants_usable() const override { return true; }
  void usable(os::Range leaf) override;
  bool has_to_follow() const override { return !pending_.empty(); }
  sim::Task<void> follow(cpu::Execution& exec) override;
  void follow_now() override;

 private:
  struct Loaded {
    os::PageSize size = os::PageSize::small;
    os::Address frame = 0;
    bool writable = false;
    os::Range range(os::VirtualAddress begin) const { return os::page_range(begin, size); }
  };
  using Leaves = sim::Map<os::VirtualAddress, Loaded>;

  // The entry around the address as the process's table has it now; nothing: it must not be loaded, or is already.
  std::optional<NicTable::Entry> wanted(os::VirtualAddress va) const;
  sim::Task<void> load(cpu::Execution& exec, NicTable::Entry entry);
  Leaves::const_iterator find(os::VirtualAddress va) const;
  sim::Vector<os::VirtualAddress> loaded_in(os::Range range) const;
  bool changes(os::Range range) const;
  void forget(os::Range range, os::Taking by);
  void evicted(os::VirtualAddress begin) override { loaded_.erase(begin); }
  sim::Task<void> push_late();

  const DriverConfig& config_;
  const sim::Context& context_;
  os::Vm& vm_;
  os::Process& process_;
  NicTable& table_;
  const Ways ways_;
  cpu::Execution& thread_;  // that loads what nobody else does
  Leaves loaded_;
  sim::Set<os::VirtualAddress> pending_;  // begins of leaves that are to be pushed
  sim::Set<os::VirtualAddress> kept_;     // pages of the library
  sim::Map<os::VirtualAddress, os::Taking> taken_;
  sim::Vector<os::Range> changing_;
  bool closed_ = false;
  sim::Signal came_;  // into pending_
  sim::TaskGroup tasks_;
};

}  // namespace faultline::elan
