// SPDX-License-Identifier: Apache-2.0
#include "workloads/configuration.hpp"

#include <fmt/format.h>

#include <functional>

#include "models/sim/units.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::workloads {

void TransferConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("workload");
  table.add_choice("kind", kind, {{"write", Kind::write}, {"read", Kind::read}, {"message", Kind::message}},
                   {"what the initiator does: RDMA writes, RDMA reads, small one-way messages", "", {}});
  table.add_bytes("size", size, {1, std::uint64_t{1} << 30}, {"bytes of one transfer (a message: up to 56 B)", "", {}});
  table.add_count("iterations", iterations, {std::uint64_t{1}, std::uint64_t{10'000'000}},
                  {"transfers that are measured", "", {}});
  table.add_count("warmup", warmup, {std::uint64_t{0}, std::uint64_t{1'000'000}},
                  {"transfers before them, not measured", "", {}});
  table.add_count("window", window, {1u, 64u},
                  {"transfers under way at a time, each from and to buffers of its own", "", {}});
  table.add_flag(
      "madvise_hugepage", madvise_hugepage,
      {"buffers are advised MADV_HUGEPAGE when they are set up: with os.thp = madvise they get huge pages", "", {}});
  table.add_choice(
      "cold", cold,
      {{"none", Cold::none}, {"source", Cold::source}, {"destination", Cold::destination}, {"both", Cold::both}},
      {"end whose pages are absent before each transfer, unless the strategy keeps them present", "", {}});
  table.add_fraction("cold_share", cold_share, {0.0, 1.0},
                     {"share of the pages of a cold end that are absent", "", {}});
  table.add_bytes("source_offset", source_offset, {0, 4095}, {"offset of the source buffer in its first page", "", {}});
  table.add_bytes("destination_offset", destination_offset, {0, 4095},
                  {"offset of the destination buffer in its first page", "", {}});
  table.add_count(
      "clean_window", clean_window, {0u, 16u},
      {"further transfers kept under way between buffers that are always present, beside the measured ones", "", {}});
  table.add_choice("clean_kind", clean_kind, {{"write", Kind::write}, {"read", Kind::read}},
                   {"whether the clean transfers are RDMA writes or reads by the initiator", "", {}});
  table.add_bytes("clean_size", clean_size, {1, std::uint64_t{1} << 24}, {"bytes of one such clean transfer", "", {}});
  table.add_count("initiator", initiator, {0u, 65535u}, {"node that posts the transfers", "", {}});
  table.add_count("target", target, {0u, 65535u}, {"node at the other end", "", {}});
  table.add_time("time_limit", time_limit, {1us, 10000s},
                 {"simulated time after which an unfinished run is given up", "", {}});
}

void Configuration::declare(sim::ParameterTable& table) {
  workload.declare(table);
  strategy.declare(table);
  machine.declare(table);
}

namespace {

using Add = std::function<void(std::vector<std::string> keys, std::string reason)>;

void check_places(const TransferConfig& w, const interconnect::ClusterShape& shape, const Add& add) {
  if (!interconnect::conflicts(shape).empty()) return;  // no network, no nodes
  const unsigned nodes = interconnect::node_count(shape);
  for (const auto& [key, node] : {std::pair("workload.initiator", w.initiator), {"workload.target", w.target}}) {
    if (node < nodes) continue;
    std::vector<std::string> keys = interconnect::size_keys(shape);
    keys.insert(keys.begin(), key);
    add(std::move(keys), fmt::format("there are nodes 0 to {}", nodes - 1));
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

// Bytes of the pages that a lane's buffer touches, at the end where they are more.
std::uint64_t lane_bytes(const TransferConfig& w) {
  return sim::page_end(std::max(w.source_offset, w.destination_offset) + w.size);
}

void check_memory(const TransferConfig& w, const rdma::Strategy& strategy, const platform::Machine& machine,
                  const Add& add) {
  const std::uint64_t lanes = w.window * lane_bytes(w);
  const std::uint64_t buffers = lanes + w.clean_window * sim::page_end(w.clean_size);
  const std::uint64_t memory =
      std::min(machine.os.user_memory, machine.ddr.size - std::min(machine.ddr.size, machine.os.kernel_reserved));
  if (buffers > memory) {
    add({"workload.size", "workload.window", "os.user_memory", "ddr.size", "os.kernel_reserved"},
        fmt::format("buffers of {} do not fit in a node's {} of user memory", sim::format_bytes(buffers),
                    sim::format_bytes(memory)));
  }
  const bool limited = strategy.pins() || strategy.prepare == rdma::Prepare::mlock;
  if (limited && lanes > machine.os.rlimit_memlock) {
    add({"workload.size", "workload.window", "os.rlimit_memlock"},
        fmt::format("buffers of {} would be {}, and RLIMIT_MEMLOCK is {}", sim::format_bytes(lanes),
                    strategy.pins() ? "pinned" : "locked", sim::format_bytes(machine.os.rlimit_memlock)));
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
  if (w.clean_window > 0 && configuration.strategy.translate == rdma::Translate::pinned) {
    add({"workload.clean_window", "strategy.translate"},
        "the clean transfers' buffers are not pinned, so a private pinned table does not map them");
  }
  if (w.cold == Cold::none && w.cold_share < 1.0) {
    add({"workload.cold_share", "workload.cold"}, "a share of the pages of no end: say which end is cold");
  }
  check_memory(w, configuration.strategy, configuration.machine, add);
}

}  // namespace

std::vector<Conflict> conflicts(const Configuration& configuration) {
  std::vector<Conflict> found = platform::conflicts(configuration.machine);
  const std::vector<Conflict> strategy = rdma::conflicts(configuration.strategy);
  found.insert(found.end(), strategy.begin(), strategy.end());
  const Add add = [&](std::vector<std::string> keys, std::string reason) {
    found.push_back({std::move(keys), std::move(reason)});
  };
  check_places(configuration.workload, configuration.machine.shape, add);
  if (configuration.workload.kind == Kind::message) {
    check_message(configuration.workload, add);
  } else {
    check_transfers(configuration, add);
  }
  return found;
}

std::vector<WorkloadDoc> workload_docs() {
  return {{"write", "RDMA writes from the initiator's buffer to the target's"},
          {"read", "RDMA reads by the initiator: data move from the target's buffer to the initiator's"},
          {"message", "small messages of up to 56 B through the mailboxes, measured one way"}};
}

}  // namespace faultline::workloads
