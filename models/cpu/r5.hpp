// SPDX-License-Identifier: Apache-2.0
// The Cortex-R5 that runs the DMA engine's firmware: one core, one thing at a time, no pre-emption.
#pragma once

#include <systemc>

#include "models/cpu/clock_scaling.hpp"
#include "models/sim/context.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/task.hpp"
#include "models/sim/time_sequence.hpp"

namespace faultline::cpu {

struct R5Config {
  sim::Frequency clock{500'000'000};
  sim::Frequency stated_clock{500'000'000};

  void declare(sim::ParameterTable& table);
};

class R5Core : public sc_core::sc_module {
 public:
  R5Core(sc_core::sc_module_name name, const R5Config& config, const sim::Context& context);

  // Occupies the core for a cost stated at r5.stated_clock, after everything that asked earlier.
  // `what` names the work in timelines: a literal.
  sim::Task<void> run(sim::Time stated, const char* what = "firmware");
  sim::Time scaled(sim::Time stated) const { return scaled_(stated); }
  // For how long the core has worked, up to now.
  sim::Time busy() const;

 private:
  ClockScaling scaled_;
  const sim::Context& context_;
  sim::SerialServer core_;
  sim::Counter& busy_;
};

}  // namespace faultline::cpu
