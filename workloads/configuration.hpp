// SPDX-License-Identifier: Apache-2.0
// Everything that one point of an experiment is made of.
#pragma once

#include <string>
#include <vector>

#include "models/messages/message_config.hpp"
#include "models/messages/socket.hpp"
#include "models/platform/machine.hpp"
#include "models/rdma/strategy.hpp"
#include "workloads/background.hpp"
#include "workloads/collective/collective_config.hpp"
#include "workloads/injection.hpp"
#include "workloads/program_settings.hpp"
#include "workloads/reuse/reuse_config.hpp"
#include "workloads/transfer_config.hpp"

namespace faultline::workloads {

// Time series of a point: workloads/time_series.hpp.
struct SeriesConfig {
  sim::Time period{0};
  unsigned samples = 1000;

  void declare(sim::ParameterTable& table);
};

struct Configuration {
  platform::Machine machine;
  rdma::Strategy strategy;
  TransferConfig workload;
  InjectionConfig inject;
  BackgroundConfig background;
  SeriesConfig series;
  ReuseConfig reuse;
  messages::MessageConfig messages;
  messages::SocketConfig socket;
  CollectiveConfig collective;
  ProgramSettings programs;
  std::string program_name;    // of a program with a name: whose configuration it is
  bool beside_others = false;  // there are further programs in the run

  void declare(sim::ParameterTable& table);
};

// What each program of a run has, by itself; of a run that names none there is one.
std::vector<Configuration> configurations_of_programs(const Configuration& run);

}  // namespace faultline::workloads
