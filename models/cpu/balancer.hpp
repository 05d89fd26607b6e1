// SPDX-License-Identifier: Apache-2.0
// Which core a thread runs on: Linux's choice at wake-ups (select_task_rq_fair), what a core that becomes idle pulls
// (newidle_balance), and what the timer's tick moves (trigger_load_balance). All cores share a cache: one domain.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/cpu/core.hpp"
#include "models/cpu/sched_rules.hpp"
#include "models/sim/context.hpp"

namespace faultline::cpu {

class Balancer {
 public:
  Balancer(const SchedConfig& config, const SchedRules& rules, const sim::Context& context,
           const std::vector<std::unique_ptr<Core>>& cores, sim::Counter& pulls);

  // Chooses the core of a thread that has slept and has a request now. `waker`: the interrupt that has woken the
  // thread, if one has. True: the thread has changed cores.
  bool wake_up(Execution& thread, const std::optional<Waker>& waker);
  // The core on which a new thread begins: the first idle one from `wanted` on, else the one with fewest threads.
  unsigned core_for_new(unsigned wanted) const;
  void newly_idle(Core& core);
  // A FIFO thread gets the core: those that wait behind it go to cores without one.
  void push_fifo(Core& from);
  // The core's last FIFO thread has gone to sleep: one that waits behind its like elsewhere comes.
  void pull_fifo(Core& to);
  // To be called when a thread may be waiting: the next tick balances. Ticks that would find no waiting thread are left
  // out.
  void look_at_tick();

 private:
  void tick();
  void balance(Core& core);
  sim::Time time_between_looks(const Core& core) const;
  void fill_idle_cores();
  // Throws std::logic_error when a core has been idle beside a waiting thread for longer than the rules allow: a bug of
  // ours.
  void check() const;
  void check_fifo() const;
  unsigned choose(const Execution& thread, const std::optional<Waker>& waker) const;
  unsigned last_core_or_wakers(const Execution& thread, const Waker& waker) const;
  unsigned choose_for_fifo(const Execution& thread, const std::optional<Waker>& waker) const;
  std::optional<unsigned> first_idle(unsigned from) const;
  Core* first_without_fifo() const;
  Execution* movable_fifo(const Core& from) const;
  bool pull(Core& to, bool even_hot);
  Core* busiest(const Core& to) const;
  Execution* find_movable(const Core& from, bool even_hot) const;
  void take_over(Execution& thread, Core& to);
  void move(Execution& thread, unsigned to) const;
  bool is_work_conserving() const { return config_.policy == SchedPolicy::work_conserving; }
  sim::Time longest_idle_beside_waiting() const;

  const SchedConfig& config_;
  const SchedRules& rules_;
  const sim::Context& context_;
  const std::vector<std::unique_ptr<Core>>& cores_;
  sim::Counter& pulls_;
  const sim::Port port_;
  bool armed_ = false;
};

}  // namespace faultline::cpu
