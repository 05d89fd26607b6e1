// SPDX-License-Identifier: Apache-2.0
// What the cores show: counters that are results, parts that may be busy.
#pragma once

#include "models/sim/instruments.hpp"
#include "models/sim/statistics.hpp"

namespace faultline::cpu {

inline constexpr sim::CounterMetric kMetrics[] = {
    {"cpu.time_user", "cpu_time_user", "us", 1e-6, "CPU time in user code, without polling"},
    {"cpu.time_system", "cpu_time_system", "us", 1e-6, "CPU time in system calls, faults and context switches"},
    {"cpu.time_irq", "cpu_time_irq", "us", 1e-6, "CPU time in interrupt handlers"},
    {"cpu.time_softirq", "cpu_time_softirq", "us", 1e-6, "CPU time in tasklets"},
    {"cpu.time_polling", "cpu_time_polling", "us", 1e-6, "CPU time spent polling for completions and messages"},
};

inline constexpr sim::BusyPart kCoreBusy{
    .metric = "utilisation_core",
    .description =
        "share of the measured time for which an application core did anything but spin: the busiest core of the nodes "
        "at which transfers begin or end",
    .called = "the busiest core",
    .software = true};

}  // namespace faultline::cpu
