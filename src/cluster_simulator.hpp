// SPDX-License-Identifier: Apache-2.0
// The simulated cluster behind the application's interface.
#pragma once

#include <memory>
#include <vector>

#include "src/experiment/simulator.hpp"
#include "workloads/configuration.hpp"

namespace faultline::app {

class ClusterMachine : public experiment::Machine {
 public:
  ClusterMachine() { configuration_.declare(table_); }
  sim::ParameterTable& parameters() override { return table_; }
  std::vector<workloads::Conflict> conflicts() const override { return workloads::conflicts(configuration_); }
  std::vector<workloads::PolicyDoc> strategy() const override { return workloads::strategy_docs(configuration_); }
  double work() const override { return workloads::work_of(configuration_); }
  workloads::PointResult run(std::uint64_t seed, const workloads::Watch& watch) override {
    return workloads::run_point(configuration_, seed, watch);
  }

 private:
  workloads::Configuration configuration_;
  sim::ParameterTable table_;
};

class ClusterSimulator : public experiment::Simulator {
 public:
  std::unique_ptr<experiment::Machine> machine() const override { return std::make_unique<ClusterMachine>(); }
  std::vector<workloads::WorkloadDoc> workload_docs() const override { return workloads::workload_docs(); }
  std::vector<workloads::MetricDoc> metric_docs() const override { return workloads::metric_docs(); }
  std::vector<workloads::StepDoc> step_docs() const override { return workloads::step_docs(); }
};

}  // namespace faultline::app
