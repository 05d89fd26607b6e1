// SPDX-License-Identifier: Apache-2.0
// Parameters of the NIC with an MMU of its own. README.md says what is published of it.
#pragma once

#include <cstdint>

#include "models/nic/path/config.hpp"
#include "models/sim/parameters.hpp"

namespace faultline::elan {

using namespace std::chrono_literals;
using sim::Time;

struct ElanConfig : nic::PathConfig {
  ElanConfig();

  unsigned table_entries = 65536;  // of all processes; an entry is a page of 4 KiB or a block of 2 MiB
  unsigned mmu_lookup = 4;         // cycles, of each burst
  unsigned mmu_refusal = 4;        // cycles on top, until a burst without an entry has its error response
  // A source whose block was refused waits so long before it sends it again: the first time; twice as long after each
  // further refusal of the block; at most so long.
  Time nak_back_off = 5us;
  Time nak_back_off_limit = 80us;
  unsigned nak_limit = 1024;  // refusals of one block; a further one ends its transfer with an error

  // False are mutants, for tests.
  bool waits_for_accesses = true;  // a drain waits for accesses under way
  bool doubles_back_off = true;

  // Declares every field above but the mutants, in the group "elan".
  void declare(sim::ParameterTable& table);
};

}  // namespace faultline::elan
