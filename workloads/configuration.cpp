// SPDX-License-Identifier: Apache-2.0
#include "workloads/configuration.hpp"

#include <fmt/format.h>

#include <functional>

#include "models/sim/units.hpp"
#include "workloads/experiment_point.hpp"
#include "workloads/flow.hpp"

namespace faultline::workloads {

void Configuration::declare(sim::ParameterTable& table) {
  workload.declare(table);
  inject.declare(table);
  background.declare(table);
  series.declare(table);
  strategy.declare(table);
  machine.declare(table);
}

namespace {

using Add = std::function<void(std::vector<std::string> keys, std::string reason)>;

// The key that names a node, and those that decide how many there are.
std::vector<std::string> keys_of_place(std::string key, const interconnect::ClusterShape& shape) {
  std::vector<std::string> keys = interconnect::size_keys(shape);
  keys.insert(keys.begin(), std::move(key));
  return keys;
}

void check_places(const TransferConfig& w, const interconnect::ClusterShape& shape, const Add& add) {
  if (!interconnect::conflicts(shape).empty()) return;  // no network, no nodes
  const unsigned nodes = interconnect::node_count(shape);
  for (const auto& [key, node] : {std::pair("workload.initiator", w.initiator), {"workload.target", w.target}}) {
    if (node < nodes) continue;
    add(keys_of_place(key, shape), fmt::format("there are nodes 0 to {}", nodes - 1));
  }
  if (w.initiator == w.target) {
    add({"workload.target", "workload.initiator"}, "a node does not send to itself over the network");
  }
}

// What would be silently without effect is refused.
void check_message(const TransferConfig& w, const Add& add) {
  if (w.size > 56) {
    add({"workload.size", "workload.kind"},
        fmt::format("a message holds at most 56 B (seven words), not {}", sim::format_bytes(w.size)));
  }
  if (w.window > 1) add({"workload.window", "workload.kind"}, "messages are measured one at a time");
  if (w.clean_window > 0) add({"workload.clean_window", "workload.kind"}, "messages have no neighbours");
  if (w.cold != Cold::none) add({"workload.cold", "workload.kind"}, "messages have no buffers that could be cold");
  if (w.source_offset + w.destination_offset > 0) {
    add({w.source_offset > 0 ? "workload.source_offset" : "workload.destination_offset", "workload.kind"},
        "messages have no buffers");
  }
}

// Bytes of the pages that a buffer touches, at the end where they are more.
std::uint64_t lane_bytes(std::uint64_t source_offset, std::uint64_t destination_offset, std::uint64_t size) {
  return sim::page_end(std::max(source_offset, destination_offset) + size);
}

std::uint64_t user_memory(const platform::Machine& machine) {
  return std::min(machine.os.user_memory, machine.ddr.size - std::min(machine.ddr.size, machine.os.kernel_reserved));
}

void check_huge_pages(const TransferConfig& w, const platform::Machine& machine, const Add& add) {
  const std::uint64_t pool = machine.os.nr_hugepages * os::kHugePage;
  if (pool > user_memory(machine)) {
    add({"os.nr_hugepages", "os.user_memory", "ddr.size", "os.kernel_reserved"},
        fmt::format("a pool of {} does not fit in a node's {} of user memory", sim::format_bytes(pool),
                    sim::format_bytes(user_memory(machine))));
  }
  if (w.memory.backing != rdma::Backing::hugetlb) return;
  if (pool == 0) {
    add({"workload.memory", "os.nr_hugepages"}, "the pool of huge pages is empty: os.nr_hugepages fills it");
  }
  if (w.madvise_hugepage) {
    add({"workload.memory", "workload.madvise_hugepage"}, "MADV_HUGEPAGE is refused for hugetlb memory (EINVAL)");
  }
}

void check_memory(const TransferConfig& w, const rdma::Strategy& strategy, const platform::Machine& machine,
                  const Add& add) {
  const std::uint64_t lanes = w.window * lane_bytes(w.source_offset, w.destination_offset, w.size);
  const std::uint64_t buffers = lanes + w.clean_window * sim::page_end(w.clean_size);
  const std::uint64_t memory = user_memory(machine);
  if (buffers > memory) {
    add({"workload.size", "workload.window", "os.user_memory", "ddr.size", "os.kernel_reserved"},
        fmt::format("buffers of {} do not fit in a node's {} of user memory", sim::format_bytes(buffers),
                    sim::format_bytes(memory)));
  }
  const bool limited = w.checks_fail && (strategy.pins() || strategy.prepare == rdma::Prepare::mlock);
  const bool present = w.cold != Cold::both || strategy.pins() || strategy.prepare == rdma::Prepare::mlock;
  if (present && w.memory.limit > 0 && lanes > w.memory.limit) {
    add({"workload.size", "workload.window", "workload.memory_limit", "workload.cold"},
        fmt::format("buffers of {} that are in memory before the first transfer, or are to stay there, do not fit in a "
                    "program's {}; those of a strategy that holds none come by faults with workload.cold = both",
                    sim::format_bytes(lanes), sim::format_bytes(w.memory.limit)));
  }
  if (limited && lanes > machine.os.rlimit_memlock) {
    add({"workload.size", "workload.window", "os.rlimit_memlock"},
        fmt::format("buffers of {} would be {}, and RLIMIT_MEMLOCK is {}", sim::format_bytes(lanes),
                    strategy.pins() ? "pinned" : "locked", sim::format_bytes(machine.os.rlimit_memlock)));
  }
}

bool needs_anonymous(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::collapse:
    case Mechanism::thp_split:
    case Mechanism::ksm:
    case Mechanism::zero_page:
    case Mechanism::longterm_pin:
    case Mechanism::cma_alloc: return true;
    default: return false;
  }
}

void check_transfers(const Configuration& configuration, const Add& add) {
  const TransferConfig& w = configuration.workload;
  const unsigned under_way = w.window + w.clean_window;
  if (under_way > configuration.machine.dma.channel_queue) {
    add({"workload.window", "workload.clean_window", "dma.channel_queue"},
        fmt::format("{} transfers under way do not fit in a channel's queue of {}", under_way,
                    configuration.machine.dma.channel_queue));
  }
  if (configuration.inject.mechanism == Mechanism::thp_split && configuration.machine.os.thp == os::ThpMode::never) {
    add({"inject.mechanism", "os.thp"}, "there are no huge pages to split");
  }
  if (w.advise_late && !w.madvise_hugepage) {
    add({"workload.advise_late", "workload.madvise_hugepage"}, "there is no advice that could come late");
  }
  const bool anonymous = w.memory.backing == rdma::Backing::anonymous;
  if (configuration.inject.mechanism == Mechanism::reclaim && configuration.machine.os.swap_bytes == 0 &&
      w.memory.backing != rdma::Backing::shared_file) {
    add({"inject.mechanism", "os.swap_bytes"}, "there is no swap device to put pages on");
  }
  const bool in_cma = configuration.inject.mechanism == Mechanism::longterm_pin ||
                      configuration.inject.mechanism == Mechanism::cma_alloc;
  if (in_cma && configuration.machine.os.cma_bytes == 0) {
    add({"inject.mechanism", "os.cma_bytes"}, "there is no CMA area for the buffer to lie in");
  }
  if (!anonymous && needs_anonymous(configuration.inject.mechanism)) {
    add({"inject.mechanism", "workload.memory"}, "this happens to anonymous memory only");
  }
  if (w.checks_fail && w.memory.backing == rdma::Backing::shared_file && configuration.strategy.pins() &&
      configuration.machine.os.kernel.has(os::Change::refuses_file_pins)) {
    add({"workload.memory", "strategy.prepare", "os.kernel"},
        "Linux since 6.5 refuses long-term pins that write to files");
  }
  if (configuration.background.uses_memory() && w.cold != Cold::none) {
    add({"background.processes", "background.scanners", "workload.cold"},
        "pages that are made absent before each transfer hide who else takes them: choose one of both");
  }
  if (configuration.inject.mechanism != Mechanism::none && w.cold != Cold::none) {
    add({"inject.mechanism", "workload.cold"}, "pages that are made absent before each transfer hide what is injected");
  }
  if (w.clean_window > 0 && configuration.strategy.translate == rdma::Translate::private_) {
    add({"workload.clean_window", "strategy.translate"},
        "the clean transfers' buffers are not prepared, so a private table does not map them");
  }
  if (w.cold == Cold::none && w.cold_share < 1.0) {
    add({"workload.cold_share", "workload.cold"}, "a share of the pages of no end: say which end is cold");
  }
  if (w.cold == Cold::none && w.cold_placement != ColdPlacement::random) {
    add({"workload.cold_placement", "workload.cold"}, "a place for pages of no end: say which end is cold");
  }
  check_memory(w, configuration.strategy, configuration.machine, add);
}

void check_cold_kind(const char* key, ColdKind kind, bool cold, const Configuration& configuration, const Add& add) {
  using rdma::Backing;
  if (kind == ColdKind::never_written) return;
  const Backing backing = configuration.workload.memory.backing;
  if (!cold) add({key, "workload.cold"}, "a kind of absent pages of an end that has none: say which end is cold");
  if (kind == ColdKind::swapped && backing == Backing::hugetlb) {
    add({key, "workload.memory"}, "the pages of hugetlbfs are never put on the swap device");
  } else if (kind == ColdKind::swapped && backing == Backing::shared_file) {
    add({key, "workload.memory"}, "the pages of a shared file go back to the file, not to the swap device: say 'file'");
  } else if (kind == ColdKind::swapped && configuration.machine.os.swap_bytes == 0) {
    add({key, "os.swap_bytes"}, "there is no swap device to put pages on");
  }
  if (kind == ColdKind::file && backing != Backing::shared_file) {
    add({key, "workload.memory"}, "memory that is no shared file's, once written, has no file to go back to");
  }
  if (kind == ColdKind::zero_page && backing != Backing::anonymous) {
    add({key, "workload.memory"}, "only anonymous memory that is read before it is written shows the page of zeros");
  }
}

void check_cold_kinds(const Configuration& configuration, const Add& add) {
  const TransferConfig& w = configuration.workload;
  if (w.kind != Kind::write && w.kind != Kind::read) {
    for (const auto& [key, kind] : {std::pair("workload.cold_source_kind", w.cold_source_kind),
                                    {"workload.cold_destination_kind", w.cold_destination_kind}}) {
      if (kind != ColdKind::never_written) {
        add({key, "workload.kind"}, "only the buffers of the kinds 'write' and 'read' are put away");
      }
    }
    return;
  }
  check_cold_kind("workload.cold_source_kind", w.cold_source_kind, w.cold_source(), configuration, add);
  check_cold_kind("workload.cold_destination_kind", w.cold_destination_kind, w.cold_destination(), configuration, add);
}

// Each node has a program that sends and one that receives, with a buffer for each peer.
void check_pattern(const Configuration& configuration, const Add& add) {
  const TransferConfig& w = configuration.workload;
  const platform::Machine& machine = configuration.machine;
  if (!interconnect::conflicts(machine.shape).empty()) return;  // no network, no nodes
  const unsigned nodes = interconnect::node_count(machine.shape);
  if (nodes < 2) add(keys_of_place("workload.kind", machine.shape), "one node has nobody to write to");
  if (w.peers >= nodes) {
    add(keys_of_place("workload.peers", machine.shape),
        fmt::format("each of {} nodes has {} others; 0 stands for all of them", nodes, nodes - 1));
  }
  if (w.kind != Kind::all_to_all && w.peers > 0) {
    add({"workload.peers", "workload.kind"}, "only all-to-all has a choice of peers");
  }
  if (std::min(machine.dma.channels, machine.smmu.context_banks) < 2) {
    add({"workload.kind", "dma.channels", "smmu.context_banks"},
        "a pattern needs two processes on each node, each with a channel and a context bank");
  }
  if (w.window > machine.dma.channel_queue) {
    add({"workload.window", "dma.channel_queue"},
        fmt::format("{} transfers under way do not fit in a channel's queue of {}", w.window,
                    machine.dma.channel_queue));
  }
  const std::uint64_t lane = w.window * lane_bytes(w.source_offset, w.destination_offset, w.size);
  const std::uint64_t received = lane * (w.kind != Kind::all_to_all ? 1 : w.peers > 0 ? w.peers : nodes - 1);
  if (lane + received > user_memory(machine)) {
    add({"workload.size", "workload.window", "workload.peers", "os.user_memory", "ddr.size", "os.kernel_reserved"},
        fmt::format("buffers of {} to send from and {} to receive in do not fit in a node's {} of user memory",
                    sim::format_bytes(lane), sim::format_bytes(received), sim::format_bytes(user_memory(machine))));
  }
  const bool limited = configuration.strategy.pins() || configuration.strategy.prepare == rdma::Prepare::mlock;
  if (limited && received > machine.os.rlimit_memlock) {
    add({"workload.size", "workload.window", "workload.peers", "os.rlimit_memlock"},
        fmt::format("a process would lock {}, and RLIMIT_MEMLOCK is {}", sim::format_bytes(received),
                    sim::format_bytes(machine.os.rlimit_memlock)));
  }
  if (configuration.strategy.prepares_per_transfer()) {
    add({"strategy.prepare", "workload.kind"},
        "the targets of a pattern have no program that prepares for each transfer");
  }
  if (w.clean_window > 0) add({"workload.clean_window", "workload.kind"}, "a pattern has no neighbours");
  if (w.cold_share < 1.0) add({"workload.cold_share", "workload.kind"}, "all pages of a pattern's cold end are absent");
  if (w.cold_placement != ColdPlacement::random)
    add({"workload.cold_placement", "workload.kind"}, "all pages of a pattern's cold end are absent");
}

// Programs that measure a kernel: what only transfers have is refused.
void check_program(const Configuration& configuration, const Add& add) {
  const TransferConfig& w = configuration.workload;
  const interconnect::ClusterShape& shape = configuration.machine.shape;
  const auto refuse = [&](const char* key, bool set, const char* reason) {
    if (set) add({key, "workload.kind"}, reason);
  };
  if (interconnect::conflicts(shape).empty() && w.initiator >= interconnect::node_count(shape)) {
    add(keys_of_place("workload.initiator", shape),
        fmt::format("there are nodes 0 to {}", interconnect::node_count(shape) - 1));
  }
  refuse("workload.window", w.window > 1, "a program does one thing at a time");
  refuse("workload.clean_window", w.clean_window > 0, "a program has no transfers beside it");
  refuse("workload.cold", w.cold != Cold::none, "a program's pages are as it uses them");
  refuse("workload.memory", w.memory.backing != rdma::Backing::anonymous, "a program says itself what it maps");
  refuse("workload.memory_limit", w.memory.limit > 0, "a program is in no memory cgroup");
  refuse("workload.oom_protected", w.memory.never_killed, "a program is not protected from the OOM killer");
  refuse("workload.peers", w.peers > 0, "a program has no peers");
  refuse("workload.source_offset", w.source_offset > 0, "a program has no source");
  refuse("workload.destination_offset", w.destination_offset > 0, "a program has no destination");
  const ProgramConfig& p = w.program;
  if (p.kind != ProgramKind::lat_ctx && p.processes != ProgramConfig{}.processes) {
    add({"workload.processes", "workload.program"}, "only lat_ctx has a ring of processes");
  }
  const bool forks = p.kind == ProgramKind::lat_proc_fork || p.kind == ProgramKind::lat_proc_exec;
  if (!forks && p.written_pages != ProgramConfig{}.written_pages) {
    add({"workload.written_pages", "workload.program"}, "only lat_proc-fork and lat_proc-exec have a child");
  }
  if (forks && p.written_pages * os::kPage > w.size) {
    add({"workload.written_pages", "workload.size"},
        fmt::format("{} pages are more than the program's {}", p.written_pages, sim::format_bytes(w.size)));
  }
  const bool by_pages = p.kind != ProgramKind::lat_ctx && p.kind != ProgramKind::lat_pipe &&
                        p.kind != ProgramKind::lat_unix && p.kind != ProgramKind::lat_sig_catch;
  if (by_pages && w.size % os::kPage != 0) {
    add({"workload.size", "workload.program"},
        fmt::format("{} is no whole number of 4 KiB pages, which this program counts in", sim::format_bytes(w.size)));
  }
  const std::uint64_t bytes = sim::page_end(w.size) * (p.kind == ProgramKind::lat_ctx ? p.processes : 2);
  if (bytes > user_memory(configuration.machine)) {
    add({"workload.size", "workload.processes", "os.user_memory", "ddr.size", "os.kernel_reserved"},
        fmt::format("programs that use {} do not fit in a node's {} of user memory", sim::format_bytes(bytes),
                    sim::format_bytes(user_memory(configuration.machine))));
  }
}

// A node's part in the flows.
struct Share {
  unsigned processes = 0;
  std::uint64_t bytes = 0;
};

void check_shares(const std::vector<Share>& nodes, const Configuration& configuration, const Add& add) {
  const platform::Machine& machine = configuration.machine;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const auto [processes, bytes] = nodes[node];
    if (processes > std::min(machine.dma.channels, machine.smmu.context_banks)) {
      add({"workload.flows", "dma.channels", "smmu.context_banks"},
          fmt::format("node {} has {} flows, each of which needs a channel and a context bank, and has {} and {}", node,
                      processes, machine.dma.channels, machine.smmu.context_banks));
    }
    if (bytes > user_memory(machine)) {
      add({"workload.flows", "os.user_memory", "ddr.size", "os.kernel_reserved"},
          fmt::format("node {} has buffers of {} and {} of user memory", node, sim::format_bytes(bytes),
                      sim::format_bytes(user_memory(machine))));
    }
  }
}

