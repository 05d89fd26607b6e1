// SPDX-License-Identifier: Apache-2.0
// What the scheduler does differently in different kernels.
#pragma once

#include "models/cpu/kernel.hpp"

namespace faultline::cpu {

struct SchedRules {
  bool eevdf = false;                   // instead of CFS
  bool wakes_at_interrupt_core = true;  // an interrupt takes the thread that it wakes to its own core, if that is idle
  bool newidle_by_cost = false;         // sched.newidle_cost, not sched.migration_cost, bounds looks for work
  unsigned busy_factor = 32;            // cores that are not idle look for work at the tick so much less often
  bool busy_off_beat = false;           // and a tick earlier than that
  bool slice_floor = false;             // CFS: no turn ends before sched.min_granularity (BASE_SLICE)
  bool equal_deadlines_yield = false;   // EEVDF: of equal deadlines that of a waiting thread goes first
  bool preempt_short = false;  // EEVDF: beyond its first slice a turn ends when a look finds more than its share
  bool pulls = true;           // false in no kernel: cores never take fair threads from each other
  bool moves_fifo = true;      // false in no kernel: waiting FIFO threads stay on their core

  static SchedRules of(const Kernel& kernel) {
    return {.eevdf = kernel.has(Change::eevdf),
            .wakes_at_interrupt_core = !kernel.has(Change::wakes_on_last_core),
            .newidle_by_cost = kernel.has(Change::newidle_by_cost),
            .busy_factor = kernel.has(Change::busy_factor_16) ? 16U : 32U,
            .busy_off_beat = kernel.has(Change::busy_off_beat),
            .slice_floor = kernel.has(Change::base_slice_floor),
            .equal_deadlines_yield = kernel.has(Change::equal_deadlines_yield),
            .preempt_short = kernel.has(Change::preempt_short)};
  }
};

}  // namespace faultline::cpu
