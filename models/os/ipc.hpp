// SPDX-License-Identifier: Apache-2.0
// How processes of a node wait for each other: pipes, AF_UNIX stream sockets, the end of a child, signals. Their calls
// cost time, and threads sleep and are woken; messages are counted, and their content is not kept.
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
  // Wakes all threads that sleep here now.
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
  // Sleeps until there is a message, then spends the call's cost. False: the writing end is closed, and no message is
  // left.
  sim::Task<bool> read(cpu::Execution& thread);
  // Closes the writing end; readers that sleep are woken.
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

// kill(2) of a thread to itself. `caught`: a signal whose handler runs and returns by sigreturn; else signal 0, which
// finds the process and sends nothing.
sim::Task<void> send_signal_to_self(cpu::Execution& thread, const OsConfig& config, cpu::Cpu& cpu, bool caught);

}  // namespace faultline::os
