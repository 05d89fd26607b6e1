// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/sched_config.hpp"

#include <algorithm>
#include <bit>

namespace faultline::cpu {

using sim::Standing;
using sim::Time;

namespace {

constexpr const char* kFair = "Linux, kernel/sched/fair.c";

}  // namespace

void SchedConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("sched");
  declare_rules(table);
  declare_times(table);
}

void SchedConfig::declare_rules(sim::ParameterTable& table) {
  table.add_choice("policy", policy,
                   {{"kernel", SchedPolicy::kernel},
                    {"cfs", SchedPolicy::cfs},
                    {"eevdf", SchedPolicy::eevdf},
                    {"work-conserving", SchedPolicy::work_conserving}},
                   {"how threads share cores: as the kernel's version has it (CFS before 6.6, EEVDF since), or one of "
                    "the two by name; work-conserving is no kernel's: CFS in which no core idles beside a thread that "
                    "waits",
                    "", Standing::setting});
  table.add_choice(
      "preemption", preemption,
      {{"none", Preemption::none}, {"voluntary", Preemption::voluntary}, {"full", Preemption::full}},
      {"where kernel code gives way to another thread that is due: at cond_resched() and on its way to user mode "
       "(none), also at might_sleep() (voluntary), anywhere (full)",
       "default of kernel/Kconfig.preempt, which Xilinx's zynqmp defconfig does not change (arm64's defconfig: full)",
       Standing::published});
  table.add_count("hz", hz, {1u, 1'000'000u},
                  {"timer ticks a second (CONFIG_HZ): time slices end, and idle cores look for work, at ticks",
                   "arm64's default; Xilinx's zynqmp defconfig does not change it", Standing::published});
  table.add_choice("tunable_scaling", tunable_scaling,
                   {{"none", TunableScaling::none},
                    {"logarithmic", TunableScaling::logarithmic},
                    {"linear", TunableScaling::linear}},
                   {"factor of sched.latency, min_granularity, wakeup_granularity and base_slice: 1, 1 + log2 of the "
                    "cores (8 at most), or the cores (sched_tunable_scaling)",
                    kFair, Standing::published});
}

void SchedConfig::declare_times(sim::ParameterTable& table) {
  // Turns are not 0 long: threads would give way to each other for ever in no time.
  table.add_time("latency", latency, {1us, 10s},
                 {"CFS: period in which each of up to 8 waiting threads runs once, before scaling (sched_latency_ns)",
                  kFair, Standing::published});
  table.add_time("min_granularity", min_granularity, {1us, 10s},
                 {"CFS: shortest turn of a thread that others wait for, before scaling (sched_min_granularity_ns)",
                  kFair, Standing::published});
  table.add_time("wakeup_granularity", wakeup_granularity, sim::kAnyTime,
                 {"CFS: a thread that wakes takes the core from one whose virtual runtime is ahead by more than this, "
                  "before scaling (sched_wakeup_granularity_ns)",
                  kFair, Standing::published});
  table.add_time("base_slice", base_slice, {1us, 10s},
                 {"EEVDF: turn of a thread, before scaling (base_slice_ns)", kFair, Standing::published});
  table.add_time("migration_cost", migration_cost, sim::kAnyTime,
                 {"a thread that has run within this time is not pulled to another core; before 5.16 a core that is "
                  "idle for less on average does not look for threads to pull (sched_migration_cost_ns)",
                  kFair, Standing::published});
  table.add_time("newidle_cost", newidle_cost, sim::kAnyTime,
                 {"since 5.16 a core that is idle for less than this on average does not look for threads to pull "
                  "(max_newidle_lb_cost, which Linux measures)",
                  "assumed: a look at each of four run queues",
                  Standing::assumed,
                  {"5 us", "100 us"}});
}

// get_update_sysctl_factor()
SchedConfig SchedConfig::scaled_for(unsigned cores) const {
  const unsigned counted = std::min(cores, 8u);
  unsigned factor = 1;
  if (tunable_scaling == TunableScaling::logarithmic) factor = static_cast<unsigned>(std::bit_width(counted));
  if (tunable_scaling == TunableScaling::linear) factor = counted;
  SchedConfig scaled = *this;
  for (Time* time : {&scaled.latency, &scaled.min_granularity, &scaled.wakeup_granularity, &scaled.base_slice}) {
    *time *= static_cast<std::int64_t>(factor);
  }
  return scaled;
}

}  // namespace faultline::cpu
