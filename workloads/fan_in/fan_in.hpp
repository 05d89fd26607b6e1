// SPDX-License-Identifier: Apache-2.0
// Many to one: all ranks but the first write to it, each to buffers of its own.
#pragma once

#include <vector>

#include "workloads/ranks/places.hpp"
#include "workloads/ranks/rank_program.hpp"

namespace faultline::workloads {

class FanIn : public RankProgram {
 public:
  FanIn(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);

  std::uint64_t planned() const override { return configuration_.workload.iterations * (ranks() - 1); }

 private:
  sim::Task<void> main(Rank& me) override;

  std::vector<std::vector<Lane>> lanes_;  // by rank
};

void check_fan_in(const Configuration& configuration, const AddConflict& add);
std::vector<Need> needs_of_fan_in(const Configuration& configuration);
double work_of_fan_in(const Configuration& configuration);
Ignored ignored_by_fan_in();

}  // namespace faultline::workloads
