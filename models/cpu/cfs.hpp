// SPDX-License-Identifier: Apache-2.0
// Linux's fair class before 6.6: the thread that has had least goes first (kernel/sched/fair.c, CFS).
// Left out: buddies, and groups of threads. The feature NEXT_BUDDY is off, but a thread that takes the core at its
// wake-up is still marked as the next one (check_preempt_wakeup). It then goes before another that has had less by no
// more than the wake-up granularity; here that other goes first. LAST_BUDDY likewise favours the thread that has lost
// the core, if eight or more are runnable.
#pragma once

#include "models/cpu/fair_queue.hpp"

namespace faultline::cpu {

class Cfs : public FairQueue {
 public:
  Cfs(const SchedConfig& config, bool slice_floor) : FairQueue(config), slice_floor_(slice_floor) {}

  void leave_for_another(SchedEntity& entity) const override { entity.vruntime -= min_vruntime_; }
  void come_from_another(SchedEntity& entity) const override { entity.vruntime += min_vruntime_; }
  bool turn_is_over() override;

 private:
  void place(SchedEntity& entity, Arrival how) override;
  void after_removal() override { update_min_vruntime(); }
  Execution& choose() const override;
  bool preempts(const Execution& woken) const override;
  void advanced(SchedEntity&) override { update_min_vruntime(); }
  void update_min_vruntime();
  sim::Time slice(const SchedEntity& entity) const;
  // Null: there is nobody else.
  Execution* least(const Execution* except) const;

  const bool slice_floor_;
  sim::Time min_vruntime_{0};  // of the queue, and never less than it was
};

}  // namespace faultline::cpu