void check_ends(const std::vector<Flow>& flows, const Configuration& configuration, const Add& add) {
  const interconnect::ClusterShape& shape = configuration.machine.shape;
  if (!interconnect::conflicts(shape).empty()) return;  // no network, no nodes
  const unsigned nodes = interconnect::node_count(shape);
  std::vector<Share> shares(nodes);
  for (const Flow& flow : flows) {
    if (flow.from >= nodes || flow.to >= nodes || flow.from == flow.to) {
      add(keys_of_place("workload.flows", shape),
          fmt::format("a flow from node {} to node {}: there are nodes 0 to {}, and none sends to itself", flow.from,
                      flow.to, nodes - 1));
      continue;
    }
    if (flow.window > configuration.machine.dma.channel_queue) {
      add({"workload.flows", "dma.channel_queue"},
          fmt::format("{} transfers under way do not fit in a channel's queue of {}", flow.window,
                      configuration.machine.dma.channel_queue));
    }
    for (const unsigned node : {flow.from, flow.to}) {
      ++shares[node].processes;
      shares[node].bytes += flow.window * lane_bytes(flow.source_offset, flow.destination_offset, flow.size);
    }
  }
  check_shares(shares, configuration, add);
}

void check_flows(const Configuration& configuration, const Add& add) {
  const TransferConfig& w = configuration.workload;
  try {
    check_ends(parse_flows(w.flows), configuration, add);
  } catch (const BadFlows& bad) {
    return add({"workload.flows"}, bad.what());
  }
  if (configuration.strategy.prepares_per_transfer()) {
    add({"strategy.prepare", "workload.kind"}, "the targets of flows have no program that prepares for each transfer");
  }
  if (w.clean_window > 0) add({"workload.clean_window", "workload.kind"}, "say so by a further flow");
  if (w.cold != Cold::none) add({"workload.cold", "workload.kind"}, "each flow says which of its ends is cold");
}

}  // namespace

