// SPDX-License-Identifier: Apache-2.0
// A bystander: each rank of the first half writes to its partner of the second half, from and to pages that are
// present, for as long as other programs are measured. What slows it down comes from them.
#pragma once

#include <vector>

#include "workloads/ranks/places.hpp"
#include "workloads/ranks/rank_program.hpp"

namespace faultline::workloads {

class Innocent : public RankProgram {
 public:
  Innocent(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);

  std::uint64_t planned() const override { return 0; }

 private:
  sim::Task<void> main(Rank& me) override;

  std::vector<std::vector<Lane>> lanes_;  // by rank
};

void check_innocent(const Configuration& configuration, const AddConflict& add);
std::vector<Need> needs_of_innocent(const Configuration& configuration);
double work_of_innocent(const Configuration& configuration);
Ignored ignored_by_innocent();

}  // namespace faultline::workloads
