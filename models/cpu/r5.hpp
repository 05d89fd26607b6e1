// SPDX-License-Identifier: Apache-2.0
// The Cortex-R5 that runs the DMA engine's firmware: one core, one thing at a time, no pre-emption.
#pragma once

#include <systemc>

#include "models/sim/context.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/task.hpp"
#include "models/sim/time_sequence.hpp"

namespace faultline::cpu {

struct R5Config {
  sim::Frequency clock{500'000'000};

  void declare(sim::ParameterTable& table);
};

class R5Core : public sc_core::sc_module {
 public:
  // The clock at which firmware costs are stated.
  static constexpr sim::Frequency kReferenceClock{500'000'000};

  R5Core(sc_core::sc_module_name name, const R5Config& config, const sim::Context& context);

  // Occupies the core for a cost stated at the reference clock, after everything that asked earlier.
  // `what` names the work in timelines: a literal.
  sim::Task<void> run(sim::Time at_reference_clock, const char* what = "firmware");
  sim::Time scaled(sim::Time at_reference_clock) const;
  // For how long the core has worked, up to now.
  sim::Time busy() const;

 private:
  R5Config config_;
  const sim::Context& context_;
  sim::SerialServer core_;
  sim::Counter& busy_;
};

}  // namespace faultline::cpu
