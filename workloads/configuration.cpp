// SPDX-License-Identifier: Apache-2.0
#include "workloads/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workloads/configuration_checks.hpp"
#include "workloads/experiment_point.hpp"
#include "workloads/flows/flow.hpp"

namespace faultline::workloads {

void Configuration::declare(sim::ParameterTable& table) {
  workload.declare(table);
  inject.declare(table);
  background.declare(table);
  series.declare(table);
  strategy.declare(table);
  machine.declare(table);
}

std::vector<std::string> keys_of_place(std::string key, const network::ClusterShape& shape) {
  std::vector<std::string> keys = network::size_keys(shape);
  keys.insert(keys.begin(), std::move(key));
  return keys;
}

std::uint64_t lane_bytes(std::uint64_t source_offset, std::uint64_t destination_offset, std::uint64_t size) {
  return sim::page_end(std::max(source_offset, destination_offset) + size);
}

std::uint64_t user_memory(const platform::Machine& machine) {
  return std::min(machine.os.user_memory, machine.ddr.size - std::min(machine.ddr.size, machine.os.kernel_reserved));
}

void check_queue(unsigned under_way, std::vector<std::string> keys, const platform::Machine& machine,
                 const AddConflict& add) {
  if (under_way <= machine.engine.channel_queue) return;
  keys.emplace_back("exanest.channel_queue");
  add(std::move(keys),
      fmt::format("{} transfers under way do not fit in a channel's queue of {}", under_way,
                  machine.engine.channel_queue),
      "let fewer be under way at a time (a smaller window), or raise exanest.channel_queue");
}

std::vector<Conflict> conflicts(const Configuration& configuration) {
  std::vector<Conflict> found = platform::conflicts(configuration.machine);
  const std::vector<Conflict> strategy = rdma::conflicts(configuration.strategy);
  found.insert(found.end(), strategy.begin(), strategy.end());
  const AddConflict add = [&](std::vector<std::string> keys, std::string reason, std::string instead) {
    found.push_back({std::move(keys), std::move(reason), std::move(instead)});
  };
  check_cold_kinds(configuration, add);
  check_settings_of_senders(configuration.workload, add);
  const Kind kind = configuration.workload.kind;
  if (configuration.inject.mechanism != Mechanism::none && kind != Kind::write && kind != Kind::read) {
    add({"inject.mechanism", "workload.kind"}, "only the buffers of the kinds 'write' and 'read' can be injected into",
        "take one of these kinds, or inject nothing");
  }
  check_huge_pages(configuration.workload, configuration.machine, add);
  check_ignored(configuration.workload, add);
  if (kind == Kind::flows) {
    check_flows(configuration, add);
  } else if (kind == Kind::kernel_cost) {
    check_program(configuration, add);
  } else if (is_pattern(kind)) {
    check_pattern(configuration, add);
  } else {
    check_two_ends(configuration, add);
  }
  return found;
}

// What software does about a transfer costs as much as so many more bytes, roughly.
double work_of_transfer(std::uint64_t bytes) { return static_cast<double>(bytes) + 32 * 1024; }

double work_of(const Configuration& configuration) {
  const TransferConfig& w = configuration.workload;
  if (w.kind == Kind::flows) {
    double work = 0;
    for (const Flow& flow : parse_flows(w.flows)) work += flow.transfers * work_of_transfer(flow.size);
    return work;
  }
  const double of_sender = static_cast<double>(w.iterations + w.warmup) * work_of_transfer(w.size);
  if (!is_pattern(w.kind)) return of_sender;
  const double nodes = network::node_count(configuration.machine.shape);
  const bool to_all = w.kind == Kind::all_to_all;
  return of_sender * nodes * (to_all ? (w.peers > 0 ? w.peers : nodes - 1) : 1);
}

std::vector<WorkloadDoc> workload_docs() {
  return {
      {"write", "RDMA writes from the initiator's buffer to the target's"},
      {"read", "RDMA reads by the initiator: data move from the target's buffer to the initiator's"},
      {"message", "small messages of up to 56 B through the mailboxes, measured one way"},
      {"flows", "several streams of writes and reads at once, between any nodes: workload.flows lists them"},
      {"all-to-all",
       "every node writes to all others, or to workload.peers of them, one after the other: the target of its "
       "round r is as far from it, by number, as that of every other node. No barrier between rounds"},
      {"ring", "every node writes to the next one by number, and the last one to the first"},
      {"permutation", "every node writes to one other and is written to by one: a random cycle, drawn by the seed"},
      {"kernel-cost",
       "a program on the initiator's node that measures what its kernel costs, after lmbench: workload.program says "
       "which. No transfers; the strategy does not matter"}};
}

}  // namespace faultline::workloads
