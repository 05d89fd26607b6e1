// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/core.hpp"

#include <algorithm>
#include <stdexcept>

namespace faultline::cpu {

using sim::Time;

void Submission::await_suspend(std::coroutine_handle<> waiter) const {
  request.waiter = waiter;
  core.submit(request);
}

void Core::submit(Request& request) {
  if (request.who.thread_) {
    for (const auto& waiting : queues_) {
      for (const Request* other : waiting) {
        if (&other->who == &request.who) throw std::logic_error("thread " + request.who.name() + " runs twice at once");
      }
    }
  }
  queue(request.kind).push_back(&request);
  dispatch();
}

void Core::leave(const Execution& thread) {
  if (current_ == &thread) current_ = nullptr;
}

bool Core::idle() const {
  return queue(Work::user).empty() && queue(Work::system).empty() && switching_to_ == nullptr && !resuming_thread_;
}

void Core::settle() {
  const Time now = cpu_.context().now();
  const Time elapsed = now - since_;
  since_ = now;
  if (elapsed == Time{0}) return;
  if (cpu_.context().trace.records()) record(elapsed);
  if (running_switch_) {
    switch_remaining_ -= elapsed;
    charge(*switching_to_, Work::system, elapsed);
  } else if (running_ != nullptr) {
    if (!running_->endless) running_->remaining -= elapsed;
    if (&running_->who == current_) slice_used_ += elapsed;
    charge(running_->who, running_->kind, elapsed);
    if (running_->polling) cpu_.counters_->time_polling += static_cast<std::uint64_t>(elapsed.count());
  }
}

// What has run for that long up to now.
void Core::record(Time elapsed) const {
  constexpr std::array<const char*, kWorks> kKinds{"user", "system", "softirq", "irq"};
  const Time now = cpu_.context().now();
  const auto tell = [&](const Execution& who, const char* kind) {
    cpu_.context().slice(sim::Part::core, number_, now - elapsed, now, who.name(), kind);
  };
  if (running_switch_) {
    tell(*switching_to_, "context switch");
  } else if (running_ != nullptr) {
    tell(running_->who, running_->polling ? "polling" : kKinds[static_cast<std::size_t>(running_->kind)]);
  }
}

void Core::charge(Execution& who, Work kind, Time elapsed) {
  const auto index = static_cast<std::size_t>(kind);
  charged_[index] += elapsed;
  who.time_[index] += elapsed;
  *cpu_.counters_->time[index] += static_cast<std::uint64_t>(elapsed.count());
}

void Core::dispatch() {
  // The coroutine that is being resumed may go on with more work, which decides: look when it has.
  if (resuming_) return;
  settle();
  Request* next = choose_above_threads();
  if (next == nullptr && switching_to_ == nullptr) {
    next = choose_thread();
    if (next != nullptr && next->who.thread_ && current_ != &next->who) begin_switch(next->who);
  }
  const bool interrupted = next != nullptr && next->kind >= Work::softirq;
  const bool next_is_switch = switching_to_ != nullptr && !interrupted;
  if (next_is_switch) next = nullptr;

  Time end = sim::kNever;
  if (next_is_switch) {
    end = since_ + switch_remaining_;
  } else if (next != nullptr) {
    end = end_of(*next);
  }
  const bool goes_on = next == running_ && next_is_switch == running_switch_ && end == deadline_;
  running_ = next;
  running_switch_ = next_is_switch;
  if (goes_on) return;
  deadline_ = end;
  ++generation_;
  if (end != sim::kNever) cpu_.context().loop.at<&Core::on_deadline>(end, port_, *this, generation_);
}

Request* Core::choose_above_threads() {
  for (const Work kind : {Work::irq, Work::softirq}) {
    if (!queue(kind).empty()) return queue(kind).front();
  }
  return nullptr;
}

Request* Core::choose_thread() {
  auto& system = queue(Work::system);
  if (!system.empty()) {
    Request* own = request_of_current(system);
    return own != nullptr ? own : system.front();
  }
  auto& user = queue(Work::user);
  if (user.empty()) return nullptr;
  Request* own = request_of_current(user);
  if (own == nullptr) return user.front();
  if (user.size() == 1 || !slice_used_up()) return own;
  std::erase(user, own);
  user.push_back(own);
  return user.front();
}

Request* Core::request_of_current(std::vector<Request*>& waiting) {
  for (Request* request : waiting) {
    if (&request->who == current_) return request;
  }
  return nullptr;
}

bool Core::slice_used_up() const { return slice_used_ >= cpu_.config().time_slice; }

Time Core::end_of(const Request& request) const {
  Time end = since_ + request.remaining;
  if (request.endless) end = request.seen_at == sim::kNever ? sim::kNever : std::max(since_, request.seen_at);
  const bool contended = request.kind == Work::user && queue(Work::user).size() > 1;
  if (contended && &request.who == current_) end = std::min(end, since_ + cpu_.config().time_slice - slice_used_);
  return end;
}

void Core::begin_switch(Execution& next) {
  current_ = nullptr;
  switching_to_ = &next;
  switch_remaining_ = cpu_.scaled(cpu_.config().context_switch);
  ++cpu_.counters_->context_switches;
}

void Core::on_deadline(std::uint64_t generation) {
  if (generation != generation_) return;
  settle();
  deadline_ = sim::kNever;
  if (running_switch_) {
    running_switch_ = false;
    current_ = switching_to_;
    switching_to_ = nullptr;
    slice_used_ = Time{0};
  } else {
    Request& request = *running_;
    running_ = nullptr;
    const bool done = request.endless ? request.seen_at <= since_ : request.remaining == Time{0};
    if (done) complete(request);
  }
  dispatch();
}

void Core::complete(Request& request) {
  std::erase(queue(request.kind), &request);
  resuming_ = true;
  resuming_thread_ = request.who.thread_;
  {
    const sim::ProfileScope turn(cpu_.context().loop.profile(), request.who.name());
    request.waiter.resume();  // the request is gone after this
  }
  resuming_ = false;
  resuming_thread_ = false;
}

}  // namespace faultline::cpu
