// SPDX-License-Identifier: Apache-2.0
// The kinds of workload that there are: a folder each beside this file, named in one list (kinds.cpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/benchmark.hpp"
#include "workloads/configuration_checks.hpp"
#include "workloads/ignored_settings.hpp"

namespace faultline::workloads {

struct WorkloadKind {
  const char* name;  // as workload.kind has it
  std::string description;
  // What contradicts each other where this kind is chosen.
  void (*check)(const Configuration& configuration, const AddConflict& add);
  // How much there is to simulate, as work_of().
  double (*work)(const Configuration& configuration);
  std::unique_ptr<Benchmark> (*make)(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);
  // Settings of the group `workload` that it does not look at.
  Ignored ignored;
  // One initiator and one target, which no other node is: the CPU time of each is a metric.
  bool has_two_ends = false;
  // Transfers arrive as workload.arrivals says.
  bool arrives = false;
  // Several transfers are under way at a time, whatever workload.window says.
  bool meets_others = false;
  // inject.* happens to its buffers.
  bool takes_injections = false;
  // Its absent pages may be of any kind: workload.cold_source_kind and .cold_destination_kind.
  bool puts_pages_away = false;
  // What it measures, as a message counts it; parameters that decide how long that takes; and whether it transfers
  // anything, so that those of the NIC decide it, too.
  const char* measures = "transfers";
  std::vector<std::string> keys_of_length = {"workload.iterations"};
  bool transfers = true;
  // Metrics that no other kind has: those of Benchmark::own_metrics().
  std::vector<MetricDoc> metrics = {};
};

// In the order in which they are shown; the first is the default.
const std::vector<WorkloadKind>& workload_kinds();
const WorkloadKind& kind_of(const TransferConfig& workload);

}  // namespace faultline::workloads
