// SPDX-License-Identifier: Apache-2.0
// Costs of the software of the NIC with an MMU of its own.
#pragma once

#include "models/drivers/library/config.hpp"
#include "models/sim/parameters.hpp"

namespace faultline::elan {

using namespace std::chrono_literals;

struct DriverConfig : library::EventConfig {
  sim::Time trap_handler = 400ns;  // of the interrupt, besides its register accesses
  sim::Time trap_service = 700ns;  // of one trap by the driver's thread, besides the fault and register accesses
  sim::Time load = 150ns;          // of one entry, besides its two register writes
  sim::Time unload = 100ns;        // of one entry that goes, besides its register write
  sim::Time push_delay = 5us;      // until the driver's thread loads what no fault has loaded

  // Mutants, for tests, where false: the driver does not hear of changes of the process's table; it loads pages whose
  // change it has heard of and that is not over; it lets the NIC try pages again that cannot be brought.
  bool hears_changes = true;
  bool awaits_changes = true;
  bool gives_up = true;

  void declare(sim::ParameterTable& table);  // in the group "elan_driver"
};

struct LibraryConfig : library::LibraryConfig {
  LibraryConfig();
  void declare(sim::ParameterTable& table);  // in the group "elan_library"
};

}  // namespace faultline::elan
