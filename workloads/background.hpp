// SPDX-License-Identifier: Apache-2.0
// Other life on the nodes: processes that use memory of their own, so that it runs short, and noise on the cores.
#pragma once

#include <cstdint>
#include <vector>

#include "models/platform/cluster.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/random.hpp"
#include "models/sim/task.hpp"

namespace faultline::workloads {

using namespace std::chrono_literals;

struct BackgroundConfig {
  unsigned processes = 0;
  std::uint64_t memory = std::uint64_t{256} << 20;
  bool sequential = false;
  unsigned write_percent = 50;
  sim::Time pause = 20us;
  std::uint64_t renew_after = 0;
  sim::Time noise_period{0};
  sim::Time noise_time = 50us;

  void declare(sim::ParameterTable& table);
  bool any() const { return processes > 0 || noise_period > sim::Time{0}; }
};

class Background {
 public:
  Background(const BackgroundConfig& config, platform::Cluster& cluster, std::uint64_t seed);

  // From now on. What is free on a node, down to its high watermark, is in the processes' use at once; the rest of what
  // they want they have to take from each other, and from whoever else can do without it.
  void start();

  // Since the start.
  std::uint64_t accesses() const { return accesses_; }
  sim::Time access_mean() const { return accesses_ == 0 ? sim::Time{0} : in_access_ / accesses_; }
  sim::Time access_max() const { return access_max_; }
  // Processes that have met the end of memory: they gave everything back.
  unsigned ended() const { return ended_; }

 private:
  struct Program {
    platform::Node& node;
    os::Process& process;
    cpu::Execution& thread;
    os::VirtualAddress begin;
    sim::RandomStream random;
    std::uint64_t steps = 0;
    bool alive = true;
  };
  void fill(Program& program) const;
  sim::Task<void> live(Program& program);
  sim::Task<os::Error> access(Program& program);
  sim::Task<void> make_noise(cpu::Cpu& cpu, unsigned core, sim::RandomStream random);

  const BackgroundConfig config_;
  platform::Cluster& cluster_;
  const std::uint64_t seed_;
  std::vector<Program> programs_;
  std::int64_t accesses_ = 0;
  sim::Time in_access_{0};
  sim::Time access_max_{0};
  unsigned ended_ = 0;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::workloads
