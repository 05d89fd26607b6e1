// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/balancer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace faultline::cpu {

using sim::Time;

namespace {

constexpr unsigned kCacheNiceTries = 1;  // of a domain whose cores share a cache (sd_init)

// sd_init(): least and greatest balance interval of a domain, in ms as many as it has cores, and twice that.
Time shortest_interval(std::size_t cores) { return static_cast<std::int64_t>(cores) * Time{1ms}; }
Time longest_interval(std::size_t cores) { return 2 * shortest_interval(cores); }

// A whole number of periods, rounded up.
Time round_up(Time time, Time period) { return period * sim::divide_up(time.count(), period.count()); }

}  // namespace

Balancer::Balancer(const SchedConfig& config, const SchedRules& rules, const sim::Context& context,
                   const std::vector<std::unique_ptr<Core>>& cores, sim::Counter& pulls)
    : config_(config),
      rules_(rules),
      context_(context),
      cores_(cores),
      pulls_(pulls),
      port_(context.loop.new_core_port()) {}

bool Balancer::wake_up(Execution& thread, const std::optional<Waker>& waker) {
  const unsigned before = thread.core_;
  const unsigned to = thread.bound_ ? before : choose(thread, waker);
  if (to != before) move(thread, to);
  cores_[to]->enqueue(thread, Arrival::woken);
  look_at_tick();
  return to != before;
}

// Virtual times are one queue's. What the thread had in the old core's cache counts no longer (migrate_task_rq_fair(),
// later enqueue_entity(): exec_start = 0).
void Balancer::move(Execution& thread, unsigned to) const {
  cores_[thread.core_]->fair().leave_for_another(thread.entity);
  cores_[to]->fair().come_from_another(thread.entity);
  thread.core_ = to;
  thread.entity.last_ran = Time{-1};
}

// A thread that waits for its core goes to another.
void Balancer::take_over(Execution& thread, Core& to) {
  cores_[thread.core_]->take_away(thread);
  move(thread, to.number());
  ++pulls_;
  to.enqueue(thread, Arrival::moved);
}

std::optional<unsigned> Balancer::first_idle(unsigned from) const {
  for (unsigned step = 0; step < cores_.size(); ++step) {
    const unsigned candidate = (from + step) % static_cast<unsigned>(cores_.size());
    if (cores_[candidate]->idle()) return candidate;
  }
  return std::nullopt;
}

// select_task_rq_fair(): wake_affine() chooses between two cores, select_idle_sibling() looks for an idle one from
// there.
unsigned Balancer::choose(const Execution& thread, const std::optional<Waker>& waker) const {
  if (thread.entity.sched_class == SchedClass::fifo) return choose_for_fifo(thread, waker);
  const unsigned target = waker ? last_core_or_wakers(thread, *waker) : thread.core_;
  if (!cores_[target]->idle() && cores_[thread.core_]->idle()) return thread.core_;
  return first_idle(target).value_or(target);
}

// wake_affine(), by wake_affine_idle() and wake_affine_weight().
unsigned Balancer::last_core_or_wakers(const Execution& thread, const Waker& waker) const {
  const Core& here = *cores_[waker.core];
  const Core& last = *cores_[thread.core_];
  if (here.idle()) return last.idle() && !rules_.wakes_at_interrupt_core ? last.number() : here.number();
  // The waker is taken for the thread that was interrupted.
  const bool about_to_sleep = waker.how == Waking::sync && here.current() != nullptr;
  const std::size_t stay = here.runnable() - (about_to_sleep ? 1 : 0);
  return stay < last.runnable() ? here.number() : last.number();
}

// select_task_rq_rt(), find_lowest_rq(): a FIFO thread takes the core from any fair thread, so it only avoids its like,
// and does not prefer idle cores. The first core without one; kernels since 5.15 take these cores in turn
// (cpumask_any_and_distribute).
unsigned Balancer::choose_for_fifo(const Execution& thread, const std::optional<Waker>& waker) const {
  if (!cores_[thread.core_]->runs_fifo()) return thread.core_;
  if (waker && !cores_[waker->core]->has_fifo()) return waker->core;
  const Core* lowest = first_without_fifo();
  return lowest != nullptr ? lowest->number() : thread.core_;
}

Core* Balancer::first_without_fifo() const {
  const auto none = [](const auto& core) { return !core->has_fifo(); };
  const auto found = std::find_if(cores_.begin(), cores_.end(), none);
  return found != cores_.end() ? found->get() : nullptr;
}

// Behind kernel code of a fair thread FIFO threads wait where they are: any of them might be next.
Execution* Balancer::movable_fifo(const Core& from) const {
  const bool may_move = rules_.moves_fifo && (from.runs_fifo() || is_work_conserving());
  return may_move ? from.movable_fifo() : nullptr;
}

// push_rt_tasks()
void Balancer::push_fifo(Core& from) {
  while (Execution* waiting = movable_fifo(from)) {
    Core* to = first_without_fifo();
    if (to == nullptr) return;
    take_over(*waiting, *to);
  }
}

// pull_rt_task()
void Balancer::pull_fifo(Core& to) {
  for (const auto& core : cores_) {
    Execution* waiting = movable_fifo(*core);
    if (waiting != nullptr) return take_over(*waiting, to);
  }
}

// find_idlest_cpu(), where nothing of the same load is nearer: an idle core, else the one with the fewest threads.
unsigned Balancer::core_for_new(unsigned wanted) const {
  if (const auto idle = first_idle(wanted)) return *idle;
  unsigned best = wanted;
  for (const auto& core : cores_) {
    if (core->runnable() < cores_[best]->runnable()) best = core->number();
  }
  return best;
}

