// SPDX-License-Identifier: Apache-2.0
// What a point's samples and counters come to: its metrics, with unit and description.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "models/os/vm/vm.hpp"
#include "models/platform/cluster.hpp"
#include "models/platform/instruments.hpp"
#include "workloads/background.hpp"
#include "workloads/configuration.hpp"
#include "workloads/experiment_point.hpp"
#include "workloads/programs.hpp"
#include "workloads/time_series.hpp"
#include "workloads/utilisation.hpp"

namespace faultline::workloads {

// The counters at an instant.
struct Snapshot {
  std::map<std::string, std::uint64_t> totals;
  bool has_two_ends = false;
  std::uint64_t cpu_initiator = 0;  // ps, without polling; where there are two ends
  std::uint64_t cpu_target = 0;
  std::vector<platform::BusyTime> busy;
  std::vector<sim::Level::Area> pinned;  // by node
};
Snapshot snapshot(platform::Cluster& cluster, const Configuration& run);
os::MemInfo meminfo(platform::Cluster& cluster);  // of all nodes together; walks all frames

// When the measured transfers began and when they had ended.
struct Measured {
  Snapshot before;
  Snapshot after;
  os::MemInfo memory;  // when they had ended
  os::Process::Faults background;
  std::uint64_t of(const std::string& counter) const { return after.totals.at(counter) - before.totals.at(counter); }
};

// Of the faults, those of this cause.
inline std::string metric_of(const os::FaultCauseDoc& cause) { return std::string("faults_") + cause.name; }

PointResult collect(const Configuration& configuration, platform::Cluster& cluster, const Programs& programs,
                    const Measured& measured, const Background& background, const TimeSeries& series);

}  // namespace faultline::workloads
