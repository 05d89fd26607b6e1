// SPDX-License-Identifier: Apache-2.0
// An entry for each kind of workload: what it is called, the functions of its folder, and what it does not look at.
#include "workloads/kinds.hpp"

#include <fmt/format.h>

#include "models/rdma/endpoint.hpp"
#include "workloads/flows/flows.hpp"
#include "workloads/kernel_cost/kernel_costs.hpp"
#include "workloads/patterns/patterns.hpp"
#include "workloads/reuse/reuse.hpp"
#include "workloads/transfers/transfers.hpp"

namespace faultline::workloads {
namespace {

// `which`: the kind, where one class has several.
template <typename Made, auto... which>
std::unique_ptr<Benchmark> make(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed) {
  return std::make_unique<Made>(configuration, cluster, seed, which...);
}

template <PatternKind kind>
void check_pattern_of(const Configuration& configuration, const AddConflict& add) {
  check_pattern(configuration, kind, add);
}

template <PatternKind kind>
double work_of_pattern_of(const Configuration& configuration) {
  return work_of_pattern(configuration, kind);
}

}  // namespace

const std::vector<WorkloadKind>& workload_kinds() {
  static const std::vector<WorkloadKind> kinds{
      {.name = "write",
       .description = "RDMA writes from the initiator's buffer to the target's",
       .check = check_transfers,
       .work = work_of_iterations,
       .make = make<Transfers, TransferKind::write>,
       .ignored = ignored_by_transfers(),
       .has_two_ends = true,
       .arrives = true,
       .takes_injections = true,
       .puts_pages_away = true},
      {.name = "read",
       .description = "RDMA reads by the initiator: data move from the target's buffer to the initiator's",
       .check = check_transfers,
       .work = work_of_iterations,
       .make = make<Transfers, TransferKind::read>,
       .ignored = ignored_by_transfers(),
       .has_two_ends = true,
       .arrives = true,
       .takes_injections = true,
       .puts_pages_away = true},
      {.name = "message",
       .description =
           fmt::format("small messages of up to {} B through the mailboxes, measured one way", sizeof(rdma::Message)),
       .check = check_messages,
       .work = work_of_iterations,
       .make = make<Transfers, TransferKind::message>,
       .ignored = ignored_by_messages(),
       .has_two_ends = true},
      {.name = "flows",
       .description = "several streams of writes and reads at once, between any nodes: workload.flows lists them",
       .check = check_flows,
       .work = work_of_flows,
       .make = make<Flows>,
       .ignored = ignored_by_flows()},
      {.name = "all-to-all",
       .description =
           "every node writes to all others, or to workload.peers of them, one after the other: the target of its "
           "round r is as far from it, by number, as that of every other node. No barrier between rounds",
       .check = check_pattern_of<PatternKind::all_to_all>,
       .work = work_of_pattern_of<PatternKind::all_to_all>,
       .make = make<Patterns, PatternKind::all_to_all>,
       .ignored = ignored_by_pattern(PatternKind::all_to_all),
       .arrives = true,
       .meets_others = true},
      {.name = "ring",
       .description = "every node writes to the next one by number, and the last one to the first",
       .check = check_pattern_of<PatternKind::ring>,
       .work = work_of_pattern_of<PatternKind::ring>,
       .make = make<Patterns, PatternKind::ring>,
       .ignored = ignored_by_pattern(PatternKind::ring),
       .arrives = true,
       .meets_others = true},
      {.name = "permutation",
       .description = "every node writes to one other and is written to by one: a random cycle, drawn by the seed",
       .check = check_pattern_of<PatternKind::permutation>,
       .work = work_of_pattern_of<PatternKind::permutation>,
       .make = make<Patterns, PatternKind::permutation>,
       .ignored = ignored_by_pattern(PatternKind::permutation),
       .arrives = true,
       .meets_others = true},
      {.name = "kernel-cost",
       .description =
           "a program on the initiator's node that measures what its kernel costs, after lmbench: workload.program "
           "says which. No transfers; the strategy does not matter",
       .check = check_program,
       .work = work_of_iterations,
       .make = make<KernelCosts>,
       .ignored = ignored_by_program(),
       .measures = "measured rounds of the program",
       .keys_of_length = {"workload.iterations", "workload.warmup", "workload.size", "workload.program"},
       .transfers = false},
      {.name = "reuse",
       .description =
           "RDMA writes from and to buffers that are drawn from a pool at each end; reuse.again says how many of them "
           "have been used before",
       .check = check_reuse,
       .work = work_of_reuse,
       .make = make<Reuse>,
       .ignored = ignored_by_reuse(),
       .has_two_ends = true,
       .metrics = {{"buffers_reused", "1", "kind reuse: transfers whose buffers had been used before"},
                   {"remap_mean", "us",
                    "kind reuse: mean time in which both programs unmap their buffer and map new memory, with what the "
                    "strategy does about that; in no latency"}}},
  };
  return kinds;
}

const WorkloadKind& kind_of(const TransferConfig& workload) { return workload_kinds().at(workload.kind); }

}  // namespace faultline::workloads
