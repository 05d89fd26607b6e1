// SPDX-License-Identifier: Apache-2.0
// Ranks that compute and do nothing else, for as long as other programs are measured: they keep the cores of their
// nodes busy, and show what others take from them.
#pragma once

#include <vector>

#include "workloads/ranks/places.hpp"
#include "workloads/ranks/rank_program.hpp"

namespace faultline::workloads {

class Compute : public RankProgram {
 public:
  Compute(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);

  std::uint64_t planned() const override { return 0; }
  bool is_end(sim::NodeId) const override { return false; }
  std::vector<Metric> own_metrics() const override;

 private:
  bool asks() const override { return false; }  // they transfer nothing
  sim::Task<void> main(Rank& me) override;

  std::vector<sim::Time> pauses_;  // by rank: before it begins
  sim::Time computed_{0};          // by all ranks, while others are measured
};

void check_compute(const Configuration& configuration, const AddConflict& add);
std::vector<Need> needs_of_compute(const Configuration& configuration);
double work_of_compute(const Configuration& configuration);
Ignored ignored_by_compute();

}  // namespace faultline::workloads
