// SPDX-License-Identifier: Apache-2.0
// mmap_lock: shared by page faults, exclusive for whatever changes VMAs. Per-VMA locks (Linux 6.4) would
// only separate faults from changes of other VMAs.
#pragma once

#include "models/cpu/cpu.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

// Waiting costs no core time (the thread sleeps). Writers go before readers that come later, as in
// Linux's rwsem, so that a stream of faults cannot starve an munmap.
class MmapLock {
 public:
  explicit MmapLock(sim::EventLoop& loop) : changed_(loop) {}

  sim::Task<void> lock_shared(cpu::Cpu& cpu, cpu::Execution& exec) {
    while (exclusive_ || waiting_writers_ > 0) co_await cpu.sleep(exec, changed_);
    ++shared_;
  }
  sim::Task<void> lock_exclusive(cpu::Cpu& cpu, cpu::Execution& exec) {
    ++waiting_writers_;
    while (exclusive_ || shared_ > 0) co_await cpu.sleep(exec, changed_);
    --waiting_writers_;
    exclusive_ = true;
  }
  void unlock_shared() {
    if (--shared_ == 0) changed_.notify_all();
  }
  void unlock_exclusive() {
    exclusive_ = false;
    changed_.notify_all();
  }
  // The writer goes on as a reader: mlock sets VM_LOCKED exclusively, then populates beside other faults.
  void downgrade() {
    exclusive_ = false;
    ++shared_;
    changed_.notify_all();
  }

 private:
  sim::Signal changed_;
  unsigned shared_ = 0;
  unsigned waiting_writers_ = 0;
  bool exclusive_ = false;
};

}  // namespace faultline::os
