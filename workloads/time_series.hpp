// SPDX-License-Identifier: Apache-2.0
// What a cluster does over time, while transfers are measured: goodput, faults, memory, queues, at equal intervals.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/platform/cluster.hpp"
#include "models/platform/instruments.hpp"
#include "workloads/programs.hpp"

namespace faultline::workloads {

class TimeSeries {
 public:
  // Nothing is recorded when config.period is 0.
  TimeSeries(const SeriesConfig& config, platform::Cluster& cluster, const Programs& programs)
      : config_(config), cluster_(cluster), programs_(programs), period_(config.period) {}

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
  const Programs& programs_;
  sim::Time period_;
  std::vector<std::size_t> transfers_seen_;  // by program
  std::uint64_t bytes_ = 0;                  // of these
  Sample last_{};
  std::vector<Sample> samples_;  // of what is counted: how much of it came in the interval
};

}  // namespace faultline::workloads
