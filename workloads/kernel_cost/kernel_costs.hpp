// SPDX-License-Identifier: Apache-2.0
// What a node's kernel costs its programs, as a program measures it there (the kind `kernel-cost`).
#pragma once

#include <memory>

#include "workloads/configuration_checks.hpp"
#include "workloads/ignored_settings.hpp"
#include "workloads/kernel_cost/kernel_program.hpp"
#include "workloads/needs.hpp"
#include "workloads/program.hpp"

namespace faultline::workloads {

class KernelCosts : public Program {
 public:
  KernelCosts(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);

  void start() override { tasks_.start(run()); }
  bool is_end(sim::NodeId node) const override { return node == config_.initiator; }
  std::uint64_t planned() const override { return config_.iterations; }
  std::optional<double> kernel_cost() const override;

 private:
  sim::Task<void> run();
  sim::Time now() const { return node_.context.now(); }

  const TransferConfig config_;
  platform::Node& node_;
  std::unique_ptr<KernelProgram> program_;
  sim::Time overhead_{0};  // of all rounds together
  sim::TaskGroup tasks_;
};

void check_program(const Configuration& configuration, const AddConflict& add);
std::vector<Need> needs_of_program(const Configuration& configuration);
Ignored ignored_by_program();

}  // namespace faultline::workloads
