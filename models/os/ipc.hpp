// SPDX-License-Identifier: Apache-2.0
// How processes of a node wait for each other: pipes, AF_UNIX stream sockets, the end of a child, signals. As far as
// their calls cost time, and threads sleep and are woken: what is carried is counted, not stored.
#pragma once

#include <cstdint>

#include "models/cpu/cpu.hpp"
#include "models/os/os_config.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

// Linux's wait queue. Who wakes pays os.wake_up, where somebody sleeps; the scheduler decides where and when the woken
// thread runs.
class WaitQueue {
 public:
  WaitQueue(const OsConfig& config, cpu::Cpu& cpu)
      : wake_up_cost_(config.wake_up), cpu_(cpu), woken_(cpu.context().loop) {}

  // As with condition variables the caller tests its condition, before and after.
  sim::Task<void> sleep(cpu::Execution& thread);
  // All that sleep by now.
  sim::Task<void> wake(cpu::Execution& waker);

 private:
  const sim::Time wake_up_cost_;
  cpu::Cpu& cpu_;
  sim::Signal woken_;
};

// One direction of a pipe or of a connected pair of sockets: messages of a few bytes, each read whole. There is always
// room for one more.
class Pipe {
 public:
  enum class Kind : std::uint8_t { pipe, unix_socket };
  Pipe(Kind kind, const OsConfig& config, cpu::Cpu& cpu)
      : write_cost_(kind == Kind::pipe ? config.pipe_write : config.socket_write),
        read_cost_(kind == Kind::pipe ? config.pipe_read : config.socket_read),
        cpu_(cpu),
        readers_(config, cpu) {}

  // System calls. A reader that is asleep is woken at the end of write's own work.
  sim::Task<void> write(cpu::Execution& thread);
  // Sleeps until there is a message; what the call costs is spent when it is there. False: closed, and nothing is left.
  sim::Task<bool> read(cpu::Execution& thread);
  // Of the writing end: readers that sleep are woken.
  sim::Task<void> close(cpu::Execution& thread);

 private:
  const sim::Time write_cost_;
  const sim::Time read_cost_;
  cpu::Cpu& cpu_;
  WaitQueue readers_;
  std::uint64_t messages_ = 0;
  bool closed_ = false;
};

// A child, as its parent waits for it.
class ChildStatus {
 public:
  ChildStatus(const OsConfig& config, cpu::Cpu& cpu) : syscall_(config.syscall), cpu_(cpu), parent_(config, cpu) {}

  // The child's last step: exit_notify().
  sim::Task<void> ended(cpu::Execution& child);
  // waitpid(2)
  sim::Task<void> wait(cpu::Execution& parent);

 private:
  const sim::Time syscall_;
  cpu::Cpu& cpu_;
  WaitQueue parent_;
  bool has_ended_ = false;
};

// kill(2) of a thread to itself: signal 0 finds it and sends nothing; another one ends in its handler, which returns by
// sigreturn.
sim::Task<void> send_signal_to_self(cpu::Execution& thread, const OsConfig& config, cpu::Cpu& cpu, bool caught);

}  // namespace faultline::os
