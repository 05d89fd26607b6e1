// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/eevdf.hpp"

#include <algorithm>

namespace faultline::cpu {

using sim::Time;

Time Eevdf::Mean::value() const {
  if (weights == 0) return from;
  const std::int64_t rest = sum % weights;
  return from + Time{sum / weights - (rest < 0 ? 1 : 0)};
}

// avg_vruntime()
Eevdf::Mean Eevdf::mean() const {
  if (size() == 0) return {last_mean_, 0, 0};
  Mean mean{threads().front()->entity.vruntime, 0, 0};
  for (const Execution* thread : threads()) {
    mean.sum += (thread->entity.vruntime - mean.from).count() * thread->entity.weight;
    mean.weights += thread->entity.weight;
  }
  return mean;
}

// entity_eligible()
bool Eevdf::is_eligible(const SchedEntity& entity) const {
  const Mean all = mean();
  return all.sum >= (entity.vruntime - all.from).count() * all.weights;
}

// place_entity(): the thread's lag is the same as when it left, although the thread itself moves the mean.
void Eevdf::place(SchedEntity& entity, Arrival) {
  const Mean others = mean();
  Time lag = entity.lag;
  if (others.weights == 0) {
    lag = Time{0};
  } else {
    lag = Time{lag.count() * (others.weights + entity.weight) / others.weights};
  }
  entity.vruntime = others.value() - lag;
  entity.deadline = entity.vruntime + slice(entity);
}

// update_entity_lag()
void Eevdf::before_removal(SchedEntity& entity) {
  const Time most = virtual_time(std::max(2 * config().base_slice, config().tick()), entity);
  last_mean_ = mean().value();
  entity.lag = std::clamp(last_mean_ - entity.vruntime, -most, most);
}

// pick_eevdf()
Execution& Eevdf::choose() const {
  const bool may_go_on = current() != nullptr && is_eligible(current()->entity);
  if (may_go_on && current()->entity.protects_slice) return *current();
  Execution* best = nullptr;
  for (Execution* thread : threads()) {
    if (thread == current() || !is_eligible(thread->entity)) continue;
    if (best == nullptr || thread->entity.deadline < best->entity.deadline) best = thread;
  }
  if (best == nullptr) return *current();  // of all threads the one that has had least is eligible
  if (!may_go_on) return *best;
  const Time first = best->entity.deadline;
  const Time own = current()->entity.deadline;
  return own < first || (own == first && !equal_deadlines_yield_) ? *current() : *best;
}

void Eevdf::chosen(SchedEntity& entity, bool again) {
  if (!again) entity.protects_slice = true;
}

// update_deadline(), did_preempt_short(). Alone the thread begins a new slice and nobody is told.
bool Eevdf::look_at_current() {
  if (current() == nullptr) return false;
  SchedEntity& entity = current()->entity;
  const bool slice_over = entity.vruntime >= entity.deadline;
  if (slice_over) {
    entity.deadline = entity.vruntime + slice(entity);
    entity.protects_slice = false;
  }
  if (size() == 1) return false;
  return slice_over || (preempt_short_ && !entity.protects_slice && !is_eligible(entity));
}

// check_preempt_wakeup_fair()
bool Eevdf::preempts(const Execution& woken) const { return current() != nullptr && &choose() == &woken; }

}  // namespace faultline::cpu
