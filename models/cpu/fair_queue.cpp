// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/fair_queue.hpp"

#include <stdexcept>

#include "models/cpu/cfs.hpp"
#include "models/cpu/eevdf.hpp"

namespace faultline::cpu {

using sim::Time;

std::unique_ptr<FairQueue> FairQueue::make(const SchedConfig& config, const SchedRules& rules) {
  if (config.policy == SchedPolicy::eevdf) return std::make_unique<Eevdf>(config, rules);
  return std::make_unique<Cfs>(config, rules.slice_floor);
}

// enqueue_entity(), then check_preempt_wakeup()
bool FairQueue::add(Execution& thread, Arrival how) {
  const bool used_up = look_at_current();
  place(thread.entity, how);
  threads_.push_back(&thread);
  return used_up || preempts(thread);
}

// dequeue_entity()
bool FairQueue::remove(Execution& thread) {
  const bool used_up = current_ != &thread && look_at_current();
  before_removal(thread.entity);
  if (std::erase(threads_, &thread) != 1) throw std::logic_error("thread " + thread.name() + " is not in this queue");
  if (current_ == &thread) current_ = nullptr;
  after_removal();
  return used_up;
}

void FairQueue::go_on(Execution& thread) {
  threads_.push_back(&thread);
  current_ = &thread;
}

Execution& FairQueue::pick() {
  look_at_current();
  Execution& next = choose();
  const bool again = current_ == &next;
  if (!again) {
    put_back();
    current_ = &next;
    next.entity.ran = Time{0};
  }
  chosen(next.entity, again);
  return next;
}

void FairQueue::put_back() {
  if (current_ == nullptr) return;
  look_at_current();
  std::erase(threads_, current_);
  threads_.push_back(current_);
  current_ = nullptr;
}

// While a thread runs alone, Linux's ticks look at it and nobody else does. Such ticks are no events here.
void FairQueue::pass(Time from, Time to, bool current_ran) {
  if (current_ == nullptr) return;
  if (next_tick_ <= from) next_tick_ = (from / tick_ + 1) * tick_;
  for (; size() == 1 && next_tick_ <= to; next_tick_ += tick_) {
    if (current_ran) charge(next_tick_ - from);
    look_at_current();
    from = next_tick_;
  }
  if (current_ran) charge(to - from);
}

// The remainder is kept, so that it does not matter in how many pieces time is charged.
void FairQueue::charge(Time elapsed) {
  SchedEntity& entity = current_->entity;
  entity.ran += elapsed;
  if (entity.weight == 1024) {  // that of most threads: no division, and no remainder
    entity.vruntime += elapsed;
  } else {
    const std::int64_t weighted = elapsed.count() * 1024 + entity.remainder;
    entity.vruntime += Time{weighted / entity.weight};
    entity.remainder = weighted % entity.weight;
  }
  advanced(entity);
}

}  // namespace faultline::cpu