// newidle_balance()
void Balancer::newly_idle(Core& core) {
  if (is_work_conserving()) return fill_idle_cores();
  const Time worth = rules_.newidle_by_cost ? config_.newidle_cost : config_.migration_cost;
  if (core.average_idle() >= worth) pull(core, /*even_hot=*/false);
}

void Balancer::look_at_tick() {
  const auto waits = [](const auto& core) { return core->has_waiting(); };
  if (!std::any_of(cores_.begin(), cores_.end(), waits)) return;
  if (is_work_conserving()) fill_idle_cores();
  if (armed_) return;
  armed_ = true;
  const Time period = config_.tick();
  const Time next = round_up(context_.now() + Time{1}, period);
  context_.loop.at<&Balancer::tick>(next, port_, *this);
}

void Balancer::tick() {
  armed_ = false;
  check();
  for (const auto& core : cores_) core->tick();
  for (const auto& core : cores_) balance(*core);
  look_at_tick();
}

// The policy work-conserving: every idle core takes a waiting thread at once.
void Balancer::fill_idle_cores() {
  for (const auto& core : cores_) {
    if (!core->idle()) continue;
    pull_fifo(*core);
    if (core->idle()) pull(*core, /*even_hot=*/true);
  }
}

// An idle core looks for work when its interval is over, however long that has become. It may find only threads that
// have just run, which it leaves alone: then it looks again after the shortest interval, and takes even those when
// kCacheNiceTries looks more have failed.
Time Balancer::longest_idle_beside_waiting() const {
  if (is_work_conserving()) return Time{0};
  const Time first_look = round_up(longest_interval(cores_.size()), config_.tick());
  return first_look + (kCacheNiceTries + 1) * round_up(shortest_interval(cores_.size()), config_.tick());
}

void Balancer::check() const {
  check_fifo();
  for (const auto& idle : cores_) {
    if (!idle->idle()) continue;
    for (const auto& core : cores_) {
      const Execution* waiting = find_movable(*core, /*even_hot=*/true);
      if (waiting == nullptr && is_work_conserving()) waiting = core->movable_fifo();
      if (waiting == nullptr) continue;
      const Time beside = context_.now() - std::max(idle->idle_since(), waiting->entity.waits_since);
      if (beside <= longest_idle_beside_waiting()) continue;
      throw std::logic_error(fmt::format("core {} has been idle for {} ns while thread {} waited for core {}",
                                         idle->number(), beside / Time{1ns}, waiting->name(), core->number()));
    }
  }
}

// Of FIFO threads the rules allow none to wait behind its like beside a core without, not for an instant.
void Balancer::check_fifo() const {
  const Core* without = first_without_fifo();
  if (without == nullptr) return;
  for (const auto& core : cores_) {
    const Execution* waiting = core->runs_fifo() ? core->movable_fifo() : nullptr;
    if (waiting == nullptr) continue;
    throw std::logic_error(fmt::format("FIFO thread {} waits behind its like for core {}, and core {} has none",
                                       waiting->name(), core->number(), without->number()));
  }
}

// get_sd_balance_interval(). Linux's upper bound, 100 ms for each core, is never reached.
Time Balancer::time_between_looks(const Core& core) const {
  const Time tick = config_.tick();
  if (core.idle()) return round_up(core.balance.interval, tick);
  const Time busy = round_up(core.balance.interval * rules_.busy_factor, tick);
  return rules_.busy_off_beat ? std::max(busy - tick, tick) : busy;
}

// rebalance_domains(); for idle cores a busy one has it done (nohz_idle_balance).
void Balancer::balance(Core& core) {
  const Time shortest = shortest_interval(cores_.size());
  const Time longest = longest_interval(cores_.size());
  Core::Balance& b = core.balance;
  b.interval = std::clamp(b.interval, shortest, longest);
  if (b.last >= Time{0} && context_.now() < b.last + time_between_looks(core)) return;
  b.last = context_.now();
  if (busiest(core) == nullptr) {
    b.failed = 0;
    b.interval = std::min(2 * b.interval, longest);
    return;
  }
  b.failed = pull(core, b.failed > kCacheNiceTries) ? 0 : b.failed + 1;
  b.interval = shortest;
}

// The core with the most threads, if one of those that wait may leave it and is better off here.
Core* Balancer::busiest(const Core& to) const {
  Core* found = nullptr;
  for (const auto& core : cores_) {
    const bool better_off = to.idle() || core->runnable() > to.runnable() + 1;
    if (core.get() == &to || !better_off || find_movable(*core, /*even_hot=*/true) == nullptr) continue;
    if (found == nullptr || core->runnable() > found->runnable()) found = core.get();
  }
  return found;
}

// can_migrate_task(): of the threads that wait, may run elsewhere and are no longer in their core's cache, the one that
// has waited longest.
Execution* Balancer::find_movable(const Core& from, bool even_hot) const {
  Execution* found = nullptr;
  for (Execution* thread : from.fair().threads()) {
    if (thread == from.current() || thread->bound_) continue;
    const SchedEntity& entity = thread->entity;
    const bool hot = entity.last_ran >= Time{0} && context_.now() - entity.last_ran < config_.migration_cost;
    if (hot && !even_hot) continue;
    if (found == nullptr || entity.waits_since < found->entity.waits_since) found = thread;
  }
  return found;
}

bool Balancer::pull(Core& to, bool even_hot) {
  Core* from = rules_.pulls ? busiest(to) : nullptr;
  Execution* thread = from != nullptr ? find_movable(*from, even_hot) : nullptr;
  if (thread == nullptr) return false;
  take_over(*thread, to);
  return true;
}

}  // namespace faultline::cpu
