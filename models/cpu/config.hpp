// SPDX-License-Identifier: Apache-2.0
// Parameters of the application cores. Software costs of all rooms are stated at one clock, stated_clock.
#pragma once

#include "models/cpu/kernel.hpp"
#include "models/cpu/sched_config.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/time.hpp"

namespace faultline::cpu {

using namespace std::chrono_literals;

struct CpuConfig {
  unsigned cores = 4;
  sim::Frequency clock{1'200'000'000};
  sim::Frequency stated_clock{1'200'000'000};
  double jitter = 0.0;
  sim::Time context_switch = 3500ns;
  unsigned interrupt_core = 0;
  sim::Time irq_to_handler = 3800ns;
  sim::Time tasklet_delay = 2800ns;
  sim::Time ipi_send = 150ns;
  sim::Time ipi_to_handler = 1us;
  sim::Time poll_latency = 145ns;
  sim::Time mmio_read = 300ns;
  sim::Time mmio_write = 60ns;
  Kernel kernel;  // not declared here: os.kernel, which models/platform hands on
  SchedConfig sched;

  void declare(sim::ParameterTable& table);
};

}  // namespace faultline::cpu
