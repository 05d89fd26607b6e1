// SPDX-License-Identifier: Apache-2.0
// Parameters of the scheduler, with Linux's names and defaults where Linux has them: /proc/sys/kernel/sched_* before
// 5.13, /sys/kernel/debug/sched/* since.
#pragma once

#include <cstdint>

#include "models/sim/parameters.hpp"
#include "models/sim/time.hpp"

namespace faultline::cpu {

using namespace std::chrono_literals;

enum class SchedPolicy : std::uint8_t {
  kernel,           // what the kernel's version has: CFS before 6.6, EEVDF since
  cfs,              // virtual runtimes
  eevdf,            // virtual deadlines of those who have not had more than their share
  work_conserving,  // not Linux's: CFS, and no core ever idles beside a thread that may run there
};

enum class Preemption : std::uint8_t { none, voluntary, full };  // CONFIG_PREEMPT_NONE, _VOLUNTARY, CONFIG_PREEMPT
enum class TunableScaling : std::uint8_t { none, logarithmic, linear };  // sched_tunable_scaling

struct SchedConfig {
  SchedPolicy policy = SchedPolicy::kernel;
  Preemption preemption = Preemption::none;
  unsigned hz = 250;
  TunableScaling tunable_scaling = TunableScaling::logarithmic;
  sim::Time latency = 6ms;
  sim::Time min_granularity = 750us;
  sim::Time wakeup_granularity = 1ms;
  sim::Time base_slice = 750us;
  sim::Time migration_cost = 500us;
  sim::Time newidle_cost = 20us;

  void declare(sim::ParameterTable& table);  // under "sched."

  // Times above that Linux multiplies by a factor that grows with the number of cores, as it does at boot.
  SchedConfig scaled_for(unsigned cores) const;
  sim::Time tick() const { return sim::Time{1s} / static_cast<std::int64_t>(hz); }

 private:
  void declare_rules(sim::ParameterTable& table);
  void declare_times(sim::ParameterTable& table);
};

}  // namespace faultline::cpu
