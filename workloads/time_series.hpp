// SPDX-License-Identifier: Apache-2.0
// What a cluster does over time, while transfers are measured: goodput, faults, memory, queues, at equal intervals.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/platform/cluster.hpp"
#include "models/platform/instruments.hpp"
#include "workloads/benchmark.hpp"

namespace faultline::workloads {

class TimeSeries {
 public:
  // Nothing is recorded when config.period is 0.
  TimeSeries(const SeriesConfig& config, platform::Cluster& cluster, const Benchmark& transfers)
      : config_(config), cluster_(cluster), transfers_(transfers), period_(config.period) {}

  // When the first measured transfer begins, and when the last one has ended.
  void begin();
  void end();

  // One a quantity. An interval that was not over at the end is not in them.
  std::vector<Series> collect() const;

 private:
  static constexpr std::size_t kQuantities = 6 + platform::kQueues.size();  // six that are there whatever the NIC
  using Sample = std::array<std::uint64_t, kQuantities>;

  // What has been counted until now, or is so now.
  Sample look();
  sim::Time take(sim::Time at);
  void halve();

  SeriesConfig config_;
  platform::Cluster& cluster_;
  const Benchmark& transfers_;
  sim::Time period_;
  std::size_t transfers_seen_ = 0;
  std::uint64_t bytes_ = 0;  // of these
  Sample last_{};
  std::vector<Sample> samples_;  // of what is counted: how much of it came in the interval
};

}  // namespace faultline::workloads
