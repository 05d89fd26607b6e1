// SPDX-License-Identifier: Apache-2.0
#include "workloads/collective/collective.hpp"

#include <algorithm>
#include <numeric>

#include "models/sim/random.hpp"
#include "workloads/stream.hpp"

namespace faultline::workloads {

using messages::Collectives;
using rdma::End;
using sim::Task;

namespace {

constexpr unsigned kRoot = 0;  // of a broadcast

// Without workload.nodes on every node.
std::vector<unsigned> nodes_of_collective(const Configuration& configuration) {
  std::vector<unsigned> every(network::node_count(configuration.machine.shape));
  std::iota(every.begin(), every.end(), 0U);
  return nodes_of_ranks(configuration.workload, every);
}

// Buffers that a rank sends from, and as many that it receives into.
std::size_t blocks_of(Call call, std::size_t ranks) {
  if (call == Call::barrier) return 0;
  return call == Call::all_to_all ? ranks : 1;
}

// What a rank gets by a call of other ranks' data.
std::uint64_t bytes_got(const Configuration& configuration, std::size_t ranks, unsigned rank) {
  const std::uint64_t size = configuration.workload.size;
  switch (configuration.collective.call) {
    case Call::barrier: return 0;
    case Call::broadcast: return rank == kRoot ? 0 : size;
    case Call::allreduce: return size;
    case Call::all_to_all: break;
  }
  return (ranks - 1) * size;
}

}  // namespace

Collective::Collective(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
    : MessageProgram(configuration, cluster, seed, nodes_of_collective(configuration)),
      sent_(ranks()),
      received_(ranks()) {
  const std::size_t blocks = blocks_of(configuration.collective.call, ranks());
  for (unsigned number = 0; number < ranks(); ++number) {
    for (std::size_t i = 0; i < blocks; ++i) {
      sent_[number].push_back(allocate(number, End::source));
      received_[number].push_back(allocate(number, End::destination));
    }
  }
}

Task<void> Collective::talk(Rank& me) {
  const TransferConfig& w = configuration_.workload;
  const Call call = configuration_.collective.call;
  const auto& scratch = received_[me.number()];
  Collectives collectives(messenger(me), scratch.empty() ? messages::Span{} : span(scratch.front()));
  for (std::uint64_t i = 0; i < w.warmup + w.iterations; ++i) {
    if (i == w.warmup) co_await counted(me);
    if (w.think_time > sim::Time{0}) co_await think();
    const bool cold = co_await lay_out_own(me, i < w.warmup ? i : i - w.warmup, i);
    messenger(me).set_aside(true);
    co_await collectives.barrier(me.thread());
    messenger(me).set_aside(false);
    const sim::Time begin = now();
    const bool well = co_await make_call(me, collectives);
    record(me, begin, now(), well, cold, bytes_got(configuration_, ranks(), me.number()));
    if (well && call == Call::allreduce && !has_sum(me, i)) count_wrong_data();
  }
}

Task<bool> Collective::lay_out_own(const Rank& me, std::uint64_t use, std::uint64_t call) {
  const TransferConfig& w = configuration_.workload;
  const bool due = cools() && w.is_due(use) && w.cold != Cold::none;
  for (const auto* blocks : {&sent_[me.number()], &received_[me.number()]}) {
    for (const Memory& each : *blocks) {
      if (due) co_await leave(each);
      if (each.end == End::source) co_await renew(each);
    }
  }
  if (configuration_.collective.call == Call::allreduce) co_await contribute(me, call);
  co_return due;
}

Task<bool> Collective::make_call(Rank& me, Collectives& collectives) {
  const auto& sent = sent_[me.number()];
  const auto& received = received_[me.number()];
  switch (configuration_.collective.call) {
    case Call::barrier: return collectives.barrier(me.thread());
    case Call::broadcast:
      return collectives.broadcast(me.thread(), kRoot, span(me.number() == kRoot ? sent.front() : received.front()));
    case Call::allreduce: return collectives.allreduce(me.thread(), span(sent.front()));
    case Call::all_to_all: break;
  }
  std::vector<messages::Span> from;
  std::vector<messages::Span> to;
  for (const Memory& each : sent) from.push_back(span(each));
  for (const Memory& each : received) to.push_back(span(each));
  return collectives.all_to_all(me.thread(), std::move(from), std::move(to));
}

// Words that no other rank gives, and none gives again: whatever is lost, or added twice, makes another sum.
Task<void> Collective::contribute(const Rank& me, std::uint64_t call) {
  rdma::Endpoint& own = me.endpoint();
  const std::uint64_t address = sent_[me.number()].front().address;
  const std::uint64_t word = sim::RandomStream(1, "collective.sums", me.number()).at(call);
  co_await make_present(own, own.pages_of(address, 8));
  co_await own.vm().write(own.process(), address, sim::Content::literal(word, 8));
  if (sums_.size() <= call) sums_.resize(call + 1);
  sums_[call] += word;
}

std::uint64_t Collective::first_word(const Rank& me) const {
  rdma::Endpoint& own = me.endpoint();
  return own.vm().read(own.process(), sent_[me.number()].front().address, 8).word(0);
}

bool Collective::has_sum(const Rank& me, std::uint64_t call) const { return first_word(me) == sums_[call]; }

void check_collective(const Configuration& configuration, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  const Call call = configuration.collective.call;
  if (!network::conflicts(configuration.machine.shape).empty()) return;  // no network, no nodes
  const std::vector<unsigned> nodes = nodes_of_collective(configuration);
  if (!check_nodes(nodes, configuration, add)) return;
  const bool is_once_each =
      std::ranges::all_of(nodes, [&](unsigned node) { return std::ranges::count(nodes, node) == 1; });
  if (nodes.size() < 2 || !is_once_each) {
    add({"workload.nodes", "workload.ranks"},
        "ranks are on different nodes: a node does not send to itself over the network",
        "name each node once, and two nodes or more");
    return;
  }
  if (call == Call::allreduce && w.size % 8 != 0) {
    add({"workload.size", "collective.call"}, "sums are of words of 8 B", "take a multiple of 8 B");
  }
  const std::uint64_t page = w.memory.backing == rdma::Backing::hugetlb ? os::kHugePage : os::kPage;
  if (call == Call::allreduce && w.cold == Cold::source && buffer_bytes(w) <= page) {
    add({"workload.cold", "workload.size", "collective.call"},
        "a rank has stored what it gives to a sum: the first page of its source is never absent, and it has no other",
        "take a longer source, or another end");
  }
  if (call == Call::barrier && w.cold != Cold::none) {
    add({"workload.cold", "collective.call"}, "a barrier has no buffers", "leave workload.cold at its default");
  }
  if (configuration.messages.way == messages::Way::sockets) {
    add({"messages.way", "workload.kind"}, "collective calls are made of messages that go by the NIC",
        at_default("messages.way"));
  }
  check_messages_of_ranks(configuration, nodes.size(), add);
}

std::vector<Need> needs_of_collective(const Configuration& configuration) {
  const std::vector<unsigned> nodes = nodes_of_collective(configuration);
  const std::uint64_t buffers =
      2 * blocks_of(configuration.collective.call, nodes.size()) * buffer_bytes(configuration.workload);
  std::vector<Need> needs;
  for (const unsigned node : nodes) needs.push_back(need_of_messages(configuration, node, nodes.size(), buffers));
  return needs;
}

double work_of_collective(const Configuration& configuration) {
  const TransferConfig& w = configuration.workload;
  const std::size_t ranks = nodes_of_collective(configuration).size();
  double work = 0;
  for (unsigned rank = 0; rank < ranks; ++rank) work += work_of_transfer(bytes_got(configuration, ranks, rank));
  return static_cast<double>(w.iterations + w.warmup) * work;
}

Ignored ignored_by_collective() {
  return ignored_by_unnotified_ranks() + Ignored{{"workload.window", "a rank makes one collective call at a time"}};
}

}  // namespace faultline::workloads
