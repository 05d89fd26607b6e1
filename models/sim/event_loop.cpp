// SPDX-License-Identifier: Apache-2.0
#include "models/sim/event_loop.hpp"

#include <stdexcept>
#include <utility>

namespace faultline::sim {
namespace {

const ProfiledPart kLoop{"event loop"};
const ProfiledPart kKernel{"SystemC kernel"};

}  // namespace

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
  events_.push({when, port, next_sequence_++, callback, object, argument});
  if (!draining_ && pending()) wake_for(events_.top().when);
}

void EventLoop::wake_daemon_at(Time when, std::coroutine_handle<> handle) {
  ++idle_;
  const auto wake = [](void* self, std::uint64_t frame) {
    --static_cast<EventLoop*>(self)->idle_;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an event has one pointer and one number
    std::coroutine_handle<>::from_address(reinterpret_cast<void*>(frame)).resume();
  };
  at(when, kSoftwarePort, wake, this, reinterpret_cast<std::uint64_t>(handle.address()));
}

void EventLoop::resume_at(Time when, std::coroutine_handle<> handle) {
  at(
      when, kSoftwarePort, [](void* frame, std::uint64_t) { std::coroutine_handle<>::from_address(frame).resume(); },
      handle.address());
}

void EventLoop::wake_for(Time when) {
  if (when >= wake_at_) return;
  wake_at_ = when;
  wake_.notify(to_sc_time(when) - sc_core::sc_time_stamp());
}

void EventLoop::run(Time limit) {
  const ProfileScope in_kernel(profile_, kKernel);
  limit_ = limit;
  if (std::exchange(stopped_, false) && pending()) wake_for(events_.top().when);
  sc_core::sc_start(to_sc_time(limit) - sc_core::sc_time_stamp());
  limit_ = Time{-1};
}

void EventLoop::stop() {
  stopped_ = true;
  sc_core::sc_pause();
}

void EventLoop::rethrow_failure() const {
  if (failure_) throw *failure_;
}

// SystemC's clock stays behind meanwhile: that is seen by nobody while nothing else is pending there.
bool EventLoop::may_go_on_to(Time when) const {
  if (when >= limit_) return false;
  if (!sc_core::sc_pending_activity()) return true;
  return to_sc_time(when) < sc_core::sc_time_stamp() + sc_core::sc_time_to_pending_activity();
}

void EventLoop::watch(std::uint64_t every, std::function<void()> watcher) {
  watcher_ = std::move(watcher);
  watch_every_ = every;
  watch_at_ = events_run_ + every;
}

void EventLoop::sample(Time first, std::function<Time(Time)> sampler) {
  sampler_ = std::move(sampler);
  sample_at_ = first;
}

void EventLoop::take_samples(Time until) {
  while (until >= sample_at_) sample_at_ = sampler_(sample_at_);
}

void EventLoop::call(const Event& event) {
  if (profile_ == nullptr) [[likely]] {
    event.callback(event.object, event.argument);
    return;
  }
  const PartId before = profile_->enter_event(event.callback);
  event.callback(event.object, event.argument);
  profile_->leave(before);
}

void EventLoop::drain() {
  const ProfileScope in_loop(profile_, kLoop);
  draining_ = true;
  wake_at_ = kNever;
  instant_ = from_sc_time(sc_core::sc_time_stamp());
  while (pending() && !stopped_) {
    const Event event = events_.top();
    if (event.when >= sample_at_) [[unlikely]]
      take_samples(event.when);
    if (event.when > instant_) {
      if (!may_go_on_to(event.when)) break;
      instant_ = event.when;
    }
    events_.pop();
    ++events_run_;
    if (event.port >= kFirstCorePort) software_at_ = instant_;
    running_port_ = event.port;
    try {
      call(event);
    } catch (const RunFailure& failure) {
      if (!failure_) failure_ = failure;
      stop();
    }
    if (events_run_ == watch_at_) [[unlikely]] {
      watch_at_ += watch_every_;
      watcher_();
    }
  }
  draining_ = false;
  running_port_ = kNobodysPort;
  if (pending() && !stopped_) wake_for(events_.top().when);
}

}  // namespace faultline::sim
