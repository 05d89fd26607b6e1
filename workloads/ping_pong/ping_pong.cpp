// SPDX-License-Identifier: Apache-2.0
#include "workloads/ping_pong/ping_pong.hpp"

#include "workloads/configuration_checks.hpp"

namespace faultline::workloads {

using rdma::End;
using sim::Task;

namespace {

// What a message says of the put before it.
enum Outcome : std::uint64_t { kArrived, kFailed };

}  // namespace

PingPong::PingPong(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
    : RankProgram(configuration, cluster, seed, [&] {
        std::vector<Place> places;
        for (const unsigned node : nodes_of_pairs(configuration.workload)) places.push_back({node, End::destination});
        return places;
      }()) {
  const unsigned half = ranks() / 2;
  for (unsigned number = 0; number < ranks(); ++number) {
    const unsigned peer = (number + half) % ranks();
    const Memory from = allocate(number, End::source);
    lanes_.push_back({from, allocate(peer, End::destination)});
  }
  balls_.resize(ranks());
}

Task<void> PingPong::main(Rank& me) {
  const TransferConfig& w = configuration_.workload;
  const unsigned half = ranks() / 2;
  const unsigned peer = (me.number() + half) % ranks();
  for (std::uint64_t i = 0; i < w.warmup + w.iterations; ++i) {
    if (i == w.warmup) co_await measurement(me);
    if (me.number() >= half) co_await take(me, peer);
    co_await serve(me, peer, i < w.warmup ? i : i - w.warmup);
    if (me.number() < half) co_await take(me, peer);
  }
}

Task<void> PingPong::serve(Rank& me, unsigned peer, std::uint64_t use) {
  const Lane& lane = lanes_[me.number()];
  const bool cold = co_await lay_out(lane.from, lane.to, use);
  balls_[me.number()] = {now(), cold};
  Transfer sent = co_await me.put(lane.from, lane.to);
  const rdma::Status status = co_await me.wait(sent);
  co_await me.tell(peer, status == rdma::Status::done ? kArrived : kFailed);
}

Task<void> PingPong::take(Rank& me, unsigned peer) {
  const bool arrived = co_await me.hear(peer) == kArrived;
  const Ball& ball = balls_[peer];
  record(rank(peer), ball.begin, now(), arrived, ball.cold);
}

void check_ping_pong(const Configuration& configuration, const AddConflict& add) {
  check_pairs(configuration, add);
  check_locked(2 * buffer_bytes(configuration.workload), configuration, add);
  if (configuration.strategy.on_source_fault->stalls != configuration.strategy.on_destination_fault->stalls) {
    add({"strategy.on_source_fault", "strategy.on_destination_fault", "workload.kind"},
        "each rank is source and destination, and the SMMU lets all accesses of a process stall or none",
        "let both stall, or neither");
  }
}

std::vector<Need> needs_of_ping_pong(const Configuration& configuration) {
  std::vector<Need> needs;
  for (const unsigned node : nodes_of_pairs(configuration.workload)) {
    needs.push_back({node, 2 * buffer_bytes(configuration.workload)});
  }
  return needs;
}

double work_of_ping_pong(const Configuration& configuration) {
  return work_of_iterations(configuration) * static_cast<double>(nodes_of_pairs(configuration.workload).size());
}

Ignored ignored_by_ping_pong() {
  return ignored_by_ranks() + Ignored{{"workload.window", "a rank answers before it is written to again"},
                                      {"workload.think_time", "a rank answers at once"}};
}

}  // namespace faultline::workloads
