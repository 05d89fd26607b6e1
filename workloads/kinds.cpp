// SPDX-License-Identifier: Apache-2.0
// An entry for each kind of workload: what it is called, the functions of its folder, and what it does not look at.
#include "workloads/kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "models/rdma/endpoint.hpp"
#include "workloads/collective/collective.hpp"
#include "workloads/compute/compute.hpp"
#include "workloads/fan_in/fan_in.hpp"
#include "workloads/flows/flows.hpp"
#include "workloads/innocent/innocent.hpp"
#include "workloads/kernel_cost/kernel_costs.hpp"
#include "workloads/patterns/patterns.hpp"
#include "workloads/ping_pong/ping_pong.hpp"
#include "workloads/reuse/reuse.hpp"
#include "workloads/send_receive/send_receive.hpp"
#include "workloads/transfers/transfers.hpp"

namespace faultline::workloads {
namespace {

// `which`: the kind, where one class has several.
template <typename Made, auto... which>
std::unique_ptr<Program> make(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed) {
  return std::make_unique<Made>(configuration, cluster, seed, which...);
}

// The kinds of pattern have all but their names in common.
template <PatternKind kind>
WorkloadKind pattern(const char* name, std::string description) {
  return {.name = name,
          .description = std::move(description),
          .check = [](const Configuration& c, const AddConflict& add) { check_pattern(c, kind, add); },
          .needs = [](const Configuration& c) { return needs_of_pattern(c, kind); },
          .keys_of_needs = {"workload.size", "workload.window", "workload.peers"},
          .work = [](const Configuration& c) { return work_of_pattern(c, kind); },
          .make = make<Patterns, kind>,
          .ignored = ignored_by_pattern(kind),
          .arrives = true,
          .meets_others = true};
}

// Writes and reads have all but direction and name in common.
template <TransferKind kind>
WorkloadKind transfer(const char* name, std::string description) {
  return {.name = name,
          .description = std::move(description),
          .check = check_transfers,
          .needs = needs_of_transfers,
          .keys_of_needs = {"workload.size", "workload.window"},
          .work = work_of_iterations,
          .make = make<Transfers, kind>,
          .ignored = ignored_by_transfers(),
          .has_two_ends = true,
          .arrives = true,
          .takes_injections = true,
          .puts_pages_away = true};
}

// One stream of transfers, several, or one by each node.
std::vector<WorkloadKind> kinds_of_transfers() {
  return {
      transfer<TransferKind::write>("write", "RDMA writes from the initiator's buffer to the target's"),
      transfer<TransferKind::read>(
          "read", "RDMA reads by the initiator: data move from the target's buffer to the initiator's"),
      {.name = "message",
       .description =
           fmt::format("small messages of up to {} B through the mailboxes, measured one way", sizeof(rdma::Message)),
       .check = check_messages,
       .needs = needs_of_messages,
       .work = work_of_iterations,
       .make = make<Transfers, TransferKind::message>,
       .ignored = ignored_by_messages(),
       .has_two_ends = true},
      {.name = "flows",
       .description = "several streams of writes and reads at once, between any nodes: workload.flows lists them",
       .check = check_flows,
       .needs = needs_of_flows,
       .keys_of_needs = {"workload.flows"},
       .work = work_of_flows,
       .make = make<Flows>,
       .ignored = ignored_by_flows()},
      pattern<PatternKind::all_to_all>(
          "all-to-all",
          "every node writes to all others, or to workload.peers of them, one after the other: the target of its "
          "round r is as far from it, by number, as that of every other node. No barrier between rounds"),
      pattern<PatternKind::ring>("ring", "every node writes to the next one by number, and the last one to the first"),
      pattern<PatternKind::permutation>(
          "permutation", "every node writes to one other and is written to by one: a random cycle, drawn by the seed"),
  };
}

// Programs that have something else in view: their kernel, their buffers.
std::vector<WorkloadKind> kinds_of_processes() {
  return {
      {.name = "kernel-cost",
       .description =
           "a program on the initiator's node that measures what its kernel costs, after lmbench: workload.program "
           "says which. No transfers; the strategy does not matter",
       .check = check_program,
       .needs = needs_of_program,
       .keys_of_needs = {"workload.size", "workload.processes"},
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
       .needs = needs_of_reuse,
       .keys_of_needs = {"reuse.buffers", "workload.size", "workload.ranks"},
       .work = work_of_reuse,
       .make = make<Reuse>,
       .ignored = ignored_by_reuse(),
       .has_two_ends = true,
       .metrics = {{"buffers_reused", "1", "kind reuse: transfers whose buffers had been used before"},
                   {"remap_mean", "us",
                    "kind reuse: mean time in which both programs unmap their buffer and map new memory, with what the "
                    "strategy does about that; in no latency"}}},
  };
}

// Programs of ranks (workloads/ranks/).
std::vector<WorkloadKind> kinds_of_ranks() {
  return {
      {.name = "ping-pong",
       .description =
           "pairs of ranks that write to each other in turn, rank i of the first half with rank i of the second: each "
           "learns as workload.notify says that the other's data are there. A transfer is one way",
       .check = check_ping_pong,
       .needs = needs_of_ping_pong,
       .keys_of_needs = {"workload.size", "workload.nodes", "workload.ranks", "workload.peers"},
       .work = work_of_ping_pong,
       .make = make<PingPong>,
       .ignored = ignored_by_ping_pong(),
       .metrics = {{"notice_memory", "B",
                    "kind ping-pong: memory of one rank into which its NIC writes notices: words or an event queue"},
                   cpu_per_transfer()}},
      {.name = "send-receive",
       .description = "pairs of ranks that send each other messages in turn, by the calls of a library for messages "
                      "(messages.*). A "
                      "transfer is one way, until the message is in the memory that its receive has named",
       .check = check_send_receive,
       .needs = needs_of_send_receive,
       .keys_of_needs = {"workload.size", "workload.nodes", "workload.ranks", "messages.slots", "messages.slot_bytes"},
       .work = work_of_send_receive,
       .make = make<SendReceive>,
       .ignored = ignored_by_send_receive(),
       .sends_messages = true,
       .metrics = metrics_of_send_receive()},
      {.name = "collective",
       .description = "ranks that make the same collective call (collective.call) again and again, made of messages "
                      "(messages.*). A transfer is one call of one rank",
       .check = check_collective,
       .needs = needs_of_collective,
       .keys_of_needs = {"workload.size", "workload.nodes", "collective.call", "messages.slots", "messages.slot_bytes"},
       .work = work_of_collective,
       .make = make<Collective>,
       .ignored = ignored_by_collective(),
       .meets_others = true,
       .sends_messages = true,
       .metrics = metrics_of_messages()},
      {.name = "fan-in",
       .description = "all ranks write to the first one, each to buffers of its own",
       .check = check_fan_in,
       .needs = needs_of_fan_in,
       .keys_of_needs = {"workload.size", "workload.window", "workload.nodes", "workload.ranks"},
       .work = work_of_fan_in,
       .make = make<FanIn>,
       .ignored = ignored_by_fan_in(),
       .meets_others = true},
      {.name = "innocent",
       .description =
           "a program beside others ([[program]]): each rank of the first half writes to its partner of the second, "
           "from and to present pages, for as long as the others are measured",
       .check = check_innocent,
       .needs = needs_of_innocent,
       .keys_of_needs = {"workload.size", "workload.window", "workload.nodes", "workload.ranks"},
       .work = work_of_innocent,
       .make = make<Innocent>,
       .ignored = ignored_by_innocent(),
       .goes_with_others = true},
      {.name = "compute",
       .description =
           "a program beside others ([[program]]): ranks that compute, in user code, for as long as the others are "
           "measured; each begins after a pause drawn from 0 to 12 ms. No transfers",
       .check = check_compute,
       .needs = needs_of_compute,
       .keys_of_needs = {"workload.nodes", "workload.ranks"},
       .work = work_of_compute,
       .make = make<Compute>,
       .ignored = ignored_by_compute(),
       .goes_with_others = true,
       .transfers = false,
       .metrics = {{"computed", "1",
                    "kind compute: share of the measured time for which a rank computed, the mean of all ranks"}}},
  };
}

}  // namespace

const std::vector<WorkloadKind>& workload_kinds() {
  static const std::vector<WorkloadKind> kinds = [] {
    std::vector<WorkloadKind> all = kinds_of_transfers();
    std::ranges::move(kinds_of_processes(), std::back_inserter(all));
    std::ranges::move(kinds_of_ranks(), std::back_inserter(all));
    return all;
  }();
  return kinds;
}

const WorkloadKind& kind_of(const TransferConfig& workload) { return workload_kinds().at(workload.kind); }

}  // namespace faultline::workloads
