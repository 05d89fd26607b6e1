// SPDX-License-Identifier: Apache-2.0
// What the application needs of the simulation. Tests put a small machine of their own behind it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/sim/parameters.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::experiment {

// One configuration with the declarations that are bound to it.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual sim::ParameterTable& parameters() = 0;
  virtual std::vector<workloads::Conflict> conflicts() const = 0;
  // As workloads::strategy_docs().
  virtual std::vector<workloads::PolicyDoc> strategy() const { return {}; }
  // As workloads::work_of().
  virtual double work() const { return 1; }
  // At most once per process.
  virtual workloads::PointResult run(std::uint64_t seed, const workloads::Watch& watch) = 0;
};

class Simulator {
 public:
  virtual ~Simulator() = default;
  // With every parameter at its default.
  virtual std::unique_ptr<Machine> machine() const = 0;
  virtual std::vector<workloads::WorkloadDoc> workload_docs() const = 0;
  virtual std::vector<workloads::MetricDoc> metric_docs() const = 0;
  virtual std::vector<workloads::StepDoc> step_docs() const = 0;
};

}  // namespace faultline::experiment
