// SPDX-License-Identifier: Apache-2.0
#include "models/os/ipc.hpp"

namespace faultline::os {

using cpu::Execution;
using cpu::Work;
using sim::Task;

Task<void> WaitQueue::sleep(Execution& thread) { co_await cpu_.sleep(thread, woken_); }

Task<void> WaitQueue::wake(Execution& waker) {
  if (!woken_.has_waiters()) co_return;
  co_await cpu_.run(waker, Work::system, wake_up_cost_);
  woken_.notify_all();
}

Task<void> Pipe::write(Execution& thread) {
  co_await cpu_.run(thread, Work::system, write_cost_);
  ++messages_;
  co_await readers_.wake(thread);
}

Task<bool> Pipe::read(Execution& thread) {
  while (messages_ == 0 && !closed_) co_await readers_.sleep(thread);
  if (messages_ == 0) co_return false;
  --messages_;
  co_await cpu_.run(thread, Work::system, read_cost_);
  co_return true;
}

Task<void> Pipe::close(Execution& thread) {
  closed_ = true;
  co_await readers_.wake(thread);
}

Task<void> ChildStatus::ended(Execution& child) {
  has_ended_ = true;
  co_await parent_.wake(child);
}

Task<void> ChildStatus::wait(Execution& parent) {
  co_await cpu_.run(parent, Work::system, syscall_);
  while (!has_ended_) co_await parent_.sleep(parent);
}

Task<void> send_signal_to_self(Execution& thread, const OsConfig& config, cpu::Cpu& cpu, bool caught) {
  co_await cpu.run(thread, Work::system, config.syscall);
  if (caught) co_await cpu.run(thread, Work::system, config.signal_catch);
}

}  // namespace faultline::os
