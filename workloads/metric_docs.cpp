// SPDX-License-Identifier: Apache-2.0
// What is said of metrics: units and descriptions of all that a point can have, and which of them count or add up.
#include <algorithm>
#include <iterator>
#include <utility>

#include "models/platform/instruments.hpp"
#include "models/platform/nics.hpp"
#include "models/rdma/registration/list.hpp"
#include "workloads/experiment_point.hpp"
#include "workloads/kinds.hpp"
#include "workloads/point_metrics.hpp"
#include "workloads/utilisation.hpp"

namespace faultline::workloads {

using sim::CounterMetric;

bool is_counter(std::string_view name) {
  const auto is_it = [name](const CounterMetric& c) { return c.metric == name; };
  if (std::ranges::any_of(platform::counter_metrics(), is_it)) return true;
  for (const auto& policy : rdma::registration_policies()) {
    if (std::ranges::any_of(policy->metrics(), is_it)) return true;
  }
  return std::ranges::any_of(platform::nic_kinds(),
                             [&](const auto& kind) { return std::ranges::any_of(kind->metrics(), is_it); });
}

bool is_sum_over_programs(std::string_view name) {
  return name == "transfers" || name == "transfers_failed" || name == "data_errors" || name == "other_data_errors";
}

std::string_view metric_in_program(std::string_view name) { return name.substr(name.find('.') + 1); }

namespace {

// Several kinds of workload, or registrations, may have a metric in common.
void add_once(std::vector<MetricDoc>& docs, MetricDoc doc) {
  if (std::ranges::find(docs, doc.name, &MetricDoc::name) == docs.end()) docs.push_back(std::move(doc));
}

// Of what a program's transfers came to.
std::vector<MetricDoc> program_docs() {
  std::vector<MetricDoc> docs{
      {"latency_min", "us", "shortest transfer: from the program's first step for it to its last"},
      {"latency_typical", "us", "median transfer"},
      {"latency_mean", "us",
       "mean over the measured transfers; what the target does after the last step (unpinning) is in goodput only"},
      {"latency_p99", "us", "99th percentile (nearest rank)"},
      {"latency_max", "us", "longest transfer"},
      {"goodput", "MB/s",
       "bytes of completed transfers over the time from the first begin to the last end, less drawn pauses "
       "(workload.start_spread); not there where no bytes move. Kind collective: bytes that each rank gets of the "
       "others' data, which are workload.size of a broadcast, but for its root, and of an allreduce, and so much from "
       "each other rank of an all-to-all; a barrier moves none"},
      {"goodput_peak", "MB/s", "the larger of goodput and the rate of the fastest single transfer"},
      {"clean_goodput", "MB/s", "bytes of the clean transfers beside the measured ones, per time"},
      {"latency_cold", "us",
       "mean of the transfers before which pages were made absent, where not all are (cold_every)"},
      {"latency_warm", "us", "mean of the others: their buffers are as the transfer before has left them"},
      {"queueing_mean", "us",
       "of an open loop: mean time from a transfer's arrival until its program begins it, a part "
       "of its latency"},
      {"kernel_cost", "us",
       "kind kernel-cost: what the program prints for one switch, call, process or page; its rounds are the transfers, "
       "and the bytes that they move are in goodput"},
      {"transfers", "1", "transfers measured"},
      {"transfers_failed", "1", "of these, ended with an error completion"},
      {"injections", "1", "injections that came to pass, one for each buffer of a window"},
      {"injected_pages", "1",
       "4 KiB pages that they changed for good while transfers were under way: moved, merged, dropped; 0: all undone"},
      {"transfers_delayed", "1", "transfers that took longer than the fastest one, by more than 1 us and 1 %"},
      {"delay_max", "us", "by how much the longest transfer took longer than the fastest one"},
      {"setup_time", "us", "preparation done once for the buffers, before the transfers (not in the latencies)"},
      {"teardown_time", "us",
       "unlocking and unpinning of the buffers after the last transfer (not in the latencies); of ranks: until the "
       "last "
       "process has ended"},
      {"data_errors", "1", "measured transfers whose data arrived wrong"},
      {"other_data_errors", "1",
       "transfers that are not measured (warm-up, clean) whose data arrived wrong; not there where there are none"},
  };
  for (const WorkloadKind& kind : workload_kinds()) {
    for (const MetricDoc& doc : kind.metrics) add_once(docs, doc);
  }
  for (MetricDoc& doc : docs) doc.of_program = true;
  return docs;
}

}  // namespace

std::vector<MetricDoc> metric_docs() {
  std::vector<MetricDoc> docs = program_docs();
  docs.insert(
      docs.end(),
      {
          {"background_accesses", "1", "accesses of background processes while transfers were measured"},
          {"background_access_mean", "us", "mean time of such an access, page faults and waiting for a core included"},
          {"background_access_max", "us", "longest of them"},
          {"background_ended", "1", "background processes that met the end of memory, and ended"},
          {"background_minor_faults", "1",
           "of the minor faults, those of background processes: no transfer has met them, but the kernel's work is the "
           "same"},
          {"background_major_faults", "1", "of the major faults, those of background processes"},
          {"background_file_rate", "MB/s", "bytes of their files that scanners have used, per time"},
          {"background_file_mean", "us", "mean time of a scanner for one part of its file"},
          {"cpu_time", "us",
           "CPU time of all cores of all nodes while measuring, without polling; background processes and kernel "
           "threads "
           "included"},
          {"cpu_time_initiator", "us", "the same of the initiator's node alone"},
          {"cpu_time_target", "us", "the same of the target's node alone"},
          {"stale_accesses", "1", "cells moved, in the whole run, through a translation that was no longer true"},
          {"leaked_read", "B",
           "of these, read from frames that another process maps by then: its data left with a transfer (the "
           "simulator's truth, which no part of the machine knows)"},
          {"leaked_written", "B", "of these, written to such frames: the other process's data are overwritten"},
          {"leak_victims", "1",
           "processes to which that happened; each is a part of the point (\"node 1 process 5\"), with its own bytes"},
          {"stale_astray", "B",
           "of these, bytes in frames that no other process maps: free, the kernel's (page cache, swap cache, tables), "
           "kept by a pin alone, or of other pages of the process itself"},
          {"pinned_bytes_peak", "B", "most bytes pinned at one time in the whole run, added over the nodes"},
          {"pinned_bytes_mean", "B",
           "bytes pinned, averaged over the time from the first measured transfer's begin to the last one's end, added "
           "over the nodes; each node's is a metric of its part"},
          {"locked_bytes_peak", "B", "most bytes mlocked at one time, added over the nodes"},
          {"mlocked", "B",
           "memory in locked frames after the last transfer, before the programs unlock, added over the nodes (Linux: "
           "Mlocked)"},
          {"unevictable", "B",
           "memory on the unevictable lists at that time, added over the nodes (Linux: Unevictable)"},
          {"hugetlb_bytes", "B",
           "memory that the pool of huge pages keeps from everybody else, used or not, added over the nodes "
           "(os.nr_hugepages; Linux: Hugetlb); in none of the other metrics of memory, and not there without a pool"},
      });
  for (const CounterMetric& c : platform::counter_metrics()) docs.push_back({c.metric, c.unit, c.description});
  for (const auto& policy : rdma::registration_policies()) {
    for (const CounterMetric& c : policy->metrics()) add_once(docs, {c.metric, c.unit, c.description});
  }
  for (const auto& kind : platform::nic_kinds()) {
    for (const CounterMetric& c : kind->metrics()) docs.push_back({c.metric, c.unit, c.description});
  }
  for (const os::FaultCauseDoc& cause : os::kFaultCauseDocs) {
    docs.push_back({metric_of(cause), "1", std::string("of the faults, those ") + cause.description});
  }
  std::ranges::move(utilisation_docs(), std::back_inserter(docs));
  return docs;
}

}  // namespace faultline::workloads
