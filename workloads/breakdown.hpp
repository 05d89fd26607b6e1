// SPDX-License-Identifier: Apache-2.0
// Where the time of transfers goes: listens to the steps of their blocks and adds up, for each step,
// the time since the step before it in the same block's life.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "models/sim/trace.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::workloads {

class Breakdown : public sim::StepListener {
 public:
  // Steps of transfers that were posted at `source_node`'s side are the source's, others the destination's.
  explicit Breakdown(sim::NodeId data_source) : data_source_(data_source) {}

  void on_step(const sim::StepRecord& record) override;
  // Adds the transfer's blocks to the sums (or forgets them, if it is not to be measured). The transfer's
  // own steps (post, notification) are part of its first block's life. For a transfer of one block the
  // rows add up to its latency.
  void finish(std::uint64_t transfer, bool measured);

  // One row a step that happened, in the order in which the steps began on average. Times are a mean over
  // the measured transfers.
  std::vector<BreakdownRow> rows() const;

 private:
  enum class End : std::uint8_t { source, destination };
  struct RowKey {
    sim::Step step;
    End end;
    bool resend;  // in an attempt after the first
    auto operator<=>(const RowKey&) const = default;
  };
  struct Row {
    sim::Time total{0};
    sim::Time began{0};  // since the transfer's first step, summed
    std::uint64_t samples = 0;
  };

  sim::NodeId data_source_;
  std::map<std::uint64_t, std::vector<sim::StepRecord>> open_;
  std::map<RowKey, Row> rows_;
  std::uint64_t transfers_ = 0;
};

}  // namespace faultline::workloads
