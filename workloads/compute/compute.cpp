// SPDX-License-Identifier: Apache-2.0
#include "workloads/compute/compute.hpp"

#include <algorithm>

#include "models/sim/random.hpp"
#include "workloads/transfer_metrics.hpp"

namespace faultline::workloads {

using sim::Task;
using namespace std::chrono_literals;

namespace {

// At a time: short beside a turn of the scheduler, so that little of the last piece is counted that was not done.
constexpr sim::Time kPiece = 10us;

std::vector<unsigned> nodes_of(const Configuration& configuration) {
  return nodes_of_ranks(configuration.workload, {0, 1});
}

// Ranks begin apart, so that the turns that they take on the cores of different nodes fall together in some runs and
// apart in others: a turn of Linux's scheduler is 12 ms with two threads on one of four cores.
constexpr sim::Time kApart = 12ms;

}  // namespace

Compute::Compute(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
    : RankProgram(configuration, cluster, seed, [&] {
        std::vector<Place> places;
        for (const unsigned node : nodes_of(configuration)) places.push_back({node, rdma::End::source});
        return places;
      }()) {
  for (unsigned number = 0; number < ranks(); ++number) {
    sim::RandomStream draws(seed, "compute", number);
    pauses_.emplace_back(static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(kApart.count()) + 1)));
  }
}

Task<void> Compute::main(Rank& me) {
  co_await measurement(me);
  // No part of its time: it has not begun.
  co_await me.endpoint().vm().context().loop.delay(pauses_[me.number()]);
  while (!others_ended_) {
    co_await me.compute(kPiece);
    if (!others_ended_) computed_ += kPiece;
  }
}

std::vector<Metric> Compute::own_metrics() const {
  sim::Time all{0};  // of all ranks, from when they have begun
  for (const sim::Time pause : pauses_) all += std::max(measured_to() - measured_from() - pause, sim::Time{0});
  std::vector<Metric> metrics;
  if (all > sim::Time{0})
    add_metric(metrics, "computed", static_cast<double>(computed_.count()) / static_cast<double>(all.count()));
  return metrics;
}

void check_compute(const Configuration& configuration, const AddConflict& add) {
  check_nodes(nodes_of(configuration), configuration, add);
}

std::vector<Need> needs_of_compute(const Configuration& configuration) {
  std::vector<Need> needs;
  for (const unsigned node : nodes_of(configuration)) needs.push_back({node, 0});
  return needs;
}

// It takes as long as others do.
double work_of_compute(const Configuration&) { return 0; }

Ignored ignored_by_compute() {
  const char* computes = "ranks that compute transfer nothing";
  return ignored_by_unnotified_ranks() +
         Ignored{{"workload.iterations", "it goes on for as long as other programs are measured"},
                 {"workload.warmup", computes},
                 {"workload.size", computes},
                 {"workload.window", computes},
                 {"workload.think_time", computes},
                 {"workload.cold", computes}};
}

}  // namespace faultline::workloads
