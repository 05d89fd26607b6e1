// SPDX-License-Identifier: Apache-2.0
// The kinds of workload that there are: a folder each beside this file, named in one list (kinds.cpp).
#pragma once

#include <memory>
#include <vector>

#include "workloads/benchmark.hpp"
#include "workloads/configuration_checks.hpp"

namespace faultline::workloads {

struct WorkloadKind {
  Kind kind;
  const char* name;  // as workload.kind has it
  const char* description;
  // What contradicts each other where this kind is chosen.
  void (*check)(const Configuration& configuration, const AddConflict& add);
  // How much there is to simulate, as work_of().
  double (*work)(const Configuration& configuration);
  std::unique_ptr<Benchmark> (*make)(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);
  // Metrics that no other kind has: those of Benchmark::own_metrics().
  std::vector<MetricDoc> metrics = {};
};

// In the order in which they are shown.
const std::vector<WorkloadKind>& workload_kinds();
const WorkloadKind& kind_of(const Configuration& configuration);

}  // namespace faultline::workloads
