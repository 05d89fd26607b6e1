// SPDX-License-Identifier: Apache-2.0
#include "workloads/flows/flows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/sim/units.hpp"

namespace faultline::workloads {

using rdma::Endpoint;
using sim::Task;

Flows::Flows(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
    : Program(0, cluster.life()), configuration_(configuration), cluster_(cluster), all_prepared_(cluster.loop) {
  for (const Flow& flow : parse_flows(configuration.workload.flows)) {
    const auto open = [&](unsigned node, bool has_source) {
      return open_program(configuration, cluster.node(node), has_source);
    };
    auto from = open(flow.from, !flow.reads());
    auto to = open(flow.to, flow.reads());
    const StartPhase phase(configuration.workload.start_spread, seed, pairs_.size());
    const auto number = static_cast<std::uint32_t>(pairs_.size());
    map_buffers(pairs_.emplace_back(flow, configuration_.strategy, clock(flow), std::move(from), std::move(to), number,
                                    phase, seed));
  }
  failed_.resize(pairs_.size());
}

void Flows::map_buffers(Pair& pair) {
  const Flow& flow = pair.stream.flow();
  for (unsigned i = 0; i < flow.window; ++i) {
    const std::uint64_t from =
        pair.from->map_buffer(flow.size, flow.reads() ? flow.destination_offset : flow.source_offset);
    const std::uint64_t to =
        pair.to->map_buffer(flow.size, flow.reads() ? flow.source_offset : flow.destination_offset);
    pair.from_buffers.push_back(pair.from->buffer(from, flow.size));
    pair.to_buffers.push_back(pair.to->buffer(to, flow.size));
    pair.answering.add({pair.to_buffers.back(), !flow.reads(), pair.from.get()});
    pair.stream.add_lane({from, to, pair.from_buffers.back(), i});
  }
}

std::vector<PartResult> Flows::senders() const {
  std::vector<PartResult> all;
  for (const Pair& pair : pairs_) {
    const Flow& flow = pair.stream.flow();
    all.push_back({fmt::format("flow {}", pair.number),
                   fmt::format("node {} {} node {}, {} each", flow.from, flow.reads() ? "reads from" : "writes to",
                               flow.to, sim::format_bytes(flow.size)),
                   {}});
  }
  return all;
}

bool Flows::is_end(sim::NodeId node) const {
  return std::ranges::any_of(
      pairs_, [&](const Pair& pair) { return pair.stream.flow().from == node || pair.stream.flow().to == node; });
}

std::uint64_t Flows::planned() const {
  std::uint64_t sum = 0;
  for (const Pair& pair : pairs_) sum += pair.stream.flow().transfers;
  return sum;
}

void Flows::start() {
  preparing_ = unfinished_ = pairs_.size();
  for (Pair& pair : pairs_) tasks_.start(run(pair));
}

// The slowest preparation decides when the first transfer begins, so that no strategy moves flows against each other.
Task<void> Flows::run(Pair& pair) {
  const sim::Context& time = clock(pair.stream.flow());
  co_await set_up(pair);
  if (--preparing_ == 0) {
    setup_time_ = time.now();
    co_await set_up_ends();
    co_await measurement_begins(time.loop);
    all_prepared_.notify_all();
  }
  while (preparing_ > 0) co_await all_prepared_;
  const sim::Time pause = pair.stream.flow().start + pair.start_phase.next();
  if (pause > sim::Time{0}) co_await time.loop.delay(pause);
  if (configuration_.strategy.serves_at_target()) tasks_.start(pair.answering.serve());
  co_await pair.stream.run({samples_, failed_[pair.number], data_errors_, work_done_, pair.number});
  if (--unfinished_ > 0) co_return;
  measurement_ends(time.now());
  finish_run();
}

// Both programs prepare their buffers at the same time.
Task<void> Flows::set_up(Pair& pair) {
  const sim::Context& time = clock(pair.stream.flow());
  co_await pair.stream.make_cold();
  const auto prepare = [](Pair& of, bool from) -> Task<void> {
    Endpoint& endpoint = from ? *of.from : *of.to;
    co_await endpoint.open();
    for (const rdma::RegisteredBuffer& buffer : from ? of.from_buffers : of.to_buffers) {
      check_buffer(co_await buffer.add(endpoint.thread()), "setting up", endpoint.vm());
    }
  };
  sim::Signal done(time.loop);
  bool to_is_ready = false;
  const auto other = [](auto& work, Pair& of, bool& flag, sim::Signal& signal) -> Task<void> {
    co_await work(of, false);
    flag = true;
    signal.notify_all();
  };
  tasks_.start(other(prepare, pair, to_is_ready, done));
  co_await prepare(pair, true);
  while (!to_is_ready) co_await done;  // NOLINT(bugprone-infinite-loop): the other coroutine sets it
}

}  // namespace faultline::workloads
