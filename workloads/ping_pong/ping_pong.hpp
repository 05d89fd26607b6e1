// SPDX-License-Identifier: Apache-2.0
// Two ranks that answer each other: one writes to the other, tells it so by a small message, and the other one does the
// same. A transfer's latency is one way: from the sender's first step until the other rank knows that the data are
// there. Several pairs may play at a time.
#pragma once

#include <vector>

#include "workloads/ranks/places.hpp"
#include "workloads/ranks/rank_program.hpp"

namespace faultline::workloads {

class PingPong : public RankProgram {
 public:
  PingPong(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);

  std::uint64_t planned() const override { return configuration_.workload.iterations * ranks(); }

 private:
  sim::Task<void> main(Rank& me) override;
  sim::Task<void> serve(Rank& me, unsigned peer, std::uint64_t use);
  sim::Task<void> take(Rank& me, unsigned peer);

  struct Ball {
    sim::Time begin{0};
    bool cold = false;
  };
  std::vector<Lane> lanes_;  // by rank: what it sends from, and where to
  std::vector<Ball> balls_;  // by the rank that sent last
};

void check_ping_pong(const Configuration& configuration, const AddConflict& add);
std::vector<Need> needs_of_ping_pong(const Configuration& configuration);
double work_of_ping_pong(const Configuration& configuration);
Ignored ignored_by_ping_pong();

}  // namespace faultline::workloads
