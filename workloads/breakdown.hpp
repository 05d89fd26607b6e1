// SPDX-License-Identifier: Apache-2.0
// Where the time of transfers goes: listens to the steps of their parts and adds up, for each step,
// the time since the step before it. Parts of one transfer live side by side; the chain that is told is
// that of the part which was over last. With what a strategy prepares before the post, and releases after the
// return, the rows always add up to the latency of the transfer.
#pragma once

#include <cstddef>
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
  // `life` is that of the NIC, and must outlive the breakdown.
  Breakdown(sim::NodeId data_source, const sim::TransferLife& life) : data_source_(data_source), life_(life) {}

  // Transfers end where their targets' programs know of them: finish_at_target() in place of finish().
  void follow_to_targets() { to_targets_ = true; }

  void on_step(const sim::StepRecord& record) override;
  // What is to be measured of it has been.
  void on_over(std::uint64_t transfer) override;
  // Adds the transfer to the sums: from its arrival, or the program's first step for it, to the program's last.
  void finish(std::uint64_t transfer, sim::Time arrived, sim::Time begin, sim::Time end);
  // The same for a write whose target was told of it, up to when the program there knew: accepted, placed, notified and
  // learned. Once for each write; not measured: it is forgotten. Nothing without follow_to_targets(), or for transfer
  // 0, which was not posted.
  void finish_at_target(std::uint64_t transfer, sim::Time begin, sim::Time end, bool measured);
  // The same for the message that was received last: messages are sent one at a time.
  void finish_message(bool measured);

  // One row a step that happened, in the order in which the steps began on average. Times are a mean over
  // the measured transfers.
  std::vector<BreakdownRow> rows() const;

  // Every step that a row can stand for, with its meaning and the parameters that it costs.
  static std::vector<StepDoc> step_docs();

 private:
  enum class End : std::uint8_t { source, destination };
  // In the order of rows that begin together: what waits for a lost part goes on behind what waits for another's end.
  struct RowKey {
    bool lost;
    std::size_t position;  // of the step
    End end;
    std::uint32_t attempt;
    auto operator<=>(const RowKey&) const = default;
  };
  struct Row {
    sim::Time total{0};
    sim::Time began{0};  // since the chain's first step, summed
    std::uint64_t samples = 0;
  };

  void add(const sim::Vector<sim::StepRecord>& chain, sim::NodeId data_source);
  // A row of what the program does around the chain, which takes no time with most strategies.
  static void add_around(Row& row, sim::Time time);
  void append(const Row& row, const StepDoc& doc, End at, std::vector<BreakdownRow>& rows) const;

  sim::NodeId data_source_;
  const sim::TransferLife& life_;
  sim::Map<std::uint64_t, sim::Vector<sim::StepRecord>> open_;
  // A write on its way to its target's program.
  struct Followed {
    sim::Vector<sim::StepRecord> steps;
    sim::Time notified = sim::kNever;
    sim::Time begin{0};
    sim::Time end = sim::kNever;  // known to the program at the target
    bool is_over = false;         // for the program at the source
    bool is_told = false;         // finish_at_target() has been called
    bool is_measured = false;
    bool is_done = false;  // all is known, and added to the sums
  };
  void follow(const sim::StepRecord& record);
  void settle(std::uint64_t transfer, Followed& write);
  bool to_targets_ = false;
  sim::Map<std::uint64_t, Followed> followed_;
  sim::Vector<sim::StepRecord> message_;
  std::map<RowKey, Row> rows_;
  Row queue_, prepare_, release_, learn_;
  End program_ = End::source;  // whose post it is
  std::uint64_t transfers_ = 0;
};

}  // namespace faultline::workloads
