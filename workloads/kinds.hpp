// SPDX-License-Identifier: Apache-2.0
// The kinds of workload that there are: the values of workload.kind. Each has a folder beside this file (transfers/ and
// patterns/ have three each) and an entry in one list (kinds.cpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/configuration_checks.hpp"
#include "workloads/ignored_settings.hpp"
#include "workloads/needs.hpp"
#include "workloads/program.hpp"

namespace faultline::workloads {

struct WorkloadKind {
  std::string name;  // as workload.kind has it
  std::string description;
  // Adds the conflicts that there are only where this kind is chosen.
  void (*check)(const Configuration& configuration, const AddConflict& add);
  // What its processes need of their nodes, and the settings of the groups `workload` and `reuse` that decide that.
  std::vector<Need> (*needs)(const Configuration& configuration);
  std::vector<std::string> keys_of_needs = {};
  // How much there is to simulate, as work_of().
  double (*work)(const Configuration& configuration);
  std::unique_ptr<Program> (*make)(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);
  // Settings of the group `workload` that it does not look at.
  Ignored ignored;
  // It measures as long as other programs do.
  bool goes_with_others = false;
  // One initiator and one target, which no other node is: the CPU time of each is a metric.
  bool has_two_ends = false;
  // Transfers arrive as workload.arrivals says.
  bool arrives = false;
  // Transfers meet others on their way, whatever workload.window says: several nodes send at a time.
  bool meets_others = false;
  // inject.* happens to its buffers.
  bool takes_injections = false;
  // Its absent pages may be of any kind: workload.cold_source_kind and .cold_destination_kind.
  bool puts_pages_away = false;
  // For the message of a run that takes too long: what is counted ("3 of 20 transfers are done"), and the parameters
  // that decide how long it takes.
  const char* measures = "transfers";
  std::vector<std::string> keys_of_length = {"workload.iterations"};
  // It transfers something, so that parameters of the NIC decide how long it takes, too.
  bool transfers = true;
  // What it measures are messages between ranks, or calls made of them; transfers carry these.
  bool sends_messages = false;
  // Metrics that no other kind has: those of Program::own_metrics().
  std::vector<MetricDoc> metrics = {};
};

// In the order in which they are shown; the first is the default.
const std::vector<WorkloadKind>& workload_kinds();
const WorkloadKind& kind_of(const TransferConfig& workload);

}  // namespace faultline::workloads
