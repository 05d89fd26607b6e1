// SPDX-License-Identifier: Apache-2.0
// Lets go of pins that no transfer needs any more, when and by whom UnpinConfig says. What waits to be unpinned is
// pinned memory as any other: it counts against RLIMIT_MEMLOCK, and a private table still has it.
#pragma once

#include "models/os/ipc.hpp"
#include "models/rdma/registration/registration.hpp"

namespace faultline::rdma {

// Of one process. Its helper is a thread that begins when it is needed first.
class Unpinner {
 public:
  explicit Unpinner(const Registration::Owner& owner);

  // No transfer needs the pins. An error is that of the call which this one has made, if it has.
  sim::Task<os::Error> let_go(cpu::Execution& thread, os::PinId pin) {
    return let_go(thread, sim::Vector<os::PinId>{pin});
  }
  sim::Task<os::Error> let_go(cpu::Execution& thread, sim::Vector<os::PinId> pins);
  // How many calls have let go of pins.
  std::uint64_t calls_ended() const { return calls_ended_; }
  // Ends when all that has waited is unpinned, by this thread or by the helper. False: nothing has waited.
  sim::Task<bool> flush(cpu::Execution& thread);
  // Likewise after a pin has failed, which began when so many calls had ended. False: no pin that has gone since can
  // have been in its way.
  sim::Task<bool> make_room(cpu::Execution& thread, os::Error error, std::uint64_t calls_ended);
  // The process is about to exit: ends when no thread is in a call. The kernel takes what is still pinned.
  sim::Task<void> stop();

 private:
  sim::Task<os::Error> unpin_all(cpu::Execution& thread);
  sim::Task<void> help();

  const Registration::Owner owner_;
  sim::Counter& calls_;
  sim::Vector<os::PinId> waiting_;
  std::uint64_t calls_ended_ = 0;
  unsigned in_call_ = 0;  // threads that unpin what has waited
  bool stopping_ = false;
  sim::Signal call_ended_;
  os::WaitQueue work_;  // where the helper sleeps
  cpu::Execution* helper_ = nullptr;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::rdma
