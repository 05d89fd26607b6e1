// SPDX-License-Identifier: Apache-2.0
// A line or two for each kind of workload: what it is called, and the functions of its folder.
#include "workloads/kinds.hpp"

#include <algorithm>

#include "workloads/flows/flow.hpp"
#include "workloads/flows/flows.hpp"
#include "workloads/kernel_cost/kernel_costs.hpp"
#include "workloads/patterns/patterns.hpp"
#include "workloads/reuse/reuse.hpp"
#include "workloads/transfers/transfers.hpp"

namespace faultline::workloads {
namespace {

template <typename Made>
std::unique_ptr<Benchmark> make(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed) {
  return std::make_unique<Made>(configuration, cluster, seed);
}

double work_of_sender(const Configuration& configuration) {
  const TransferConfig& w = configuration.workload;
  return static_cast<double>(w.iterations + w.warmup) * work_of_transfer(w.size);
}

double work_of_flows(const Configuration& configuration) {
  double work = 0;
  for (const Flow& flow : parse_flows(configuration.workload.flows)) {
    work += flow.transfers * work_of_transfer(flow.size);
  }
  return work;
}

double work_of_pattern(const Configuration& configuration) {
  const TransferConfig& w = configuration.workload;
  const double nodes = network::node_count(configuration.machine.shape);
  const double peers = w.kind == Kind::all_to_all ? (w.peers > 0 ? w.peers : nodes - 1) : 1;
  return work_of_sender(configuration) * nodes * peers;
}

double work_of_reuse(const Configuration& configuration) {
  return work_of_sender(configuration) + configuration.reuse.buffers * work_of_transfer(configuration.workload.size);
}

}  // namespace

const std::vector<WorkloadKind>& workload_kinds() {
  static const std::vector<WorkloadKind> kinds{
      {Kind::write, "write", "RDMA writes from the initiator's buffer to the target's", check_two_ends, work_of_sender,
       make<Transfers>},
      {Kind::read, "read", "RDMA reads by the initiator: data move from the target's buffer to the initiator's",
       check_two_ends, work_of_sender, make<Transfers>},
      {Kind::message, "message", "small messages of up to 56 B through the mailboxes, measured one way", check_two_ends,
       work_of_sender, make<Transfers>},
      {Kind::flows, "flows",
       "several streams of writes and reads at once, between any nodes: workload.flows lists them", check_flows,
       work_of_flows, make<Flows>},
      {Kind::all_to_all, "all-to-all",
       "every node writes to all others, or to workload.peers of them, one after the other: the target of its round r "
       "is as far from it, by number, as that of every other node. No barrier between rounds",
       check_pattern, work_of_pattern, make<Patterns>},
      {Kind::ring, "ring", "every node writes to the next one by number, and the last one to the first", check_pattern,
       work_of_pattern, make<Patterns>},
      {Kind::permutation, "permutation",
       "every node writes to one other and is written to by one: a random cycle, drawn by the seed", check_pattern,
       work_of_pattern, make<Patterns>},
      {Kind::kernel_cost, "kernel-cost",
       "a program on the initiator's node that measures what its kernel costs, after lmbench: workload.program says "
       "which. No transfers; the strategy does not matter",
       check_program, work_of_sender, make<KernelCosts>},
      {Kind::reuse,
       "reuse",
       "RDMA writes from and to buffers that are drawn from a pool at each end; reuse.again says how many of them have "
       "been used before",
       check_reuse,
       work_of_reuse,
       make<Reuse>,
       {{"buffers_reused", "1", "kind reuse: transfers whose buffers had been used before"},
        {"remap_mean", "us",
         "kind reuse: mean time in which both programs unmap their buffer and map new memory, with what the strategy "
         "does about that; in no latency"}}},
  };
  return kinds;
}

const WorkloadKind& kind_of(const Configuration& configuration) {
  return *std::ranges::find(workload_kinds(), configuration.workload.kind, &WorkloadKind::kind);
}

}  // namespace faultline::workloads