std::vector<Conflict> conflicts(const Configuration& configuration) {
  std::vector<Conflict> found = platform::conflicts(configuration.machine);
  const std::vector<Conflict> strategy = rdma::conflicts(configuration.strategy);
  found.insert(found.end(), strategy.begin(), strategy.end());
  const Add add = [&](std::vector<std::string> keys, std::string reason) {
    found.push_back({std::move(keys), std::move(reason)});
  };
  check_cold_kinds(configuration, add);
  const Kind kind = configuration.workload.kind;
  if (configuration.inject.mechanism != Mechanism::none && kind != Kind::write && kind != Kind::read) {
    add({"inject.mechanism", "workload.kind"}, "only the buffers of the kinds 'write' and 'read' can be injected into");
  }
  check_huge_pages(configuration.workload, configuration.machine, add);
  if (configuration.workload.kind == Kind::flows) {
    check_flows(configuration, add);
    return found;
  }
  if (!configuration.workload.flows.empty()) {
    add({"workload.flows", "workload.kind"}, "only the kind 'flows' has any");
  }
  if (configuration.workload.kind == Kind::kernel_cost) {
    check_program(configuration, add);
    return found;
  }
  if (is_pattern(configuration.workload.kind)) {
    check_pattern(configuration, add);
    return found;
  }
  check_places(configuration.workload, configuration.machine.shape, add);
  if (configuration.workload.peers > 0) {
    add({"workload.peers", "workload.kind"}, "only the kind 'all-to-all' has a choice of peers");
  }
  if (configuration.workload.kind == Kind::message) {
    check_message(configuration.workload, add);
  } else {
    check_transfers(configuration, add);
  }
  return found;
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
