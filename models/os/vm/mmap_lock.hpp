// SPDX-License-Identifier: Apache-2.0
// mmap_lock: shared by page faults, exclusive for whatever changes VMAs. And the locks of single VMAs (Linux 6.4,
// CONFIG_PER_VMA_LOCK): a fault that holds its VMA's lock waits for none but who changes that VMA. Who does, holds
// mmap_lock exclusively and locks the VMAs on top, until mmap_lock is let go of.
#pragma once

#include <algorithm>

#include "models/cpu/cpu.hpp"
#include "models/os/vm/address_space.hpp"
#include "models/os/vm/told_call.hpp"
#include "models/sim/context.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

// Waiting costs no core time (the thread sleeps). Writers go before readers that come later, as in
// Linux's rwsem, so that a stream of faults cannot starve an munmap.
class MmapLock {
 public:
  // `process`: its id, for timelines.
  MmapLock(const sim::Context& context, std::uint16_t process)
      : context_(context), process_(process), changed_(context.loop) {}

  sim::Task<void> lock_shared(cpu::Cpu& cpu, cpu::Execution& exec) {
    co_await cpu.might_sleep(exec);
    if (is_kept_from_readers()) {
      const ToldCall told(context_, exec, process_, "wait for mmap_lock", writer_);
      while (is_kept_from_readers()) co_await cpu.sleep(exec, changed_);
    }
    ++shared_;
  }
  sim::Task<void> lock_exclusive(cpu::Cpu& cpu, cpu::Execution& exec) {
    co_await cpu.might_sleep(exec);
    ++waiting_writers_;
    if (is_held()) {
      const ToldCall told(context_, exec, process_, "wait for mmap_lock", writer_);
      while (is_held()) co_await cpu.sleep(exec, changed_);
    }
    --waiting_writers_;
    writer_ = &exec;
  }
  void unlock_shared() {
    if (--shared_ == 0) changed_.notify_all();
  }
  void unlock_exclusive() {
    writer_ = nullptr;
    changing_.clear();
    changed_.notify_all();
  }
  // The writer goes on as a reader: mlock sets VM_LOCKED exclusively, then populates beside other faults.
  void downgrade() {
    unlock_exclusive();
    ++shared_;
  }

  // lock_vma_under_rcu: for a fault at va, which a VMA covers. Never waits; false: somebody changes that VMA.
  bool try_lock_vma(const cpu::Execution& exec, VirtualAddress va) {
    const auto covers = [va](const Range& vmas) { return va >= vmas.begin && va < vmas.end; };
    if (std::any_of(changing_.begin(), changing_.end(), covers)) return false;
    faults_.push_back({&exec, va});
    return true;
  }
  // vma_start_write, for whole VMAs: ends when no fault holds one of them. mmap_lock is held exclusively.
  sim::Task<void> lock_vmas(cpu::Cpu& cpu, cpu::Execution& exec, Range vmas) {
    changing_.push_back(vmas);
    const auto inside = [vmas](const Fault& fault) { return fault.va >= vmas.begin && fault.va < vmas.end; };
    if (std::none_of(faults_.begin(), faults_.end(), inside)) co_return;
    const ToldCall told(context_, exec, process_, "wait for page faults in VMAs that are to change", nullptr);
    while (std::any_of(faults_.begin(), faults_.end(), inside)) co_await cpu.sleep(exec, changed_);
  }
  // What the fault of this thread holds: its VMA's lock, or mmap_lock shared. True if it was the VMA's. A fault that
  // has let go of either in order to wait goes on with lock_shared (VM_FAULT_RETRY).
  bool unlock_fault(const cpu::Execution& exec) {
    const auto found = std::find_if(faults_.begin(), faults_.end(), [&](const Fault& f) { return f.exec == &exec; });
    if (found == faults_.end()) {
      unlock_shared();
      return false;
    }
    faults_.erase(found);
    if (writer_ != nullptr) changed_.notify_all();
    return true;
  }

 private:
  struct Fault {
    const cpu::Execution* exec;
    VirtualAddress va;
  };
  bool is_held() const { return writer_ != nullptr || shared_ > 0; }
  bool is_kept_from_readers() const { return writer_ != nullptr || waiting_writers_ > 0; }

  const sim::Context& context_;
  const std::uint16_t process_;
  sim::Signal changed_;
  unsigned shared_ = 0;
  unsigned waiting_writers_ = 0;
  const cpu::Execution* writer_ = nullptr;  // holds it exclusively
  sim::Vector<Fault> faults_;               // that hold their VMA's lock
  sim::Vector<Range> changing_;             // VMAs that are locked by who holds mmap_lock
};

}  // namespace faultline::os
