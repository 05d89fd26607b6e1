// SPDX-License-Identifier: Apache-2.0
#include "models/sim/event_loop.hpp"

#include <algorithm>
#include <stdexcept>

namespace faultline::sim {

EventLoop::EventLoop(sc_core::sc_module_name name) : sc_module(name), wake_("wake") {
  if (sc_core::sc_get_time_resolution() != sc_core::sc_time(1, sc_core::SC_PS)) {
    throw std::logic_error("the models count in picoseconds: SystemC's time resolution must be 1 ps");
  }
  SC_HAS_PROCESS(EventLoop);
  SC_METHOD(drain);
  dont_initialize();
  sensitive << wake_;
}

void EventLoop::at(Time when, Port port, Callback callback, void* object, std::uint64_t argument) {
  if (when < now()) throw std::logic_error("event scheduled in the past");
  heap_.push_back({when, port, next_sequence_++, callback, object, argument});
  std::push_heap(heap_.begin(), heap_.end(), RunsLater{});
  if (!draining_) wake_for(when);
}

void EventLoop::resume_at(Time when, std::coroutine_handle<> handle) {
  at(
      when, kSoftwarePort, [](void* frame, std::uint64_t) { std::coroutine_handle<>::from_address(frame).resume(); },
      handle.address());
}

void EventLoop::wake_for(Time when) {
  if (when >= wake_at_) return;
  wake_at_ = when;
  wake_.notify(to_sc_time(when - now()));
}

void EventLoop::rethrow_failure() const {
  if (failure_) throw *failure_;
}

void EventLoop::drain() {
  draining_ = true;
  wake_at_ = kNever;
  const Time instant = now();
  while (!heap_.empty() && heap_.front().when <= instant) {
    std::pop_heap(heap_.begin(), heap_.end(), RunsLater{});
    const Event event = heap_.back();
    heap_.pop_back();
    ++events_run_;
    try {
      event.callback(event.object, event.argument);
    } catch (const RunFailure& failure) {
      if (!failure_) failure_ = failure;
      sc_core::sc_stop();
    }
  }
  draining_ = false;
  if (!heap_.empty()) wake_for(heap_.front().when);
}

}  // namespace faultline::sim
