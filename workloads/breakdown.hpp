// SPDX-License-Identifier: Apache-2.0
// Where the time of transfers goes: listens to the steps of their blocks and adds up, for each step,
// the time since the step before it. Blocks of one transfer live side by side; the chain that is told is
// that of the block which was acknowledged last, so that the rows always add up to the time of the transfer
// from its post on.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "models/sim/recycling.hpp"
#include "models/sim/trace.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::workloads {

class Breakdown : public sim::StepListener {
 public:
  // Steps on the node `data_source` are the source's, all others the destination's.
  explicit Breakdown(sim::NodeId data_source) : data_source_(data_source) {}

  void on_step(const sim::StepRecord& record) override;
  // Adds the transfer to the sums, or forgets it if it is not to be measured.
  void finish(std::uint64_t transfer, bool measured);
  // The same for the message that was received last: messages are sent one at a time.
  void finish_message(bool measured);

  // One row a step that happened, in the order in which the steps began on average. Times are a mean over
  // the measured transfers.
  std::vector<BreakdownRow> rows() const;

  // Every step that a row can stand for, with its meaning and the parameters that it costs.
  static std::vector<StepDoc> step_docs();

 private:
  enum class End : std::uint8_t { source, destination };
  struct RowKey {
    sim::Step step;
    End end;
    std::uint32_t attempt;
    auto operator<=>(const RowKey&) const = default;
  };
  struct Row {
    sim::Time total{0};
    sim::Time began{0};  // since the chain's first step, summed
    std::uint64_t samples = 0;
  };

  void add(sim::Vector<sim::StepRecord> chain);

  sim::NodeId data_source_;
  sim::Map<std::uint64_t, sim::Vector<sim::StepRecord>> open_;
  sim::Vector<sim::StepRecord> message_;
  std::map<RowKey, Row> rows_;
  std::uint64_t transfers_ = 0;
};

}  // namespace faultline::workloads
