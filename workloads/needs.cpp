// SPDX-License-Identifier: Apache-2.0
#include "workloads/needs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "models/platform/endpoints.hpp"
#include "models/sim/units.hpp"
#include "workloads/kinds.hpp"

namespace faultline::workloads {
namespace {

// What the programs need of one node.
struct Sum {
  unsigned processes = 0;  // that open the NIC
  std::uint64_t bytes = 0;
};

std::vector<Sum> sums(std::span<const Configuration> programs, unsigned nodes) {
  std::vector<Sum> all(nodes);
  for (const Configuration& own : programs) {
    for (const Need& need : kind_of(own.workload).needs(own)) {
      if (need.node >= nodes) continue;  // the program is refused for that
      all[need.node].processes += need.opens_nic ? 1 : 0;
      all[need.node].bytes += need.bytes;
    }
  }
  return all;
}

// Of all programs the settings that decide how much they need: of each those in `of_kind`.
template <typename OfKind>
std::vector<std::string> keys_of(const Configuration& run, std::span<const Configuration> programs, OfKind of_kind) {
  std::vector<std::string> keys;
  for (const Configuration& own : programs) {
    for (const std::string& key : of_kind(kind_of(own.workload))) {
      std::string decides = run.programs.key_of(own.program_name, key);
      if (std::ranges::find(keys, decides) == keys.end()) keys.push_back(std::move(decides));
    }
  }
  return keys;
}

std::vector<std::string> keys_of_memory(const WorkloadKind& kind) { return kind.keys_of_needs; }

// Where a kind has no setting that says how many processes it has, the kind does.
std::vector<std::string> keys_of_processes(const WorkloadKind& kind) {
  std::vector<std::string> keys;
  for (const char* key : {"workload.flows", "workload.nodes", "workload.ranks"}) {
    if (std::ranges::find(kind.keys_of_needs, key) != kind.keys_of_needs.end()) keys.emplace_back(key);
  }
  return keys.empty() ? std::vector<std::string>{"workload.kind"} : keys;
}

void check_processes(const std::vector<Sum>& nodes, const Configuration& run, std::span<const Configuration> programs,
                     const AddConflict& add) {
  const platform::NicLimit limit = platform::most_endpoints(run.machine);
  const auto most = std::ranges::max_element(nodes, {}, &Sum::processes);
  if (most == nodes.end() || most->processes <= limit.most) return;
  add(limit.keys_behind(keys_of(run, programs, keys_of_processes)),
      fmt::format("{} processes on node {}, each of which needs {}, of which it has {}", most->processes,
                  most - nodes.begin(), limit.uses, limit.has),
      "spread them over more nodes, or raise " + limit.named());
}

void check_memory(const std::vector<Sum>& nodes, const Configuration& run, std::span<const Configuration> programs,
                  const AddConflict& add) {
  const std::uint64_t memory = user_memory(run.machine);
  const auto most = std::ranges::max_element(nodes, {}, &Sum::bytes);
  if (most == nodes.end() || most->bytes <= memory) return;
  std::vector<std::string> keys = keys_of(run, programs, keys_of_memory);
  std::ranges::copy(std::vector{"os.user_memory", "ddr.size", "os.kernel_reserved"}, std::back_inserter(keys));
  add(std::move(keys),
      fmt::format("buffers of {} on node {} do not fit in its {} of user memory", sim::format_bytes(most->bytes),
                  most - nodes.begin(), sim::format_bytes(memory)),
      "take fewer or smaller buffers, or give nodes more memory");
}

// Of one process: its memory cgroup.
void check_limit(const Configuration& run, const Configuration& own, const AddConflict& add) {
  const TransferConfig& w = own.workload;
  const bool present = w.cold != Cold::both || own.strategy.registration->abilities().is_limited();
  if (!present || w.memory.limit == 0) return;
  const std::vector<Need> needs = kind_of(w).needs(own);
  const auto most = std::ranges::max_element(needs, {}, &Need::bytes);
  if (most == needs.end() || most->bytes <= w.memory.limit) return;
  std::vector<std::string> keys = keys_of(run, {&own, 1}, keys_of_memory);
  for (const char* key : {"workload.memory_limit", "workload.cold"}) {
    keys.push_back(run.programs.key_of(own.program_name, key));
  }
  add(std::move(keys),
      fmt::format("buffers of {} that are in memory before the first transfer, or are to stay there, do not fit in a "
                  "program's {}",
                  sim::format_bytes(most->bytes), sim::format_bytes(w.memory.limit)),
      "take smaller buffers or a greater limit, or workload.cold = both, with which those of a strategy that holds "
      "none come by faults");
}

// The kernel counts what is pinned and locked by process.
void check_held(const Configuration& run, const Configuration& own, const AddConflict& add) {
  const std::uint64_t limit = run.machine.os.rlimit_memlock;
  if (!own.workload.checks_fail || !own.strategy.registration->abilities().is_limited()) return;
  const std::vector<Need> needs = kind_of(own.workload).needs(own);
  const auto most = std::ranges::max_element(needs, {}, &Need::held);
  if (most == needs.end()) return;
  // Where the device has a table of what is registered, the library registers its own pages, too.
  const bool registers = own.strategy.translate->registered && most->opens_nic;
  const std::uint64_t held = most->held + (registers ? run.machine.nic->bytes_of_library() : 0);
  if (held <= limit) return;
  std::vector<std::string> keys = keys_of(run, {&own, 1}, keys_of_memory);
  if (own.strategy.pipeline.is_used()) keys.insert(keys.end(), {"strategy.pipeline_chunk", "strategy.pipeline_depth"});
  keys.emplace_back("os.rlimit_memlock");
  add(std::move(keys),
      fmt::format("a process on node {} would have {} pinned or locked at a time, and RLIMIT_MEMLOCK is {}", most->node,
                  sim::format_bytes(held), sim::format_bytes(limit)),
      "raise os.rlimit_memlock, take fewer or smaller buffers, or let such failures be results (workload.checks = "
      "count)");
}

}  // namespace

void check_together(const Configuration& run, std::span<const Configuration> programs, const AddConflict& add) {
  for (const Configuration& own : programs) {
    const std::string& name = own.program_name;
    if (name.empty() || run.programs.key_of(name, "workload.kind") != "workload.kind") continue;
    const auto& values = std::ranges::find(run.programs.all(), name, &ProgramSettings::Program::name)->values;
    add({run.programs.key_of(name, values.front().first)},
        fmt::format("the program '{}' has no kind, so its name may be a slip", name),
        fmt::format("set program.{}.kind, or the setting of a program that is there", name));
  }
  const bool has_kind = &kind_of(run.workload) != &workload_kinds().front();
  if (has_kind && !programs.front().program_name.empty()) {
    add({"workload.kind"}, "each program has a kind of its own", at_default("workload.kind"));
  }
  const auto goes_with_others = [](const Configuration& own) { return kind_of(own.workload).goes_with_others; };
  if (std::ranges::all_of(programs, goes_with_others)) {
    add({run.programs.key_of(programs.front().program_name, "workload.kind")},
        "a program that goes on as long as others do would never end", "add a [[program]] that ends by itself");
  }
  if (!network::conflicts(run.machine.shape).empty()) return;  // no network, no nodes
  const std::vector<Sum> nodes = sums(programs, network::node_count(run.machine.shape));
  check_processes(nodes, run, programs, add);
  check_memory(nodes, run, programs, add);
  for (const Configuration& own : programs) {
    check_limit(run, own, add);
    check_held(run, own, add);
  }
}

}  // namespace faultline::workloads
