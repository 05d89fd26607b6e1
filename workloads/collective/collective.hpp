// SPDX-License-Identifier: Apache-2.0
// Ranks that make one collective call after the other: collective.call. A transfer is one call of one rank, from when
// it makes the call until that returns. A barrier before each call, which is not measured, has them begin together.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/ranks/message_program.hpp"

namespace faultline::workloads {

class Collective : public MessageProgram {
 public:
  Collective(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);

  std::uint64_t planned() const override { return configuration_.workload.iterations * ranks(); }

 private:
  sim::Task<void> talk(Rank& me) override;
  sim::Task<bool> lay_out_own(const Rank& me, std::uint64_t use, std::uint64_t call);
  sim::Task<bool> make_call(Rank& me, messages::Collectives& collectives);
  // Of allreduce(): the rank has stored its part of a call's sum, so that the first page of its source is present;
  // whether the whole sum is there.
  sim::Task<void> contribute(const Rank& me, std::uint64_t call);
  bool has_sum(const Rank& me, std::uint64_t call) const;
  std::uint64_t first_word(const Rank& me) const;

  std::vector<std::vector<Memory>> sent_;      // by rank: its blocks
  std::vector<std::vector<Memory>> received_;  // likewise
  std::vector<std::uint64_t> sums_;            // by call: of all ranks' parts
};

void check_collective(const Configuration& configuration, const AddConflict& add);
std::vector<Need> needs_of_collective(const Configuration& configuration);
double work_of_collective(const Configuration& configuration);
Ignored ignored_by_collective();

}  // namespace faultline::workloads
