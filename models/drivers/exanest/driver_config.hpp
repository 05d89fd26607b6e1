// SPDX-License-Identifier: Apache-2.0
// Costs and settings of the kernel's half of the fault path: the tasklet, netlink, the call that resumes.
#pragma once

#include "models/drivers/library/config.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/time.hpp"

namespace faultline::exanest {

using namespace std::chrono_literals;

struct DriverConfig : library::EventConfig {
  sim::Time netlink_send = 4300ns;
  sim::Time netlink_receive = 7800ns;
  sim::Time resume_call = 500ns;
  unsigned netlink_socket_records = 256;

  void declare(sim::ParameterTable& table);
};

}  // namespace faultline::exanest
