// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/registration/unpinner.hpp"

#include <utility>

#include "models/rdma/registration/pinned_range.hpp"

namespace faultline::rdma {

using os::Error;
using sim::Task;

Unpinner::Unpinner(const Registration::Owner& owner)
    : owner_(owner),
      calls_(owner.cpu.context().statistics.counter("registration.unpin_calls", "count",
                                                    "calls that let go of pins which no transfer needed any more")),
      call_ended_(owner.cpu.context().loop),
      work_(owner.vm.config(), owner.cpu) {}

Task<Error> Unpinner::let_go(cpu::Execution& thread, sim::Vector<os::PinId> pins) {
  waiting_.insert(waiting_.end(), pins.begin(), pins.end());
  switch (owner_.unpin.time) {
    case UnpinTime::now: co_return co_await unpin_all(thread);
    case UnpinTime::batched:
      if (waiting_.size() < owner_.unpin.batch) co_return Error::none;
      co_return co_await unpin_all(thread);
    case UnpinTime::helper: break;
  }
  if (helper_ == nullptr) {
    helper_ = &owner_.cpu.new_thread("unpinning thread").use(owner_.process.id());
    tasks_.start(help());
  } else {
    co_await work_.wake(thread);
  }
  co_return Error::none;
}

Task<Error> Unpinner::unpin_all(cpu::Execution& thread) {
  sim::Vector<os::PinId> pins = std::exchange(waiting_, {});
  ++calls_;
  ++in_call_;
  const Error error = co_await unpin(thread, owner_, std::move(pins));
  --in_call_;
  ++calls_ended_;
  call_ended_.notify_all();
  co_return error;
}

Task<bool> Unpinner::flush(cpu::Execution& thread) {
  if (!waiting_.empty()) {
    co_await unpin_all(thread);
    co_return true;
  }
  if (in_call_ == 0) co_return false;
  while (in_call_ > 0) co_await owner_.cpu.sleep(thread, call_ended_);
  co_return true;
}

// Pins are in the way of memory, of RLIMIT_MEMLOCK, and of a place in the private table, and of nothing else.
Task<bool> Unpinner::make_room(cpu::Execution& thread, Error error, std::uint64_t calls_ended) {
  if (error != Error::no_memory && error != Error::limit && error != Error::again) co_return false;
  const bool has_waited = co_await flush(thread);
  co_return has_waited || calls_ended_ != calls_ended;
}

Task<void> Unpinner::help() {
  for (;;) {
    while (waiting_.empty()) co_await work_.sleep(*helper_);
    if (stopping_) co_return;
    co_await unpin_all(*helper_);
  }
}

Task<void> Unpinner::stop() {
  stopping_ = true;
  while (in_call_ > 0) co_await call_ended_;  // NOLINT(bugprone-infinite-loop): unpin_all() ends it
}

}  // namespace faultline::rdma
