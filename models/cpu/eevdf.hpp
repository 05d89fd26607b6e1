// SPDX-License-Identifier: Apache-2.0
// Linux's fair class since 6.6: of the threads that have not had more than their share the one with the earliest
// virtual deadline (kernel/sched/fair.c, EEVDF, with PLACE_LAG, RUN_TO_PARITY and since 6.12 PREEMPT_SHORT).
// Left out: DELAY_DEQUEUE (a thread that sleeps while it owes time stays queued until it does not; here it goes on
// owing), slices of single threads (the part of PREEMPT_SHORT that compares slices), PLACE_REL_DEADLINE (6.12: a thread
// that is moved keeps the time to its deadline; here it gets a whole slice, as in 6.6), groups of threads.
#pragma once

#include "models/cpu/fair_queue.hpp"

namespace faultline::cpu {

class Eevdf : public FairQueue {
 public:
  Eevdf(const SchedConfig& config, const SchedRules& rules)
      : FairQueue(config), equal_deadlines_yield_(rules.equal_deadlines_yield), preempt_short_(rules.preempt_short) {}

  bool turn_is_over() override { return look_at_current(); }

 private:
  void place(SchedEntity& entity, Arrival how) override;
  void before_removal(SchedEntity& entity) override;
  Execution& choose() const override;
  void chosen(SchedEntity& entity, bool again) override;
  bool look_at_current() override;
  bool preempts(const Execution& woken) const override;

  // The mean of the threads' virtual times, weighted: from + sum / weights. Kept as a fraction, so that comparing it
  // with one thread's virtual time rounds nothing.
  struct Mean {
    sim::Time from;  // what `sum` counts from
    std::int64_t sum;
    std::int64_t weights;
    sim::Time value() const;  // rounded down
  };
  Mean mean() const;
  bool is_eligible(const SchedEntity& entity) const;
  sim::Time slice(const SchedEntity& entity) const { return virtual_time(config().base_slice, entity); }

  const bool equal_deadlines_yield_;
  const bool preempt_short_;
  sim::Time last_mean_{0};  // of the queue when somebody left it last
};

}  // namespace faultline::cpu
