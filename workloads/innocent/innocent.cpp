// SPDX-License-Identifier: Apache-2.0
#include "workloads/innocent/innocent.hpp"

namespace faultline::workloads {

using rdma::End;
using sim::Task;

Innocent::Innocent(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
    : RankProgram(configuration, cluster, seed,
                  [&] {
                    const std::vector<unsigned> nodes = nodes_of_pairs(configuration.workload);
                    std::vector<Place> places;
                    for (const unsigned node : nodes) {
                      places.push_back({node, places.size() < nodes.size() / 2 ? End::source : End::destination});
                    }
                    return places;
                  }()),
      lanes_(ranks()) {
  const unsigned half = ranks() / 2;
  for (unsigned number = 0; number < half; ++number) {
    for (unsigned i = 0; i < configuration.workload.window; ++i) {
      const Memory from = allocate(number, End::source);
      lanes_[number].push_back({from, allocate(half + number, End::destination)});
    }
  }
}

Task<void> Innocent::main(Rank& me) {
  const std::uint64_t warmup = configuration_.workload.warmup;
  const std::vector<Lane>& lanes = lanes_[me.number()];
  if (!lanes.empty()) co_await put_stream(me, lanes, [warmup](std::uint64_t begun) { return begun < warmup; });
  co_await measurement(me);
  if (!lanes.empty()) co_await put_stream(me, lanes, [this](std::uint64_t) { return !others_ended_; });
}

void check_innocent(const Configuration& configuration, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  check_pairs(configuration, add);
  check_queue(w.window, {"workload.window"}, configuration.machine, add);
  check_whole_transfers(configuration, add);
  check_mailbox(1, configuration, add);
}

std::vector<Need> needs_of_innocent(const Configuration& configuration) {
  const TransferConfig& w = configuration.workload;
  const std::uint64_t bytes = w.window * buffer_bytes(w);
  std::vector<Need> needs;
  for (const unsigned node : nodes_of_pairs(w)) needs.push_back({.node = node, .bytes = bytes, .held = bytes});
  return needs;
}

// It takes as long as others do.
double work_of_innocent(const Configuration&) { return 0; }

Ignored ignored_by_innocent() {
  const char* as_others = "it goes on for as long as other programs are measured";
  return ignored_by_unnotified_ranks() +
         Ignored{{"workload.iterations", as_others}, {"workload.cold", "the pages of an innocent program are present"}};
}

}  // namespace faultline::workloads
