// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/cfs.hpp"

#include <algorithm>

namespace faultline::cpu {

using sim::Time;

namespace {

constexpr std::int64_t kThreadsAPeriod = 8;  // sched_nr_latency: sched_latency / sched_min_granularity

}  // namespace

// place_entity(), with GENTLE_FAIR_SLEEPERS: who has slept is at most half a period ahead of the others.
void Cfs::place(SchedEntity& entity, Arrival how) {
  if (how == Arrival::woken) entity.vruntime = std::max(entity.vruntime, min_vruntime_ - config().latency / 2);
}

Execution* Cfs::least(const Execution* except) const {
  Execution* best = nullptr;
  for (Execution* thread : threads()) {
    if (thread != except && (best == nullptr || thread->entity.vruntime < best->entity.vruntime)) best = thread;
  }
  return best;
}

// pick_next_entity()
Execution& Cfs::choose() const { return *least(nullptr); }

void Cfs::update_min_vruntime() {
  if (const Execution* first = least(nullptr)) min_vruntime_ = std::max(min_vruntime_, first->entity.vruntime);
}

// sched_slice(): the entity's part of the period. With BASE_SLICE a thread of small weight gets the granularity.
Time Cfs::slice(const SchedEntity& entity) const {
  std::int64_t weights = 0;
  for (const Execution* thread : threads()) weights += thread->entity.weight;
  const auto count = static_cast<std::int64_t>(size());
  const Time period = count > kThreadsAPeriod ? config().min_granularity * count : config().latency;
  const Time part{period.count() / weights * entity.weight};
  return slice_floor_ ? std::max(part, config().min_granularity) : part;
}

// check_preempt_tick()
bool Cfs::turn_is_over() {
  if (current() == nullptr || size() < 2) return false;
  const SchedEntity& entity = current()->entity;
  const Time turn = slice(entity);
  if (entity.ran > turn) return true;
  if (entity.ran < config().min_granularity) return false;
  return entity.vruntime - least(current())->entity.vruntime > turn;
}

// wakeup_preempt_entity()
bool Cfs::preempts(const Execution& woken) const {
  if (current() == nullptr) return false;
  const Time ahead = current()->entity.vruntime - woken.entity.vruntime;
  return ahead > virtual_time(config().wakeup_granularity, woken.entity) && ahead > Time{0};
}

}  // namespace faultline::cpu
