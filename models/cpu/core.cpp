// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/core.hpp"

#include <algorithm>
#include <numeric>

#include "models/cpu/balancer.hpp"
#include "models/cpu/tracks.hpp"

namespace faultline::cpu {

using sim::Time;

Core::Core(Cpu& cpu, unsigned number, sim::Port port, const SchedConfig& sched, const SchedRules& rules)
    : cpu_(cpu),
      number_(number),
      port_(port),
      fair_(FairQueue::make(sched, rules)),
      average_idle_(2 * sched.migration_cost) {}

void Core::interrupt(Request& request) {
  (request.kind == Work::irq ? irq_ : softirq_).push_back(&request);
  dispatch();
}

bool Core::goes_on(const Execution& thread) const {
  if (resuming_ == &thread) return current_ == &thread;
  return lingering_ == &thread && left_at_ == cpu_.context().now() && idle();
}

void Core::go_on(Execution& thread) {
  if (current_ == nullptr) {
    lingering_ = nullptr;
    current_ = &thread;
    load_space_of(thread);
    if (thread.entity.sched_class == SchedClass::fifo) {
      fifo_.push_back(&thread);
    } else {
      fair_->go_on(thread);
    }
  }
  dispatch();
}

void Core::keep_for(const Execution& thread) {
  if (idle() && last_ == &thread) {
    lingering_ = &thread;
    left_at_ = cpu_.context().now();
  }
}

void Core::enqueue(Execution& thread, Arrival how) {
  settle();
  const Time now = cpu_.context().now();
  if (idle() && how == Arrival::woken) {
    // update_avg(); bounded by twice what makes a core look for work
    average_idle_ += (now - idle_since_ - average_idle_) / 8;
    average_idle_ = std::min(average_idle_, 2 * cpu_.sched().migration_cost);
  }
  thread.entity.waits_since = now;
  if (thread.entity.sched_class == SchedClass::fifo) {
    fifo_.push_back(&thread);
    need_resched_ = need_resched_ || (current_ != nullptr && !runs_fifo());
  } else {
    if (fair_->add(thread, how)) need_resched_ = true;
  }
  dispatch();
}

void Core::take_away(Execution& waiting) {
  settle();
  const bool others_turn = dequeue(waiting);
  stop_waiting(waiting);
  if (!others_turn) return;
  need_resched_ = true;
  dispatch();
}

bool Core::dequeue(Execution& thread) {
  if (thread.entity.sched_class != SchedClass::fifo) return fair_->remove(thread);
  std::erase(fifo_, &thread);
  return false;
}

Execution* Core::movable_fifo() const {
  const auto movable = [this](const Execution* thread) { return thread != current_ && !thread->bound_; };
  const auto found = std::find_if(fifo_.begin(), fifo_.end(), movable);
  return found != fifo_.end() ? *found : nullptr;
}

void Core::leave(const Execution& thread) {
  if (lingering_ == &thread) lingering_ = nullptr;
  if (current_ == &thread) leaves_for_good_ = true;
}

void Core::tick() {
  settle();
  if (fair_->turn_is_over()) need_resched_ = true;
  dispatch();
}

void Core::settle() {
  const Time now = cpu_.context().now();
  const Time elapsed = now - since_;
  since_ = now;
  if (elapsed == Time{0}) return;
  if (cpu_.context().trace.records()) record(elapsed);
  fair_->pass(now - elapsed, now, running_ != nullptr && &running_->who == fair_->current());
  if (running_switch_) {
    switch_remaining_ -= elapsed;
    charge(*current_, Work::system, elapsed);
  } else if (running_ != nullptr) {
    if (!running_->endless) running_->remaining -= elapsed;
    charge(running_->who, running_->kind, elapsed);
    if (!running_->polling) return;
    polled_ += elapsed;
    cpu_.counters_->time_polling += static_cast<std::uint64_t>(elapsed.count());
  }
}

Time Core::busy() const { return std::accumulate(charged_.begin(), charged_.end(), -polled_); }

// What has run for that long up to now.
void Core::record(Time elapsed) const {
  constexpr std::array<const char*, kWorks> kKinds{"user", "system", "softirq", "irq"};
  const Time now = cpu_.context().now();
  const auto tell = [&](const Execution& who, const char* kind) {
    cpu_.context().slice(track::kCore, number_, now - elapsed, now, who.name(), kind);
  };
  if (running_switch_) {
    tell(*current_, "context switch");
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
  if (resuming_ != nullptr) return;
  settle();
  Request* next = choose_interrupt();
  const bool interrupted = next != nullptr;
  if (!interrupted) {
    if (current_ == nullptr ? runnable() > 0 : may_reschedule()) reschedule();
    if (current_ != nullptr && !switching_) next = current_->request_;
  }
  const bool next_is_switch = switching_ && !interrupted;

  Time end = sim::kNever;
  if (next_is_switch) {
    end = since_ + switch_remaining_;
  } else if (next != nullptr) {
    end = end_of(*next);
  }
  const bool unchanged = next == running_ && next_is_switch == running_switch_ && end == deadline_;
  running_ = next;
  running_switch_ = next_is_switch;
  if (unchanged) return;
  deadline_ = end;
  ++generation_;
  if (end != sim::kNever) cpu_.context().loop.at<&Core::on_deadline>(end, port_, *this, generation_);
}

Request* Core::choose_interrupt() const {
  if (!irq_.empty()) return irq_.front();
  return softirq_.empty() ? nullptr : softirq_.front();
}

// Kernel code runs on to a point at which it gives way, unless the kernel is built for full pre-emption.
bool Core::may_reschedule() const {
  if (!need_resched_ || switching_) return false;
  const Request& request = *current_->request_;
  if (request.keeps_core) return false;
  return request.kind == Work::user || request.gives_way || cpu_.sched().preemption == Preemption::full;
}

void Core::reschedule() {
  need_resched_ = false;
  Execution* next = nullptr;
  if (fifo_.empty()) {
    next = &fair_->pick();
  } else {
    next = fifo_.front();
    fair_->put_back();
  }
  if (next == current_) return;
  if (current_ != nullptr) {
    ++cpu_.counters_->preemptions;
    current_->entity.waits_since = cpu_.context().now();
    current_->entity.last_ran = cpu_.context().now();
  }
  stop_waiting(*next);
  current_ = next;
  load_space_of(*next);
  lingering_ = nullptr;
  switching_ = true;
  switch_remaining_ = cpu_.scaled(cpu_.config().context_switch);
  ++cpu_.counters_->context_switches;
  cpu_.balancer().push_fifo(*this);
  cpu_.balancer().look_at_tick();
}

void Core::load_space_of(const Execution& thread) {
  if (thread.address_space() != 0) loaded_space_ = thread.address_space();
}

void Core::stop_waiting(const Execution& thread) {
  const Time waited = cpu_.context().now() - thread.entity.waits_since;
  cpu_.counters_->time_waiting += static_cast<std::uint64_t>(waited.count());
}

Time Core::end_of(const Request& request) const {
  if (!request.endless) return since_ + request.remaining;
  return request.seen_at == sim::kNever ? sim::kNever : std::max(since_, request.seen_at);
}

void Core::on_deadline(std::uint64_t generation) {
  if (generation != generation_) return;
  settle();
  deadline_ = sim::kNever;
  if (running_switch_) {
    running_switch_ = false;
    switching_ = false;
  } else {
    Request& request = *running_;
    running_ = nullptr;
    const bool done = request.endless ? request.seen_at <= since_ : request.remaining == Time{0};
    if (done) complete(request);
  }
  dispatch();
}

void Core::complete(Request& request) {
  Execution& who = request.who;
  if (who.thread_) {
    who.request_ = nullptr;
  } else {
    std::erase(request.kind == Work::irq ? irq_ : softirq_, &request);
    interrupt_context_at_ = cpu_.context().now();
  }
  resuming_ = &who;
  {
    const sim::ProfileScope turn(cpu_.context().loop.profile(), who.name());
    request.waiter.resume();  // the request is gone after this
  }
  resuming_ = nullptr;
  if (current_ == &who && who.request_ == nullptr) block();
}

// The thread waits for something else than its core.
void Core::block() {
  Execution& thread = *current_;
  thread.entity.last_ran = cpu_.context().now();
  const bool last_fifo = runs_fifo() && fifo_.size() == 1;
  dequeue(thread);
  current_ = nullptr;
  need_resched_ = false;
  last_ = &thread;
  lingering_ = leaves_for_good_ ? nullptr : &thread;
  leaves_for_good_ = false;
  left_at_ = cpu_.context().now();
  if (last_fifo) cpu_.balancer().pull_fifo(*this);
  if (runnable() > 0) return;
  idle_since_ = left_at_;
  cpu_.balancer().newly_idle(*this);
}

}  // namespace faultline::cpu
