// SPDX-License-Identifier: Apache-2.0
// Parameters of the PLDMA engine, its mailbox and its R5 firmware.
#pragma once

#include <cstdint>

#include "models/cpu/r5.hpp"
#include "models/nic/path/config.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/time.hpp"

namespace faultline::exanest {

using namespace std::chrono_literals;
using sim::Time;

struct EngineConfig : nic::PathConfig {
  // Firmware.
  Time retransmit_processing = 3400ns;
  unsigned refault_limit = 64;  // retransmission requests obeyed for one block
  bool rapf_enabled = true;
  double rapf_loss = 0.0;  // share of remote RAPFs that vanish before the R5 sees them

  cpu::R5Config r5;

  // Declares every field above but the clock, the neighbours and the mutant (r5 through R5Config::declare).
  void declare(sim::ParameterTable& table);
};

}  // namespace faultline::exanest
